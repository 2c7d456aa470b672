"""A small agent: a loop that calls an endpoint for chat completions, runs the tools, and sends the results back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any

from attrs import field, frozen

from context_bench_agents_live.requests import RequestLog
from context_bench_agents_live.tools import TOOLS, run_tool
from context_bench_agents_live.transcript import Transcript
from context_bench_agents_live.upstream import message_of, reply_of
from context_bench_agents_live.workspace import Workspace
from context_bench_http import (
    DeclaredFailureError,
    Endpoint,
    EndpointError,
    FailureHeaders,
    HttpClient,
    HttpRequest,
    RequestRefusedError,
    Retries,
    wait_asked_for,
)

_SYSTEM = (
    "You work on files in a workspace with the tools list, read and write. Paths are relative. "
    "When the task is done, answer without calling a tool."
)
_TRANSIENT = (408, 409, 425, 429)
FINISHED = "finished"
GAVE_UP = "gave up"
BOUND = "bound"
REFUSED = "refused"
CRASHED = "crashed"


@frozen
class Ending:
    """How the work of an agent ended.

    Attributes:
        how: ``finished``, ``gave up`` (the oracle), ``bound`` (turns, seconds, bytes or money), ``refused`` by the endpoint (or
            it failed again and again after a request that it answered), or ``crashed``.
        text: Last text of the model, or the reason.
        logged: Turns and calls by the log of a program; empty where nothing is known.
    """

    how: str
    text: str
    logged: Mapping[str, int] = field(factory=dict)


class _TimeIsUpError(Exception):
    """The seconds of a task are over."""


@frozen
class _Answer:
    """An answer of an endpoint.

    Attributes:
        message: The text and the calls.
        headers: Its headers, names in lower case.
        usage: Nothing: tokens are counted by the log.
    """

    message: dict[str, Any]
    headers: Mapping[str, str]
    usage: Mapping[str, int] = field(factory=dict)


class ToolLoop:
    """Works on one task.

    A request that fails and may succeed later is repeated here: the run would begin the task anew, and lose its counts.

    Args:
        http: Client for the endpoint.
        endpoint: Where chat completions are answered.
        model: Model to call.
        key: API key.
        log: Counts its requests, and has a bound on what they may cost; None for a new one without a bound.
        transcript: Records what is sent; None for none.
        failure_headers: The response headers by which an endpoint admits a failure; None for no such header.
        retries: Repeats requests; one for all tasks, so that all wait where the endpoint asks to. None for one of its own.

    Attributes:
        log: Counts of its requests.
        messages: The conversation so far.
    """

    def __init__(
        self,
        http: HttpClient,
        endpoint: Endpoint,
        model: str,
        key: str,
        log: RequestLog | None = None,
        *,
        transcript: Transcript | None = None,
        failure_headers: FailureHeaders | None = None,
        retries: Retries | None = None,
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._model = model
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        self._transcript = transcript
        self._failure_headers = failure_headers or FailureHeaders(())
        self._retries = retries or Retries()
        self.log = log or RequestLog()
        self.messages: list[dict[str, Any]] = []

    def run(
        self,
        task: str,
        workspace: Workspace,
        limits: Mapping[str, int],
        messages: Sequence[Mapping[str, Any]] = (),
    ) -> Ending:
        """Work on a task until the model calls no tool, or a limit is reached.

        Args:
            task: The instruction.
            workspace: Where the files are.
            limits: ``turns`` and ``seconds``.
            messages: The conversation of another loop on the task, to go on from.

        Raises:
            EndpointError: The endpoint gave no usable reply; the request is not to be repeated any more.
        """
        start = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": task}]
        self.messages = [dict(message) for message in messages or start]
        until = monotonic() + limits["seconds"]
        for _ in range(limits["turns"]):
            if self.log.is_spent:
                return Ending(BOUND, "max_cost")
            body = {"model": self._model, "messages": self.messages, "tools": list(TOOLS)}
            try:
                message = self._retries.call(partial(self._answer, body, until)).message
            except _TimeIsUpError:
                return Ending(BOUND, f"{limits['seconds']} seconds")
            except RequestRefusedError as error:
                return Ending(REFUSED, str(error))
            except EndpointError as error:
                error.retryable = False
                raise
            reply = reply_of(message)
            self.log.add(body, reply.text, reply.calls)
            if not reply.calls:
                return Ending(FINISHED, reply.text)
            self.messages.append({**message, "role": "assistant"})
            for call in reply.calls:
                result = run_tool(call, workspace)
                answer = {"role": "tool", "tool_call_id": call.id, "content": result}
                self.messages.append(answer)
        return Ending(BOUND, f"{limits['turns']} turns")

    def _answer(self, body: Mapping[str, Any], until: float) -> _Answer:
        """Return the answer to a request."""
        if monotonic() > until:
            raise _TimeIsUpError
        if self._transcript is not None:
            self._transcript.settle(self._transcript.send(body))
        raw = json.dumps(body).encode("utf-8")
        response = self._http.fetch(HttpRequest("POST", self._endpoint, self._headers, raw))
        where = self._endpoint.shown
        if 400 <= response.status < 500 and response.status not in _TRANSIENT:
            raise RequestRefusedError(
                f"{where} refused the request ({response.status}).", status=response.status
            )
        if response.status != 200:
            raise EndpointError(
                f"{where} failed ({response.status}).",
                status=response.status,
                retryable=True,
                retry_after=wait_asked_for(response.headers),
            )
        declared = self._failure_headers.found_in(response.headers)
        if declared is not None:
            raise declared_failure(where, declared)
        return _Answer(message_of(response.body, where), response.headers)


def declared_failure(where: str, header: str) -> DeclaredFailureError:
    """Return the error for a response header by which an endpoint admits a failure."""
    return DeclaredFailureError(f"{where} says that it did not do its work: {header}.", status=200)

"""A server on 127.0.0.1 that answers as a policy does, and counts the requests of each row."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

from context_bench_agents_live.controls import Control, result_tokens
from context_bench_agents_live.policy import GAVE_UP, OraclePolicy, Reply
from context_bench_agents_live.requests import RequestLog
from context_bench_agents_live.transcript import Transcript
from context_bench_agents_live.upstream import ModelUpstream
from context_bench_http.content_encoding import ContentEncodingError, decoded
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_upstream.replies import Call, canned, dialect_of

MODEL = "oracle"
MAX_BODY = 256 * 1024 * 1024
HOSTS = ("127.0.0.1", "localhost", "::1", "host.docker.internal")
_JSON = "application/json"


class PolicyServer:
    """Serves chat completions, responses and messages; the key of a request names its row.

        with PolicyServer(OraclePolicy()) as server:
            server.begin("cb-row-1")
            ...  # the agent calls server.url with the key cb-row-1
            print(server.end("cb-row-1").record())

    Args:
        policy: What answers: the oracle, or a model.
        control: Cuts the results of tools in each request before the policy receives it; None for no control.
        port: Port to listen on; 0 takes a free port.

    Attributes:
        url: Its address, without ``/v1``.

    Raises:
        OSError: The port is taken.
        OverflowError: The port is not a port.
    """

    def __init__(
        self, policy: OraclePolicy | ModelUpstream, port: int = 0, control: Control | None = None
    ) -> None:
        self._policy = policy
        self._control = control or Control()
        self._lock = threading.Lock()
        self._logs: dict[str, RequestLog] = {}
        self._controls: dict[str, Control] = {}
        self._transcripts: dict[str, Transcript] = {}
        guard = Guard(hosts=HOSTS, methods=("GET", "POST"), max_body=MAX_BODY)
        self._server = LocalServer(self._respond, port, guard)
        self.url = self._server.url

    def __enter__(self) -> PolicyServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server."""
        self._server.close()
        if isinstance(self._policy, ModelUpstream):
            self._policy.close()

    def begin(
        self,
        key: str,
        control: Control | None = None,
        log: RequestLog | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        """Count the requests with a key from now on.

        Args:
            key: Their key.
            control: Cuts them in place of that of all; None for that of all.
            log: Counts them, and bounds them: then they are refused with status 402. None for a new one without a bound.
            transcript: Records them; None for none.
        """
        with self._lock:
            self._logs[key] = log or RequestLog()
            self._controls[key] = control or self._control
            if transcript is not None:
                self._transcripts[key] = transcript

    def end(self, key: str) -> RequestLog:
        """Return the counts of a key, and stop counting."""
        with self._lock:
            del self._controls[key]
            self._transcripts.pop(key, None)
            return self._logs.pop(key)

    def _respond(self, request: LocalRequest) -> LocalResponse:
        if request.method == "GET":
            models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            return LocalResponse(json.dumps(models).encode(), content_type=_JSON)
        try:
            raw = decoded(request.body, request.headers.get("content-encoding", ""), MAX_BODY)
            body = json.loads(raw)
        except (ContentEncodingError, ValueError, RecursionError) as error:
            return _failure(f"The body is not JSON: {error}", 400)
        dialect = dialect_of(request.path)
        if dialect is None or not isinstance(body, dict):
            return _failure(f"The policy does not answer POST {request.path[:200]}.", 404)
        key = key_of(request.headers)
        with self._lock:
            control = self._controls.get(key, self._control)
            log = self._logs.get(key)
            transcript = self._transcripts.get(key)
            if log is not None and log.stops(body):
                return _failure(f"The task has reached its bound ({log.stopped_by}).", 402)
        sent = result_tokens(body)
        received = control.apply(body)
        if transcript is not None:
            transcript.receive(body, received)
        body = received
        reply, response = self._answer(dialect, body)
        with self._lock:
            log = self._logs.get(key)
            if log is not None and reply is not None:
                log.results_sent += sent
                if isinstance(self._policy, OraclePolicy):
                    log.gave_up |= bool(body.get("tools")) and reply.text.startswith(GAVE_UP)
                log.add(body, reply.text, reply.calls)
        return response

    def _answer(self, dialect: str, body: dict[str, Any]) -> tuple[Reply | None, LocalResponse]:
        """Return the reply, None where the model gave none, and the response."""
        if isinstance(self._policy, ModelUpstream):
            if dialect != "chat":
                return None, _failure("A model is called for chat completions only.", 404)
            return self._policy.answer(body)
        reply = self._policy.reply(dialect, body)
        calls = [Call(call.id, call.name, call.arguments) for call in reply.calls]
        status, content_type, content = canned(dialect, body, reply.text, calls)
        return reply, LocalResponse(content, status, content_type)


def key_of(headers: Mapping[str, str]) -> str:
    """Return the API key of a request, names of headers in lower case; empty where it has no key.

    >>> key_of({"authorization": "Bearer cb-row-1"}), key_of({"x-api-key": "cb-row-2"})
    ('cb-row-1', 'cb-row-2')
    """
    own = headers.get("x-api-key", "")
    return own or headers.get("authorization", "").partition(" ")[2].strip()


def _failure(message: str, status: int) -> LocalResponse:
    return LocalResponse(json.dumps({"error": {"message": message}}).encode(), status, _JSON)

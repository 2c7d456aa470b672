"""A model behind a proxy, in place of the policy: requests are counted as they arrive, and passed on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from context_bench_agents_live.conversation import ToolCall
from context_bench_agents_live.policy import Reply
from context_bench_http import (
    Endpoint,
    EndpointError,
    HttpClient,
    HttpRequest,
    Network,
    UnusableReplyError,
)
from context_bench_http.local_server import LocalResponse

_JSON = "application/json"


class ModelUpstream:
    """Passes requests for chat completions on to a model. The model's key takes the place of the row's.

    Args:
        url: Address of the model, with or without ``/v1``.
        api_key: Its key.
        timeout: Seconds for one request.

    Raises:
        EndpointURLError: ``url`` is not an address.
    """

    def __init__(self, url: str, api_key: str, timeout: float) -> None:
        self._endpoint = Endpoint.parse(url)
        self._headers = {"content-type": _JSON, "authorization": f"Bearer {api_key}"}
        self._http = HttpClient(Network(is_local=self._endpoint.is_local), timeout)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def answer(self, body: Mapping[str, Any]) -> tuple[Reply | None, LocalResponse]:
        """Return the reply to a request, None where it failed, and the response to send back."""
        raw = json.dumps(body).encode("utf-8")
        try:
            answer = self._http.fetch(HttpRequest("POST", self._endpoint, self._headers, raw))
        except EndpointError as error:
            message = json.dumps({"error": {"message": str(error)}}).encode()
            return None, LocalResponse(message, 502, _JSON)
        content_type = answer.headers.get("content-type", _JSON)
        response = LocalResponse(answer.body, answer.status, content_type)
        reply = None
        if answer.status == 200:
            try:
                reply = reply_of(message_of(answer.body, self._endpoint.shown))
            except UnusableReplyError:
                reply = None  # the loop receives the same body, and raises it
        return reply, response


def message_of(raw: bytes, where: str) -> dict[str, Any]:
    """Return the text and the calls of a chat completion, as a message of the conversation.

    Raises:
        UnusableReplyError: It is not a chat completion.
    """
    try:
        message = json.loads(raw)["choices"][0]["message"]
        return {name: message.get(name) for name in ("content", "tool_calls") if message.get(name)}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise UnusableReplyError(f"{where} returned no chat completion: {error!r}") from error


def reply_of(message: Mapping[str, Any]) -> Reply:
    """Return the text and the calls of a message of `message_of`."""
    calls = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        calls.append(ToolCall.of(call.get("id"), function.get("name"), function.get("arguments")))
    return Reply(str(message.get("content") or ""), calls)

"""A recording upstream: a server on 127.0.0.1 that stands where the model would, and keeps what a proxy really forwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.tokens import WordTokenizer
from context_bench_http import Endpoint, EndpointError, HttpClient, Network
from context_bench_http.content_encoding import ContentEncodingError, decoded
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_upstream.replies import Call, canned, dialect_of
from context_bench_upstream.texts import texts_in

ROW_HEADER = "x-context-bench-row"
"""The header in which a request of ours carries the number of its row."""
_COUNTING_PATHS = ("/messages/count_tokens", "/responses/input_tokens")
_NOT_FORWARDED = {
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    ROW_HEADER,
}
_LARGEST = 512 * 1024 * 1024
_HOSTS = ("127.0.0.1", "localhost", "::1", "host.docker.internal")
"""Names of this machine; a proxy may pass on the name and port by which it was reached itself."""
_MODEL = "recording-upstream"


@frozen(eq=False)
class Forwarded:
    """One request that arrived.

    Attributes:
        path: Path of the request.
        dialect: ``chat``, ``responses`` or ``messages``.
        headers: Its headers, names in lower case, without those that hold a credential.
        body: Its body as JSON.
        row: The number of the row that its header names; empty where the proxy did not pass it on.
    """

    path: str
    dialect: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    row: str = ""


class RecordingUpstream:
    """Serves OpenAI chat, Responses and the Messages API on 127.0.0.1, and keeps every body.

        with RecordingUpstream() as upstream:
            ...  # point the proxy at upstream.url, and ask the proxy
            print(upstream.take())

    Args:
        port: Port to listen on; 0 takes a free one.
        reply: Text of the canned reply.
        forward_to: Address of a server that answers in its place, such as a reader; None for the canned reply.
        timeout: Seconds that such a server may take.

    Attributes:
        url: Its address.
        reply, forward_to: As above.
        calls_for: Returns what is called in answer to a request, in place of the reply; none unless it is set.
    """

    def __init__(
        self,
        port: int = 0,
        reply: str = "ok",
        forward_to: str | None = None,
        timeout: float = 120.0,
    ) -> None:
        self.calls_for: Callable[[Forwarded], Sequence[Call]] = lambda _: ()
        self.reply = reply
        self.forward_to = forward_to
        is_local = forward_to is not None and Endpoint.parse(forward_to).is_local
        self._http = HttpClient(Network(is_local=is_local), timeout)
        self._lock = threading.Lock()
        self._records: list[Forwarded] = []
        guard = Guard(hosts=_HOSTS, methods=("GET", "POST"), max_body=_LARGEST)
        self._server = LocalServer(self._respond, port, guard)
        self.url = self._server.url

    def __enter__(self) -> RecordingUpstream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server."""
        self._server.close()

    def take(self) -> Sequence[Forwarded]:
        """Return what has arrived since the last time, in order."""
        with self._lock:
            taken, self._records = self._records, []
        return taken

    def _respond(self, request: LocalRequest) -> LocalResponse:
        if request.method == "GET":
            return LocalResponse(_models(request.path), content_type="application/json")
        try:
            raw = decoded(request.body, request.headers.get("content-encoding", ""), _LARGEST)
        except ContentEncodingError as error:
            return LocalResponse(_failure(str(error)), 415, "application/json")
        status, content_type, body = self.answer(request.path, request.headers, raw)
        return LocalResponse(body, status, content_type.partition(";")[0].strip())

    def answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, str, bytes]:
        """Keep a request, and return status, content type and body of its answer."""
        dialect = dialect_of(path)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict) and path.rstrip("/").endswith(_COUNTING_PATHS):
            return 200, "application/json", _counted(body)
        if dialect is None or not isinstance(body, dict):
            reason = f"the recording upstream does not know POST {path[:200]} with such a body"
            return 404, "application/json", _failure(reason)
        shown = {
            name.lower(): value
            for name, value in headers.items()
            if name.lower() not in (*_SECRET, ROW_HEADER)
        }
        arrived = Forwarded(path, dialect, shown, body, headers.get(ROW_HEADER, ""))
        with self._lock:
            self._records.append(arrived)
        if self.forward_to is None:
            calls = self.calls_for(arrived)
            return canned(dialect, body, "" if calls else self.reply, calls)
        return self._forwarded(path, headers, raw)

    def _forwarded(
        self, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, str, bytes]:
        address = str(self.forward_to).rstrip("/").removesuffix("/v1") + path
        sent = {
            name.lower(): value
            for name, value in headers.items()
            if name.lower() not in _NOT_FORWARDED
        }
        try:
            response = self._http.fetch_url(address, sent, raw)
        except EndpointError as error:
            failure = _failure(f"{self.forward_to} gave no answer: {error}")
            return 502, "application/json", failure
        content_type = response.headers.get("content-type", "application/json")
        return response.status, content_type, response.body


def _models(path: str) -> bytes:
    """Return the list of models, or one model, in the shapes of both interfaces."""
    model = {"id": _MODEL, "object": "model", "type": "model", "display_name": _MODEL, "created": 0}
    name = path.rstrip("/").rpartition("/models/")[2]
    if name != path.rstrip("/"):
        return json.dumps({**model, "id": name}).encode()
    return json.dumps({"object": "list", "data": [model], "has_more": False}).encode()


def _counted(body: Mapping[str, Any]) -> bytes:
    """Return the answer to a request that counts tokens: those of all texts of the body, by words."""
    counter = WordTokenizer()
    tokens = sum(counter.count(text) for text in texts_in(body))
    return json.dumps({"object": "response.input_tokens", "input_tokens": tokens}).encode()


def _failure(message: str) -> bytes:
    return json.dumps({"error": {"message": message}}).encode()


_SECRET = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"}

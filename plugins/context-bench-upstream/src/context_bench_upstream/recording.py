"""A recording upstream: a server on 127.0.0.1 that stands where the model would, and keeps what a proxy really forwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench_http import Endpoint, EndpointError, HttpClient, Network
from context_bench_http.local_server import Guard, LocalRequest, LocalResponse, LocalServer
from context_bench_upstream.replies import Call, canned, dialect_of

ROW_HEADER = "x-context-bench-row"
"""The header in which a request of ours carries the number of its row."""
_NOT_FORWARDED = {
    "accept-encoding",
    "connection",
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
_MODELS = b'{"object": "list", "data": [{"id": "recording-upstream", "object": "model"}]}'


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
        self._reply = reply
        self._forward_to = forward_to
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
            return LocalResponse(_MODELS, content_type="application/json")
        status, content_type, body = self.answer(request.path, request.headers, request.body)
        return LocalResponse(body, status, content_type.partition(";")[0].strip())

    def answer(self, path: str, headers: Mapping[str, str], raw: bytes) -> tuple[int, str, bytes]:
        """Keep a request, and return status, content type and body of its answer."""
        dialect = dialect_of(path)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            body = None
        if dialect is None or not isinstance(body, dict):
            return (
                404,
                "application/json",
                b'{"error": {"message": "the recording upstream does not know this request"}}',
            )
        shown = {
            name.lower(): value
            for name, value in headers.items()
            if name.lower() not in (*_SECRET, ROW_HEADER)
        }
        arrived = Forwarded(path, dialect, shown, body, headers.get(ROW_HEADER, ""))
        with self._lock:
            self._records.append(arrived)
        if self._forward_to is None:
            return canned(dialect, body, self._reply, self.calls_for(arrived))
        return self._forwarded(path, headers, raw)

    def _forwarded(
        self, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, str, bytes]:
        address = str(self._forward_to).rstrip("/").removesuffix("/v1") + path
        sent = {
            name.lower(): value
            for name, value in headers.items()
            if name.lower() not in _NOT_FORWARDED
        }
        try:
            response = self._http.fetch_url(address, sent, raw)
        except EndpointError as error:
            failure = {"error": {"message": f"{self._forward_to} gave no answer: {error}"}}
            return 502, "application/json", json.dumps(failure).encode()
        content_type = response.headers.get("content-type", "application/json")
        return response.status, content_type, response.body


_SECRET = {"authorization", "x-api-key", "api-key", "cookie", "proxy-authorization"}

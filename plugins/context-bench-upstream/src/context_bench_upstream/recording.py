"""A recording upstream: a server on 127.0.0.1 that stands where the model would, and keeps what a proxy really forwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import frozen

from context_bench_http import Endpoint, EndpointError, HttpClient, Network
from context_bench_upstream.replies import Call, canned, dialect_of

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
}
_LARGEST = 512 * 1024 * 1024


@frozen(eq=False)
class Forwarded:
    """One request that arrived.

    Attributes:
        path: Path of the request.
        dialect: ``chat``, ``responses`` or ``messages``.
        headers: Its headers, names in lower case, without those that hold a credential.
        body: Its body as JSON.
    """

    path: str
    dialect: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


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
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.upstream = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, daemon=True, name="recording-upstream"
        )
        self._thread.start()

    def __enter__(self) -> RecordingUpstream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self) -> Sequence[Forwarded]:
        """Return what has arrived since the last time, in order."""
        with self._lock:
            taken, self._records = self._records, []
        return taken

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
            name.lower(): value for name, value in headers.items() if name.lower() not in _SECRET
        }
        arrived = Forwarded(path, dialect, shown, body)
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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    upstream: RecordingUpstream


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self._body()
        assert isinstance(self.server, _Server)
        self._send(
            *self.server.upstream.answer(
                self.path.partition("?")[0], dict(self.headers.items()), raw
            )
        )

    def do_GET(self) -> None:
        self._send(
            200,
            "application/json",
            b'{"object": "list", "data": [{"id": "recording-upstream", "object": "model"}]}',
        )

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().partition(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(min(int(self.headers.get("content-length") or 0), _LARGEST))

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's own name
        return

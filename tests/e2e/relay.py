"""A relay before a server that remembers every call: what was asked, and what the server said."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

_HOP_BY_HOP = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


@dataclass(frozen=True)
class Call:
    """A request that was answered.

    Attributes:
        request: The body, parsed.
        status: HTTP status of the answer.
        reply: The body of the answer, parsed.
    """

    request: dict[str, Any]
    status: int
    reply: dict[str, Any]

    @property
    def prompt_tokens(self) -> int:
        """What the model's own server counted."""
        return int(self.reply["usage"]["prompt_tokens"])


class Relay:
    """Passes everything on to a server and keeps the POSTs; a context manager.

    Args:
        upstream: Address of the server.
        on_call: Is told of each call after its answer is known and before it is passed back.

    Attributes:
        url: Where the relay listens.
        calls: The POSTs so far, in the order of their answers.
    """

    def __init__(self, upstream: str, on_call: Callable[[Call], None] = lambda call: None) -> None:
        self.calls: list[Call] = []
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", 0), _handler(upstream, self.calls, on_call)
        )
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(
    upstream: str, calls: list[Call], on_call: Callable[[Call], None]
) -> type[BaseHTTPRequestHandler]:
    host = urlsplit(upstream).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, answer = self.ask(body)
            call = Call(json.loads(body), status, json.loads(answer))
            calls.append(call)
            on_call(call)
            self.answer(status, headers, answer)

        def do_GET(self) -> None:
            self.answer(*self.ask(b""))

        def ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = HTTPConnection(host, timeout=600)
            try:
                headers = {
                    name: value
                    for name, value in self.headers.items()
                    if name.lower() not in _HOP_BY_HOP
                }
                connection.request(self.command, self.path, body or None, {**headers, "Host": host})
                response = connection.getresponse()
                return response.status, response.getheaders(), response.read()
            finally:
                connection.close()

        def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in _HOP_BY_HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            pass

    return Handler

"""A server on this machine that answers, misbehaves and remembers what it was asked, exactly as a test scripts it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: Any


Step = Callable[["ScriptedServer", socket.socket, Request], bool]


class ScriptedServer:
    """Plays one step a request and repeats the last one; a step returns whether the connection stays open."""

    def __init__(self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.stopping = threading.Event()
        self._steps: list[Step] = [Steps.ok()]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.bind((host, 0))
        self._listener.listen(512)
        self.port = self._listener.getsockname()[1]
        self._tls = tls
        self.url = (
            f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{self.port}"
        )
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def play(self, *steps: Step) -> None:
        self._steps = list(steps)

    def stop(self) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):
                connection = (
                    self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
                )
            with connection, contextlib.suppress(OSError), connection.makefile("rb") as incoming:
                while (request := _read_request(incoming)) is not None:
                    with self._lock:
                        self.requests.append(request)
                        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
                    if not step(self, connection, request):
                        return
        finally:
            with self._lock:
                self._open.discard(connection)


def _read_request(incoming: Any) -> Request | None:
    start = incoming.readline()
    if not start:
        return None
    headers = {}
    while (line := incoming.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        headers[name.decode().lower()] = value.strip().decode("latin-1")
    body = incoming.read(int(headers.get("content-length", 0)))
    return Request(start.split()[1].decode(), headers, json.loads(body) if body else None)


class Steps:
    """The ways in which a server can answer."""

    @staticmethod
    def completion(text: str | None = "fine", **changes: Any) -> dict[str, Any]:
        """Return the body of a chat completion; ``message`` adds to the message, other names to the body."""
        message = {"role": "assistant", "content": text, **changes.pop("message", {})}
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": changes.pop("finish_reason", "stop"),
        }
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        return {
            "id": "c-1",
            "object": "chat.completion",
            "model": "served",
            "choices": [choice],
            "usage": usage,
        } | changes

    @staticmethod
    def ok(
        text: str | None = "fine", headers: Mapping[str, str] | None = None, **changes: Any
    ) -> Step:
        return Steps.answer(200, Steps.completion(text, **changes), headers)

    @staticmethod
    def answer(status: int, body: Any = b"", headers: Mapping[str, str] | None = None) -> Step:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/json" if not isinstance(body, bytes) else "text/plain"
        return Steps.raw(
            _head(status, {"content-type": kind, "content-length": len(content), **(headers or {})})
            + content
        )

    @staticmethod
    def error(
        status: int, message: str, headers: Mapping[str, str] | None = None, **fields: Any
    ) -> Step:
        return Steps.answer(status, {"error": {"message": message, **fields}}, headers)

    @staticmethod
    def gzipped(text: str) -> Step:
        content = gzip.compress(json.dumps(Steps.completion(text)).encode())
        return Steps.raw(
            _head(200, {"content-encoding": "gzip", "content-length": len(content)}) + content
        )

    @staticmethod
    def raw(content: bytes, keep: bool = True) -> Step:
        def step(server: ScriptedServer, connection: socket.socket, request: Request) -> bool:
            connection.sendall(content)
            return keep

        return step

    @staticmethod
    def cut_mid_body() -> Step:
        body = json.dumps(Steps.completion()).encode()
        return Steps.raw(
            _head(200, {"content-length": len(body)}) + body[: len(body) // 2], keep=False
        )

    @staticmethod
    def cut_without_a_length() -> Step:
        body = json.dumps(Steps.completion()).encode()
        return Steps.raw(_head(200, {"connection": "close"}) + body[: len(body) // 2], keep=False)

    @staticmethod
    def hang_up() -> Step:
        return Steps.raw(b"", keep=False)

    @staticmethod
    def reset() -> Step:
        def step(server: ScriptedServer, connection: socket.socket, request: Request) -> bool:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False

        return step

    @staticmethod
    def silent() -> Step:
        """Send nothing until the test ends."""

        def step(server: ScriptedServer, connection: socket.socket, request: Request) -> bool:
            server.stopping.wait(20)
            return False

        return step

    @staticmethod
    def trickling(head: bytes = b"HTTP/1.1 200 OK\r\nx-slow: ", piece: bytes = b".") -> Step:
        """Send the beginning of a response, and then a piece every 50 ms: no single pause is long, and no head ever whole."""

        def step(server: ScriptedServer, connection: socket.socket, request: Request) -> bool:
            connection.sendall(head)
            for _ in range(400):
                if server.stopping.wait(0.05):
                    break
                connection.sendall(piece)
            return False

        return step

    @staticmethod
    def trickling_body() -> Step:
        """Send headers, then a byte every 50 ms: no single pause is long, the whole is."""

        def step(server: ScriptedServer, connection: socket.socket, request: Request) -> bool:
            connection.sendall(_head(200, {"content-length": 4000}))
            for _ in range(400):
                connection.sendall(b" ")
                if server.stopping.wait(0.05):
                    break
            return False

        return step

    @staticmethod
    def stream(*events: Any, done: bool = True, end: bool = True) -> Step:
        lines = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
        content = lines + (b"data: [DONE]\n\n" if done else b"")
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in _pieces(content))
        head = _head(
            200,
            {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"},
        )
        return Steps.raw(head + chunks + (b"0\r\n\r\n" if end else b""), keep=end)

    @staticmethod
    def delta(text: str | None = None, **choice: Any) -> dict[str, Any]:
        """Return a stream event with a piece of the reply."""
        delta = {**({"content": text} if text is not None else {}), **choice.pop("delta", {})}
        return {
            "model": "served",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}],
        }


def _pieces(content: bytes, size: int = 37) -> Iterator[bytes]:
    """Cut where no line ends, as networks do."""
    return (content[at : at + size] for at in range(0, len(content), size))


def _head(status: int, headers: Mapping[str, Any]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode("latin-1")


@pytest.fixture
def steps() -> type[Steps]:
    return Steps


@pytest.fixture
def new_server() -> Iterator[Callable[..., ScriptedServer]]:
    servers: list[ScriptedServer] = []

    def start(host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> ScriptedServer:
        servers.append(ScriptedServer(host, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def server(new_server: Callable[..., ScriptedServer]) -> ScriptedServer:
    return new_server()


@pytest.fixture(autouse=True)
def _nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_EXTRA_HEADERS",
        "SSL_CERT_FILE",
    ):
        monkeypatch.delenv(name, raising=False)


def _on_a_loop(system: Any, example: Mapping[str, Any]) -> dict[str, Any]:
    return dict(asyncio.run(system.aprocess(example)))


@pytest.fixture(params=["from a thread", "from an event loop"])
def ask(request: pytest.FixtureRequest) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    """Ask a system through its front doors: every behaviour holds for all."""
    if request.param == "from a thread":
        return lambda system, example: dict(system.process(example))
    return _on_a_loop

"""A guarded server on 127.0.0.1: it answers its own callers, and no page of another site and no name that leads here.

Every request passes one guard before anything is done with it: the method, ``Host`` (against DNS rebinding), ``Origin`` and
``Sec-Fetch-Site`` (against pages of other sites in the same browser), and the secret with which the path begins, where there is
one. A body is bounded while it is read, whether its length was declared or it comes in chunks.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from aiohttp import web

HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""What every answer says."""

MAX_BODY = 64 * 1024 * 1024
_THREADS = 32
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class LocalRequest:
    """A request that arrived.

    Attributes:
        method: ``GET``, ``POST`` and so on.
        path: Path of the address, decoded, without the secret.
        query: The query, undecoded.
        headers: The headers, names in lower case.
        body: The body as it was sent, in the encodings that the headers name.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class LocalResponse:
    """An answer.

    Attributes:
        body: Its body.
        status: Its status.
        content_type: Its content type.
        headers: Further headers.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


def plain(status: int, text: str) -> LocalResponse:
    """Return an answer of one line."""
    return LocalResponse(text.encode(), status)


@dataclass(frozen=True)
class Guard:
    """What a request must be like.

    Attributes:
        hosts: The names by which the server is reached; None for every name of this machine.
        port: Its port; None for any, of a caller that passes on the ``Host`` of another request.
        secret: The first part of every path; empty for none.
        methods: The methods.
        is_exact: Whether the server is reached by its own address alone, as by a browser that was given it.
        max_body: The most bytes of a body.
    """

    hosts: Collection[str] = _LOOPBACK
    port: int | None = None
    secret: str = ""
    methods: Collection[str] = ("GET", "HEAD")
    is_exact: bool = False
    max_body: int = MAX_BODY

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> LocalResponse | None:
        """Return the answer to a request that is refused; None for any other.

        Args:
            method: Its method.
            path: Its path, decoded, with the secret.
            headers: Its headers, names in lower case.
        """
        if method not in self.methods:
            return plain(405, f"This server takes {', '.join(self.methods)} only.")
        host, port = _host_of(headers.get("host", ""))
        if host not in self.hosts or self.port not in (None, port):
            return plain(403, "This server is reached by its own address only.")
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return plain(403, "Other pages may not call this server.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return plain(403, "Other pages may not call this server.")
        first = path.lstrip("/").partition("/")[0]
        if self.secret and not hmac.compare_digest(
            first.encode("utf-8", "surrogatepass"), self.secret.encode()
        ):
            return plain(403, "The token of the address is missing or wrong.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            return plain(400, "The content-length is not a number.")
        if int(length[:20]) > self.max_body:
            return self.too_large()
        return None

    def too_large(self) -> LocalResponse:
        """Return the answer to a body that is too large."""
        return plain(413, f"The body is larger than {self.max_body >> 20} MiB.")

    def below(self, path: str) -> str:
        """Return a path without the secret."""
        return path.lstrip("/").removeprefix(self.secret) if self.secret else path


def _host_of(text: str) -> tuple[str, int]:
    """Return name and port of a ``Host`` header; the port is -1 where it is not a number."""
    name, _, port = text.rpartition(":")
    if (text.startswith("[") and text.endswith("]")) or not name:
        name, port = text, "80"
    number = int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else -1
    return name.removeprefix("[").removesuffix("]").lower(), number


Answer = Callable[[LocalRequest], LocalResponse]


def respond(
    answer: Answer,
    guard: Guard,
    *,
    method: str,
    raw_path: str,
    headers: Mapping[str, str],
    body: bytes,
) -> LocalResponse:
    """Return the answer to a request that has arrived whole, or its refusal.

    Args:
        answer: Returns the answer to a request that the guard let through.
        guard: What a request must be like.
        method: Its method.
        raw_path: Its path and query, undecoded, with the secret.
        headers: Its headers, names in lower case.
        body: Its body.
    """
    encoded, _, query = raw_path.partition("?")
    path = unquote(encoded)
    refused = guard.refusal(method, path, headers)
    if refused is not None:
        return refused
    try:
        return answer(LocalRequest(method, guard.below(path), query, headers, body))
    except Exception as error:  # noqa: BLE001 - of whoever answers: the caller is told, and the server goes on
        return plain(500, f"{type(error).__name__}: {error}")


class LocalServer:
    """Answers requests on 127.0.0.1, on threads of its own, until it is closed.

    Args:
        answer: Returns the answer to a request that the guard let through; called on several threads.
        port: Port to listen on; 0 takes a free one.
        guard: What a request must be like; None refuses only what no caller on this machine sends.

    Attributes:
        port: The port.
        url: Its address, without the secret.

    Raises:
        OSError: The port cannot be listened on.
        OverflowError: It is not a port.
    """

    def __init__(self, answer: Answer, port: int = 0, guard: Guard | None = None) -> None:
        self._answer = answer
        self._listener = _listening(port)
        self.port: int = self._listener.getsockname()[1]
        self.guard = guard or Guard()
        if self.guard.is_exact:
            self.guard = replace(self.guard, hosts=("127.0.0.1",), port=self.port)
        self.url = f"http://127.0.0.1:{self.port}"
        self._pool = ThreadPoolExecutor(_THREADS, "context-bench-local-server")
        self._loop = asyncio.new_event_loop()
        self._is_over = asyncio.Event()
        started = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(started,), daemon=True, name="context-bench-local-server"
        )
        self._thread.start()
        started.wait()

    def close(self) -> None:
        """Stop the server; answers that are still being made are not waited for."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    def wait(self) -> None:
        """Wait until the server is closed; a Ctrl-C ends that on every system."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def _serve(self, started: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._run(started))
        finally:
            self._loop.close()
            self._listener.close()
            self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, started: threading.Event) -> None:
        from aiohttp import web

        server = web.Server(self._handle, access_log=None, logger=_silent(), auto_decompress=False)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0)
        await runner.setup()
        await web.SockSite(runner, self._listener).start()
        started.set()
        await self._is_over.wait()
        await runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        response = await self._respond(request)
        kind, _, charset = response.content_type.partition("; charset=")
        answered = web.Response(
            body=response.body,
            status=response.status,
            content_type=kind,
            charset=charset or None,
            headers={**HEADERS, **response.headers},
        )
        if not request.content.at_eof():  # what is left of the body is not read
            answered.force_close()
        return answered

    async def _respond(self, request: web.BaseRequest) -> LocalResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path = unquote(request.raw_path.partition("?")[0])
        refused = self.guard.refusal(request.method, path, headers)
        if refused is not None:  # before any of its body is read
            return refused
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > self.guard.max_body:
                return self.guard.too_large()
        arrived = partial(
            respond,
            self._answer,
            self.guard,
            method=request.method,
            raw_path=request.raw_path,
            headers=headers,
            body=bytes(body),
        )
        return await asyncio.get_running_loop().run_in_executor(self._pool, arrived)


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        if os.name == "posix":  # elsewhere the option lets two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except BaseException:
        listener.close()
        raise
    return listener


def _silent() -> object:
    """Return a logger that writes nothing: what a caller sends is not worth a line, and is not printable."""
    import logging

    logger = logging.getLogger("context_bench_http.local_server")
    logger.propagate = False
    logger.addHandler(logging.NullHandler())
    return logger

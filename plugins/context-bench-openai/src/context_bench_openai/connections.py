"""Connections to lend: to the threads of a process, and to each event loop."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

_ONE_CONNECTION = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0)


class Connections:
    """Lends HTTP clients of one connection each, and keeps those that come back for the next caller.

    One client with hundreds of connections would search all of them at each request, which costs more than the request:
    with 256 in flight 19 ms instead of 1 (httpx 0.28). The latest to come back is the first to go out, so no more
    connections stay warm than are needed.

    Connections of an event loop are closed with that loop, so that several ``asyncio.run`` in a row work. A forked or
    unpickled copy opens its own. Cookies are never kept: one row must not change the next.

    Args:
        timeout: Seconds to wait for a connection or for the next bytes, or None for no limit.
        trust_env: Whether ``HTTP_PROXY`` and its relatives apply.
        needs_certificates: Whether any connection uses TLS. Reading the certificates takes longer than many a request;
            without them a TLS connection is refused, not trusted.
    """

    def __init__(self, timeout: float | None, trust_env: bool, needs_certificates: bool = True) -> None:
        self._timeout = timeout
        self._trust_env = trust_env
        self._needs_certificates = needs_certificates
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._certificates: ssl.SSLContext | None = None
        self._idle: list[httpx.Client] = []
        self._idle_of_loop: dict[asyncio.AbstractEventLoop, _LoopClients] = {}
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Lend a client to the calling thread."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._idle.clear()
        idle = self._idle
        try:
            client = idle.pop()
        except IndexError:
            client = httpx.Client(**self._settings())
        try:
            yield client
        finally:
            idle.append(client)

    @asynccontextmanager
    async def async_client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend a client to a task of the running event loop."""
        idle = (await self._clients_of(asyncio.get_running_loop())).idle
        client = idle.pop() if idle else httpx.AsyncClient(**self._settings())
        try:
            yield client
        finally:
            idle.append(client)

    def close(self) -> None:
        """Close the idle connections of the threads; a later call opens new ones."""
        _close_all(self._idle)

    async def aclose(self) -> None:
        """Close the idle connections of the running event loop; a later call opens new ones."""
        clients = self._idle_of_loop.get(asyncio.get_running_loop())
        if clients is not None:
            await _aclose_all(clients.idle)

    def __reduce__(self) -> tuple[Any, ...]:
        return Connections, (self._timeout, self._trust_env, self._needs_certificates)

    async def _clients_of(self, loop: asyncio.AbstractEventLoop) -> _LoopClients:
        clients = self._idle_of_loop.get(loop)
        if clients is None:
            clients = _LoopClients()
            await clients.lifetime.__anext__()
            with self._lock:
                for closed in [known for known in self._idle_of_loop if known.is_closed()]:
                    del self._idle_of_loop[closed]
                self._idle_of_loop[loop] = clients
        return clients

    def _settings(self) -> dict[str, Any]:
        with self._lock:
            if self._certificates is None:
                self._certificates = (
                    httpx.create_ssl_context() if self._needs_certificates else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                )
        return {
            "timeout": self._timeout,
            "trust_env": self._trust_env,
            "verify": self._certificates,
            "limits": _ONE_CONNECTION,
            "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        }


class _LoopClients:
    """The idle clients of one event loop; they are closed when the loop ends.

    asyncio closes the unfinished asynchronous generators of a loop before the loop itself, and so `lifetime` is one.
    """

    def __init__(self) -> None:
        self.idle: list[httpx.AsyncClient] = []
        self.lifetime = _close_all_in_the_end(self.idle)


async def _close_all_in_the_end(idle: list[httpx.AsyncClient]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await _aclose_all(idle)


def _close_all(idle: list[httpx.Client]) -> None:
    while idle:
        idle.pop().close()


async def _aclose_all(idle: list[httpx.AsyncClient]) -> None:
    while idle:
        await idle.pop().aclose()

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

    One client with hundreds of connections would search all of them at each request. Connections of an event loop are closed
    with that loop. Cookies are never kept: one row must not change the next.

    Args:
        timeout: Seconds to wait for a connection or for the next bytes, or None for no limit.
        is_local: Whether the server is on this machine, so that no ``HTTP_PROXY`` applies.
        is_plain: Whether no connection uses TLS, so that no certificates are read.
    """

    def __init__(self, timeout: float | None, is_local: bool, is_plain: bool) -> None:
        self._timeout = timeout
        self._is_local = is_local
        self._is_plain = is_plain
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._certificates: ssl.SSLContext | None = None
        self._idle: list[httpx.Client] = []
        self._idle_of_loop: dict[asyncio.AbstractEventLoop, _OfLoop] = {}
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Lend a client to the calling thread."""
        if self._process != os.getpid():  # a fork shares sockets with its parent
            self._process = os.getpid()
            self._idle.clear()
        try:
            client = self._idle.pop()
        except IndexError:
            client = httpx.Client(**self._settings())
        try:
            yield client
        finally:
            self._idle.append(client)

    @asynccontextmanager
    async def async_client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend a client to a task of the running event loop."""
        idle = (await self._of_loop(asyncio.get_running_loop())).idle
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

    async def _of_loop(self, loop: asyncio.AbstractEventLoop) -> _OfLoop:
        clients = self._idle_of_loop.get(loop)
        if clients is None:
            clients = _OfLoop()
            await clients.lifetime.__anext__()
            with self._lock:
                for closed in [known for known in self._idle_of_loop if known.is_closed()]:
                    del self._idle_of_loop[closed]
                clients = self._idle_of_loop.setdefault(loop, clients)
        return clients

    def _settings(self) -> dict[str, Any]:
        with self._lock:
            if self._certificates is None:
                self._certificates = (
                    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if self._is_plain else httpx.create_ssl_context()
                )
        return {
            "timeout": self._timeout,
            "trust_env": not self._is_local,
            "verify": self._certificates,
            "limits": _ONE_CONNECTION,
            "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        }


class _OfLoop:
    """The idle clients of one event loop. asyncio closes the unfinished generators of a loop before the loop itself."""

    def __init__(self) -> None:
        self.idle: list[httpx.AsyncClient] = []
        self.lifetime = _close_in_the_end(self.idle)


async def _close_in_the_end(idle: list[httpx.AsyncClient]) -> AsyncGenerator[None, None]:
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

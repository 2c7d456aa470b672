"""Connections to lend: to the threads of a process, and to each event loop."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent import futures
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from math import inf
from time import monotonic
from typing import Any

import httpx

from context_bench_http.direct import Begin, DirectConnection, DirectPost
from context_bench_http.incoming import IncomingResponse
from context_bench_http.lookups import Lookups
from context_bench_http.network import Network

_ONE_CONNECTION = httpx.Limits(
    max_connections=1, max_keepalive_connections=1, keepalive_expiry=30.0
)


class BoundedClient(httpx.Client):
    """A client of one thread at a time, each of whose requests has a number of seconds as a whole: the request's ``timeout``.

    httpx bounds each read and each write by itself, so that a server that sends a byte now and then is waited for without
    end, and it does not bound at all how long the address of the server is looked up. Here each of them may take what is left
    of the whole, from the name of the server to the last byte of the body.

    Args:
        lookups: Look up addresses.
        settings: What httpx's client takes.
    """

    def __init__(self, lookups: Lookups, **settings: Any) -> None:
        super().__init__(**settings)
        self._lookups = lookups
        self._until = inf

    def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
        """Send a request; its body is bounded, too, where it is read before the next one is sent."""
        seconds = request.extensions["timeout"]["read"]
        self._until = inf if seconds is None else monotonic() + seconds
        request.extensions["trace"] = self._watch
        return super().send(request, **how)

    def _watch(self, event: str, told: dict[str, Any]) -> None:
        """Bound a connection: httpcore tells what it opens it with, and then of it, and uses it for later requests as well."""
        if event.endswith(".connect_tcp.started"):
            told["host"] = self._looked_up(told["host"], told["port"])
            left = self._until - monotonic()
            told["timeout"] = told["timeout"] if left == inf else max(left, 0.001)
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            stream = told["return_value"]
            for name in ("read", "write", "start_tls"):
                setattr(stream, name, partial(self._bounded, getattr(stream, name)))

    def _looked_up(self, host: str, port: int) -> str:
        """Return the address of a host; of one with several, its name.

        Raises:
            httpx.ConnectTimeout, httpx.ConnectError: It was not found in time, or not at all.
        """
        try:
            left = self._until - monotonic()
            return self._lookups.address(host, port).result(None if left == inf else left) or host
        except (TimeoutError, futures.TimeoutError) as error:
            raise httpx.ConnectTimeout("its address was not found in time") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    def _bounded(
        self, function: Callable[..., Any], *given: Any, timeout: float | None = None, **named: Any
    ) -> Any:
        left = self._until - monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("no complete reply in time")
        return function(*given, timeout=timeout if left == inf else left, **named)


class Connections:
    """Lends connections, and keeps those that come back for the next caller.

    Threads, and whatever goes through a proxy, get HTTP clients of httpx with one connection each: one client with
    hundreds of connections would search all of them at each request, which costs more than the request (with 256 in
    flight 19 ms instead of 1, httpx 0.28). Event loops get connections of our own where they can. The latest to come
    back is the first to go out, so no more connections stay warm than are needed.

    Connections of an event loop are closed with that loop, so that several ``asyncio.run`` in a row work. A forked or
    unpickled copy opens its own. Cookies are never kept: one row must not change the next.

    Args:
        timeout: Seconds for a request of a thread as a whole; through httpx on an event loop for a connection or for the next
            bytes. None for no limit.
        network: Proxies and certificates.
        uses_tls: Whether the endpoint is asked over TLS.
    """

    def __init__(self, timeout: float | None, network: Network, uses_tls: bool = True) -> None:
        self._timeout = timeout
        self._network = network
        self._uses_tls = uses_tls
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._certificates: ssl.SSLContext | None = None
        self._lookups = Lookups()
        self._idle: list[BoundedClient] = []
        self._idle_of_loop: dict[asyncio.AbstractEventLoop, _LoopConnections] = {}
        weakref.finalize(self, _close_all, self._idle)

    @contextmanager
    def client(self) -> Iterator[BoundedClient]:
        """Lend a client to the calling thread."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._lookups = Lookups()  # the threads of the other process are not here
            self._idle.clear()
        idle = self._idle
        try:
            client = idle.pop()
        except IndexError:
            client = BoundedClient(self._lookups, **self._settings())
        try:
            yield client
        finally:
            idle.append(client)

    @asynccontextmanager
    async def async_client(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend a client to a task of the running event loop."""
        idle = (await self._connections_of(asyncio.get_running_loop())).clients
        client = idle.pop() if idle else httpx.AsyncClient(**self._settings())
        try:
            yield client
        finally:
            idle.append(client)

    async def exchange(
        self, post: DirectPost, body: bytes, begin: Begin, seconds: float | None
    ) -> IncomingResponse:
        """Send a request on a connection of the running event loop, and return the whole response.

        Args:
            post: Where to, and with which headers.
            body: The body.
            begin: Makes what takes the response, of status and headers.
            seconds: How long it may take, connecting included; None for no limit.
        """
        loop = asyncio.get_running_loop()
        idle = (self._idle_of_loop.get(loop) or await self._connections_of(loop)).direct
        connection = None
        while idle and connection is None:
            connection = idle.pop()
            if not connection.is_reusable:
                connection.close()
                connection = None
        if connection is None:
            started = loop.time()
            connection = await post.connect(self._trusted(), seconds, self._lookups)
            seconds = None if seconds is None else max(0.0, seconds - (loop.time() - started))
        try:
            return await connection.exchange(post.request(body), begin, seconds)
        finally:
            if connection.is_reusable:
                idle.append(connection)
            else:
                connection.close()

    def close(self) -> None:
        """Close the idle connections of the threads; a later call opens new ones."""
        _close_all(self._idle)

    async def aclose(self) -> None:
        """Close the idle connections of the running event loop; a later call opens new ones."""
        connections = self._idle_of_loop.get(asyncio.get_running_loop())
        if connections is not None:
            await connections.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        return Connections, (self._timeout, self._network, self._uses_tls)

    async def _connections_of(self, loop: asyncio.AbstractEventLoop) -> _LoopConnections:
        connections = self._idle_of_loop.get(loop)
        if connections is None:
            connections = _LoopConnections()
            await connections.lifetime.__anext__()
            with self._lock:
                for closed in [known for known in self._idle_of_loop if known.is_closed()]:
                    del self._idle_of_loop[closed]
                self._idle_of_loop[loop] = connections
        return connections

    def _trusted(self) -> ssl.SSLContext:
        with self._lock:
            if self._certificates is None:
                self._certificates = self._network.certificates(self._uses_tls)
            return self._certificates

    def _settings(self) -> dict[str, Any]:
        return {
            "timeout": self._timeout,
            "verify": self._trusted(),
            "limits": _ONE_CONNECTION,
            "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            **self._network.settings(),
        }


class _LoopConnections:
    """The idle connections of one event loop; they are closed when the loop ends.

    asyncio closes the unfinished asynchronous generators of a loop before the loop itself, and so `lifetime` is one.
    """

    def __init__(self) -> None:
        self.clients: list[httpx.AsyncClient] = []
        self.direct: list[DirectConnection] = []
        self.lifetime = _close_in_the_end(self.clients, self.direct)

    async def aclose(self) -> None:
        await _aclose_all(self.clients, self.direct)


async def _close_in_the_end(
    clients: list[httpx.AsyncClient], direct: list[DirectConnection]
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await _aclose_all(clients, direct)


def _close_all(idle: list[BoundedClient]) -> None:
    while idle:
        idle.pop().close()


async def _aclose_all(clients: list[httpx.AsyncClient], direct: list[DirectConnection]) -> None:
    closing = list(direct)
    direct.clear()
    for connection in closing:
        connection.close()
    while clients:
        await clients.pop().aclose()
    if closing:
        await asyncio.wait([connection.lost for connection in closing], timeout=1.0)

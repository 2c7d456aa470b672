"""The one place that sends requests: aiohttp, its errors turned into ours."""

from __future__ import annotations

import asyncio
import ssl
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from context_bench_http.content_encoding import (
    BodyDecoder,
    ContentEncodingError,
    accepted_encodings,
)
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import (
    EndpointError,
    EndpointUnreachableError,
    UnusableReplyError,
)
from context_bench_http.incoming import Begin, IncomingResponse, Response
from context_bench_http.network import Network
from context_bench_http.request import HttpRequest
from context_bench_http.response_heads import HeadReader

KEEP_ALIVE = 30.0
"""Seconds after which an idle connection is not used again."""

_LONGEST_HEADER = 1 << 16
_PIECE = 1 << 18
_MAX_UNFIT_CONNECTIONS = 64


class Transport:
    """Sends single requests from any event loop, each loop with its own pool of connections.

    The connections of a loop are closed with that loop, so that several ``asyncio.run`` in a row work. A forked or unpickled
    copy opens its own. Cookies are never kept: one row must not change the next.

    Args:
        network: Proxies and certificates.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._lock = threading.Lock()
        self._certificates: ssl.SSLContext | None = None
        self._proxies: dict[tuple[str, str], str | None] = {}
        self._pools: dict[asyncio.AbstractEventLoop, _Pool] = {}

    async def send(
        self, request: HttpRequest, begin: Begin[Response], seconds: float | None
    ) -> Response:
        """Send a request, and return the response once its last byte is in. No redirect is followed.

        Args:
            request: The request.
            begin: Makes what takes the response, of endpoint, status and headers (names in lower case).
            seconds: How long it may take, connecting included; None for no limit.

        Raises:
            EndpointError: The response did not come, or not whole; or what takes it refused it.
        """
        endpoint = request.endpoint
        if seconds is not None and seconds <= 0:
            raise asyncio.TimeoutError
        with _endpoint_errors(endpoint):
            pool = self._pools.get(asyncio.get_running_loop()) or await self._new_pool()
            exchange = pool.session.request(
                request.method,
                URL(endpoint.url, encoded=True),
                data=_payload(request.body),
                headers=_request_headers(request),
                proxy=self._proxy_for(endpoint.url),
                timeout=aiohttp.ClientTimeout(total=seconds, ceil_threshold=inf),
                allow_redirects=False,
            )
            async with exchange as response:
                if response.status < 200:  # an announcement, behind which no answer comes
                    raise aiohttp.ClientPayloadError(f"its status is {response.status}")
                incoming = begin(endpoint, response.status, joined_headers(response.raw_headers))
                await _receive(response.content, incoming)
                if not response.content.at_eof():
                    response.close()  # the server leaves the connection open, and what it may send is not part of the reply
                return incoming

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    def __reduce__(self) -> tuple[Any, ...]:
        return Transport, (self._network,)

    async def _new_pool(self) -> _Pool:
        loop = asyncio.get_running_loop()
        pool = _Pool()
        await pool.open(self._trusted(), weakref.finalize(self, _close_later, loop, pool))
        with self._lock:
            for closed_loop in [known for known in self._pools if known.is_closed()]:
                self._pools.pop(closed_loop).forget()
            self._pools[loop] = pool
        return pool

    def _trusted(self) -> ssl.SSLContext:
        with self._lock:
            if self._certificates is None:
                self._certificates = self._network.certificates()
            return self._certificates

    def _proxy_for(self, url: str) -> str | None:
        parts = urlsplit(url)
        host = (parts.scheme, parts.netloc)
        if host not in self._proxies:
            self._proxies[host] = self._network.proxy_for(url)
        return self._proxies[host]


class _Pool:
    """The connections of one event loop. They are closed with the loop, or once nobody refers to their transport any more.

    asyncio closes the unfinished asynchronous generators of a loop before the loop itself, and so the session lives in one.
    """

    session: aiohttp.ClientSession
    _lifetime: AsyncGenerator[aiohttp.ClientSession, None]
    _finalizer: weakref.finalize[Any, Any]

    async def open(
        self, certificates: ssl.SSLContext, finalizer: weakref.finalize[Any, Any]
    ) -> None:
        """Open the session.

        Args:
            certificates: What TLS connections are checked by.
            finalizer: Closes the pool; disarmed when that has been done.
        """
        finalizer.atexit = False
        self._finalizer = finalizer
        self._lifetime = _session(certificates)
        self.session = await self._lifetime.__anext__()

    async def aclose(self) -> None:
        """Close the connections."""
        self.forget()
        await self._lifetime.aclose()

    def forget(self) -> None:
        """Take note that the pool is closed."""
        self._finalizer.detach()


def _close_later(loop: asyncio.AbstractEventLoop, pool: _Pool) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(pool.aclose()))


async def _session(certificates: ssl.SSLContext) -> AsyncGenerator[aiohttp.ClientSession, None]:
    connector = _Connector(limit=0, keepalive_timeout=KEEP_ALIVE, ssl=certificates)
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        auto_decompress=False,
        headers={"accept-encoding": accepted_encodings()},
    )
    try:
        yield session
    finally:
        await session.close()
        await connector.abort()


class _Connector(aiohttp.TCPConnector):
    """Lends no connection on which bytes arrived that nobody asked for: they would answer the next question."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._factory = partial(_Responses, loop=asyncio.get_running_loop())  # type: ignore[assignment]
        self._transports: weakref.WeakSet[asyncio.Transport] = weakref.WeakSet()

    async def abort(self) -> None:
        """End what is left of the connections: one with a request that its server does not read would outlive its loop."""
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Return a connection for a request."""
        for _ in range(_MAX_UNFIT_CONNECTIONS):
            connection = await super().connect(req, traces, timeout)
            if connection.protocol is None or not connection.protocol.should_close:
                if connection.transport is not None:
                    self._transports.add(connection.transport)
                return connection
            connection.close()
        raise aiohttp.ServerDisconnectedError("the server speaks before it is asked")


class _Responses(ResponseHandler):
    """The protocol of a connection, which is given the head of each response as `HeadReader` leaves it."""

    _heads: HeadReader | None = None

    def set_response_params(self, **settings: Any) -> None:
        """Take note that a response comes."""
        self._heads = HeadReader()
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the connection."""
        if self._heads is not None:
            data = self._heads.feed(data)
            if self._heads.is_done:
                self._heads = None
            if not data:
                return
        super().data_received(data)


async def _receive(content: aiohttp.StreamReader, incoming: IncomingResponse) -> None:
    """Hand the bytes of a body on until it ends, or until the reply is complete and the connection stays open."""
    decoder = BodyDecoder(incoming.headers.get("content-encoding", ""))
    while not incoming.is_complete:
        patience = incoming.patience
        try:
            if patience is None:
                chunk = await content.readany()
            else:
                chunk = await asyncio.wait_for(content.readany(), patience)
        except asyncio.TimeoutError:
            if patience is None:
                raise
            return
        for piece in decoder.feed(chunk) if chunk else decoder.finish():
            incoming.feed(piece)
        if not chunk:
            return


def _payload(body: bytes | None) -> bytes | AsyncIterator[bytes] | None:
    """Return a body as aiohttp takes it: a large one in pieces, between which the loop does other work."""
    return body if body is None or len(body) <= _PIECE else _pieces(body)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _request_headers(request: HttpRequest) -> Mapping[str, str]:
    if request.body is None:
        return request.headers
    return {**request.headers, "content-length": str(len(request.body))}


def joined_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name in lower case; the values of a repeated one are joined, as HTTP allows.

    >>> joined_headers([(b"X-Step", b"one"), (b"x-step", b"two")])
    {'x-step': 'one, two'}
    """
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name = raw_name.decode("latin-1").lower()
        try:
            value = raw_value.decode("utf-8")
        except UnicodeDecodeError:
            value = raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


@contextmanager
def _endpoint_errors(endpoint: Endpoint) -> Iterator[None]:
    """Turn aiohttp's errors into ours; a timeout is left to the caller, who knows how long the limit was."""
    try:
        yield
    except asyncio.TimeoutError:
        raise
    except ContentEncodingError as error:
        raise UnusableReplyError(
            f"{endpoint.shown} sent a compressed body that cannot be read: {error}.",
            retryable=not error.needs_package,
        ) from error
    except (aiohttp.InvalidURL, UnicodeError) as error:  # the latter: the name of a host
        raise EndpointError(f"{endpoint.shown} cannot be asked: {_reason(error)}.") from None
    except (aiohttp.ClientError, OSError) as error:
        raise _endpoint_error(endpoint.shown, error) from error


def _endpoint_error(where: str, error: Exception) -> EndpointError:
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return EndpointUnreachableError(
            f"{where} cannot be reached through the HTTP proxy: {error.status} {error.message}.",
            retryable=error.status != 407,
        )
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return EndpointUnreachableError(
            f"{where} cannot be reached through the HTTP proxy: {_reason(error)}.", retryable=True
        )
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ServerFingerprintMismatch):
        return EndpointUnreachableError(
            f"{where} cannot be reached: {_reason(error)}. Is the server running and the address right?",
            # A certificate that does not verify now will not verify in a second.
            retryable=not isinstance(error, aiohttp.ClientConnectorCertificateError),
        )
    return EndpointUnreachableError(
        f"{where} broke the connection before the reply was complete: {_reason(error)}.",
        retryable=True,
    )


def _reason(error: BaseException) -> str:
    text = getattr(error, "message", "") or str(error)
    return " ".join(str(text).split())[:300].rstrip(".") or type(error).__name__

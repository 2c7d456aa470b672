"""Connections that an event loop opens itself: HTTP/1.1 with as little between the socket and the reply as is safe.

A request through httpx and httpcore costs about 1 ms of CPU, and one event loop has 0.2 ms for each when 256 requests of
50 ms are in flight. Here the head of a request is built once, the response is parsed by llhttp (the parser of Node.js,
through httptools), and its bytes go straight into the reply that they become. Proxies are left to httpx.

What goes wrong is raised as httpx's exceptions, so that whoever calls need not know which of the two was used.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, cast

import httptools
import httpx

from context_bench_http.endpoint import Endpoint
from context_bench_http.incoming import IncomingResponse
from context_bench_http.lookups import Lookups

Begin = Callable[[int, Mapping[str, str]], IncomingResponse]

_LONGEST_HEAD = 1 << 20
_LONGEST_REST = 30.0
_PIECE = 1 << 20


class DirectConnection(asyncio.Protocol):
    """One connection, which carries one request at a time.

    Attributes:
        idle_since: When its last exchange ended, by ``time.monotonic``.
        lost: Done once nothing is left of it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.idle_since = 0.0
        self.lost: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[IncomingResponse] | None = None
        self._is_open = False
        self._parser: Any = httptools.HttpResponseParser(self)
        self._prepare(None)

    @property
    def is_reusable(self) -> bool:
        """Whether another request may go out on it."""
        return (
            self._is_open and self._answer is None and monotonic() - self.idle_since < _LONGEST_REST
        )

    async def exchange(
        self, request: bytes, begin: Begin, seconds: float | None
    ) -> IncomingResponse:
        """Send a whole request, and return the response once its last byte is in.

        Args:
            request: Head and body.
            begin: Makes what takes the body, of status and headers.
            seconds: How long it may take; None for no limit.

        Raises:
            httpx.TransportError, httpx.DecodingError: The response did not come, or not whole.
            EndpointError: What takes the body refused it.
        """
        if self._transport is None:
            raise httpx.ConnectError("the server closed the connection at once")
        self._prepare(begin)
        self._answer = self._loop.create_future()
        timer = None if seconds is None else self._loop.call_later(seconds, self._expire)
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            if timer is not None:
                timer.cancel()
            answer, self._answer = self._answer, None
            is_whole = (
                answer.done()
                and not answer.cancelled()
                and answer.exception() is None
                and self._is_sent
            )
            self.idle_since = monotonic()
            if not (is_whole and self._stays):
                self.close()

    @property
    def _is_sent(self) -> bool:
        """Whether the request is gone: a server may answer before it has read all."""
        return self._transport is not None and self._transport.get_write_buffer_size() == 0

    def close(self) -> None:
        """Close at once: nobody waits for what may still come."""
        self._is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _prepare(self, begin: Begin | None) -> None:
        self._begin = begin
        self._incoming: IncomingResponse | None = None
        self._inflate: _Inflation | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._arrived: list[bytes] = []
        self._status = 0
        self._head_size = 0
        self._has_head = False
        self._is_complete = False
        self._runs_until_closed = False
        self._stays = True

    # asyncio calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._is_open = True

    def data_received(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._answer is None or self._is_complete:
            self.close()  # nobody asked for this: kept, it would answer the next question
            return
        self._head_size += 0 if self._has_head else len(data)
        try:
            self._parse(data)
            self._pass_on()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the response
            self._fail(error)

    def eof_received(self) -> bool:
        """End a body that has no other end, and the connection."""
        self._is_open = False
        if self._runs_until_closed and not self._is_complete:
            try:
                self._complete()
            except Exception as error:  # noqa: BLE001 - handed to whoever waits for the response
                self._fail(error)
        self._fail(httpx.RemoteProtocolError("the server closed the connection"))
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits."""
        self._is_open = False
        self._transport = None
        if not self.lost.done():
            self.lost.set_result(None)
        self._fail(httpx.ReadError(str(error) if error else "the connection was closed"))

    # The parser calls these, within `data_received`; an exception in them would come out wrapped.

    def on_message_begin(self) -> None:
        """Expect the head of a response."""
        if self._is_complete:
            self._stays = False
            return
        self._headers.clear()
        self._has_head = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if not self._is_complete:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Take the status."""
        if not self._is_complete:
            self._status = self._parser.get_status_code()
            self._has_head = True

    def on_body(self, chunk: bytes) -> None:
        """Take a part of the body."""
        if not self._is_complete:
            self._arrived.append(chunk)

    def on_message_complete(self) -> None:
        """End the response."""
        if (
            self._status >= 200 and not self._is_complete
        ):  # those below are announcements, the answer follows
            self._is_complete = True
            self._stays = self._stays and self._parser.should_keep_alive()

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            raise httpx.RemoteProtocolError("the server switched to another protocol") from error
        except httptools.HttpParserError as error:
            self._stays = False
            if not self._is_complete:
                raise httpx.RemoteProtocolError(str(error) or type(error).__name__) from error

    def _pass_on(self) -> None:
        """Give on what the parser has found."""
        if (
            self._has_head and self._status < 100
        ):  # else it were an announcement, and its answer waited for
            raise httpx.RemoteProtocolError(f"{self._status:03d} is no status")
        if not self._has_head or self._status < 200:
            if self._head_size > _LONGEST_HEAD:
                raise httpx.RemoteProtocolError(
                    f"the head of the response is longer than {_LONGEST_HEAD >> 10} KiB"
                )
            return
        if self._incoming is None:
            assert self._begin is not None
            headers = _joined(self._headers)
            has_length = (
                "content-length" in headers
                or "chunked" in headers.get("transfer-encoding", "").lower()
            )
            self._runs_until_closed = not has_length
            self._inflate = _inflation(headers.get("content-encoding", ""))
            self._incoming = self._begin(self._status, headers)
        for chunk in self._arrived:
            self._feed(chunk)
        self._arrived.clear()
        if self._is_complete:
            self._complete()

    def _feed(self, chunk: bytes) -> None:
        assert self._incoming is not None
        if self._inflate is None:
            self._incoming.feed(chunk)
        else:
            self._inflate.into(self._incoming, chunk)

    def _complete(self) -> None:
        self._is_complete = True
        if self._answer is not None and not self._answer.done():
            assert self._incoming is not None
            self._answer.set_result(self._incoming)

    def _expire(self) -> None:
        self._fail(httpx.ReadTimeout("no complete reply in time"))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class DirectPost:
    """Sends requests of one kind to one endpoint: everything of them is built but the length and the body.

    Args:
        endpoint: Where to.
        headers: Request headers, names in lower case.
    """

    def __init__(self, endpoint: Endpoint, headers: Mapping[str, str]) -> None:
        url = httpx.URL(endpoint.url)
        self._host = url.raw_host.decode("ascii")
        self._is_tls = url.scheme == "https"
        self._port = url.port or (443 if self._is_tls else 80)
        lines = {"host": url.netloc.decode("ascii"), "accept-encoding": "gzip, deflate", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        self._head = b"POST %s HTTP/1.1\r\n%scontent-length: " % (
            url.raw_path,
            head.encode("ascii"),
        )

    def request(self, body: bytes) -> bytes:
        """Return the bytes of a request."""
        return b"%s%d\r\n\r\n%s" % (self._head, len(body), body)

    async def connect(
        self, certificates: ssl.SSLContext, seconds: float | None, lookups: Lookups
    ) -> DirectConnection:
        """Open a connection.

        Args:
            certificates: Whom to trust.
            seconds: How long it may take, the look-up of the server's name included; None for no limit.
            lookups: Look up addresses.

        Raises:
            httpx.ConnectError, httpx.ConnectTimeout: There is none to be had.
        """
        loop = asyncio.get_running_loop()
        # Other loops, uvloop's among them, do not try addresses of both families at once.
        patience: Any = (
            {"happy_eyeballs_delay": 0.25} if isinstance(loop, asyncio.BaseEventLoop) else {}
        )

        async def connected() -> DirectConnection:
            address = await asyncio.wrap_future(lookups.address(self._host, self._port))
            tls: Any = {"ssl": certificates, "server_hostname": self._host} if self._is_tls else {}
            host = address or self._host
            return (
                await loop.create_connection(
                    lambda: DirectConnection(loop), host, self._port, **tls, **patience
                )
            )[1]

        try:
            return await asyncio.wait_for(connected(), seconds)
        except asyncio.TimeoutError as error:
            raise httpx.ConnectTimeout("no connection in time") from error
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error


class _Inflation:
    """A compressed body on its way in, a piece at a time, so that a bomb meets the limit of bodies before the memory's."""

    def __init__(self, encoding: str) -> None:
        self._window = (
            47 if encoding.endswith("gzip") else 15
        )  # 47: gzip or zlib, by the first bytes
        self._inflate = zlib.decompressobj(self._window)
        self._is_first = True

    def into(self, incoming: IncomingResponse, chunk: bytes) -> None:
        """Give the plain text of a chunk on."""
        while chunk:
            incoming.feed(self._piece(chunk))
            chunk = self._inflate.unconsumed_tail

    def _piece(self, chunk: bytes) -> bytes:
        is_first, self._is_first = self._is_first, False
        try:
            return self._inflate.decompress(chunk, _PIECE)
        except zlib.error as error:
            if not is_first or self._window != 15:
                raise httpx.DecodingError(str(error)) from error
        self._inflate = zlib.decompressobj(
            -zlib.MAX_WBITS
        )  # some servers send "deflate" without its wrapper
        try:
            return self._inflate.decompress(chunk, _PIECE)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error


def _inflation(encoding: str) -> _Inflation | None:
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _Inflation(encoding)
    raise httpx.DecodingError(f"it is encoded as {encoding[:40]!r}, which was not understood")


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name in lower case; the values of a repeated one are joined, as HTTP allows."""
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name = raw_name.decode("latin-1").lower()
        try:
            value = raw_value.decode("utf-8")
        except UnicodeDecodeError:
            value = raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined

"""The client below all clients: it posts JSON and reads what comes back."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Any, TypeVar

import httpx

from context_bench_http.connections import Connections
from context_bench_http.dialect import Dialect
from context_bench_http.direct import Begin, DirectPost
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import (
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    RedirectRefusedError,
    UnusableReplyError,
)
from context_bench_http.headers import FailureHeaders
from context_bench_http.incoming import IncomingResponse
from context_bench_http.network import Network
from context_bench_http.redaction import Redaction
from context_bench_http.retrying import MOST_SECONDS, RetryPolicy

TRANSPORTS = ("auto", "httpx")
_MOST_REDIRECTS = 3
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_Reply = TypeVar("_Reply")
_Client = TypeVar("_Client", bound="JsonClient")


class JsonClient:
    """Posts JSON to a server, from any thread (`ask`) or event loop (`aask`), and asks again where that may help.

    One client holds one pool of connections; share it. Rate limits, server failures, timeouts and broken connections are
    retried with full jitter and never sooner than ``Retry-After`` says.

    Args:
        endpoint: The server.
        headers: Headers of every request, names in lower case.
        redaction: What hides the secrets among them.
        dialect: The interface that the server speaks.
        network: Proxies and certificates.
        timeout: Seconds for one attempt as a whole, from connecting to the last byte; None for no limit.
        retry: When to ask again.
        failure_headers: Response headers that make a reply a failure.
        transport: ``auto`` or ``httpx``: what carries the requests of an event loop. ``auto`` opens connections of its
            own, which cost a tenth of the CPU time, and leaves those through a proxy to httpx; see `DirectConnection`.

    Attributes:
        endpoint: The server.
        failure_headers: Response headers that make a reply a failure.
        max_retries: Requests after the first one.
        on_retry: Told of each attempt that failed and will be repeated, and the seconds until then; returns the seconds to
            wait instead. Who asks many things at once slows down by it.

    Raises:
        ValueError: An argument cannot be used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        headers: Mapping[str, str],
        redaction: Redaction,
        dialect: Dialect,
        network: Network,
        timeout: float | None,
        retry: RetryPolicy,
        failure_headers: FailureHeaders,
        transport: str = "auto",
    ) -> None:
        if timeout is not None and not 0 < timeout <= MOST_SECONDS:
            raise ValueError(
                f"timeout must be seconds above 0 and up to {MOST_SECONDS:,}, or None for no limit, not {timeout!r}."
            )
        if transport not in TRANSPORTS:
            raise ValueError(
                f"No transport is called {transport!r}. There is: {', '.join(TRANSPORTS)}."
            )
        self.on_retry: Callable[[EndpointError, float], float] | None = None
        self.endpoint = endpoint
        self.failure_headers = failure_headers
        self._timeout = timeout
        self._retry = retry
        self.max_retries = retry.max_retries
        self._headers = dict(headers)
        self._redaction = redaction
        self._dialect = dialect
        self._is_direct = transport == "auto" and network.is_direct(endpoint.url)
        is_plain = endpoint.url.startswith("http://") and network.is_direct(endpoint.url)
        self._connections = Connections(timeout, network, uses_tls=not is_plain)
        self._posts: dict[str, DirectPost] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.shown!r})"

    def post(self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply]) -> _Reply:
        """Return the reply to a body.

        Args:
            endpoint: Where to.
            body: The body, as `encoded` makes it.
            read: Makes the reply, of the endpoint as it may be shown, the content, and ``headers``, ``latency``, ``ttft``,
                ``attempts``.

        Raises:
            EndpointError: No usable reply came, after all retries.
        """
        for attempt in count(1):
            try:
                return self._attempt(endpoint, body, read, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            time.sleep(pause)
        raise AssertionError("unreachable")

    async def apost(self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply]) -> _Reply:
        """Return the reply to a body without blocking the event loop; see `post`."""
        for attempt in count(1):
            try:
                return await self._async_attempt(endpoint, body, read, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    @contextmanager
    def lent(self) -> Iterator[tuple[httpx.Client, Mapping[str, str]]]:
        """Lend a connection and the headers of every request, for a request that posts no JSON.

        Raises:
            EndpointError: The request failed on its way.
        """
        with self._endpoint_errors(self.endpoint), self._connections.client() as http:
            yield http, self._headers

    def without_secrets(self, error: EndpointError) -> EndpointError:
        """Return an error with the secrets of this client taken out of its message."""
        error.message = self._redaction.of(error.message)
        error.args = (error.message,)
        return error

    def close(self) -> None:
        """Close the connections of the threads."""
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connections.aclose()

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self: _Client) -> _Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _pause_after(self, error: EndpointError, attempt: int) -> float:
        pause = self._retry.pause_after(self.without_secrets(error), attempt)
        return pause if self.on_retry is None else self.on_retry(error, pause)

    def _attempt(
        self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply], attempt: int
    ) -> _Reply:
        with self._endpoint_errors(endpoint), self._connections.client() as http:
            started = perf_counter()
            for _ in range(1 + _MOST_REDIRECTS):
                begin, left = self._begin(endpoint, started), self._left(started)
                sent = http.stream(
                    "POST", endpoint.url, content=body, headers=self._headers, timeout=left
                )
                with sent as response:
                    incoming = begin(response.status_code, response.headers)
                    for chunk in response.iter_bytes():
                        incoming.feed(chunk)
                moved = incoming.redirected()
                if moved is None:
                    return incoming.reply(read, attempt)
                endpoint = moved
            raise self._endless_redirects(endpoint)

    async def _async_attempt(
        self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply], attempt: int
    ) -> _Reply:
        send = self._direct if self._is_direct else self._through_httpx
        with self._endpoint_errors(endpoint):
            started = perf_counter()
            for _ in range(1 + _MOST_REDIRECTS):
                incoming = await send(
                    endpoint, body, self._begin(endpoint, started), self._left(started)
                )
                moved = incoming.redirected()
                if moved is None:
                    return incoming.reply(read, attempt)
                endpoint = moved
            raise self._endless_redirects(endpoint)

    def _left(self, started: float) -> float | None:
        """Return the seconds that an attempt may still take; None for no limit."""
        return None if self._timeout is None else max(0.0, self._timeout + started - perf_counter())

    async def _direct(
        self, endpoint: Endpoint, body: bytes, begin: Begin, seconds: float | None
    ) -> IncomingResponse:
        post = self._posts.get(endpoint.url)
        if post is None:  # those of the server itself are few; where redirects lead is not kept
            post = DirectPost(endpoint, self._headers)
            if endpoint.label == self.endpoint.label and len(self._posts) < 16:
                self._posts[endpoint.url] = post
        return await self._connections.exchange(post, body, begin, seconds)

    async def _through_httpx(
        self, endpoint: Endpoint, body: bytes, begin: Begin, seconds: float | None
    ) -> IncomingResponse:
        async def exchange() -> IncomingResponse:
            async with (
                self._connections.async_client() as http,
                http.stream("POST", endpoint.url, content=body, headers=self._headers) as response,
            ):
                incoming = begin(response.status_code, response.headers)
                async for chunk in response.aiter_bytes():
                    incoming.feed(chunk)
            return incoming

        try:
            return await asyncio.wait_for(exchange(), seconds)
        except asyncio.TimeoutError:
            raise self._too_slow(endpoint) from None

    def _begin(self, endpoint: Endpoint, started: float) -> Begin:
        def begin(status: int, headers: Mapping[str, str]) -> IncomingResponse:
            return IncomingResponse(
                endpoint,
                status,
                headers,
                started,
                self.failure_headers,
                self._redaction,
                self._dialect,
            )

        return begin

    @contextmanager
    def _endpoint_errors(self, endpoint: Endpoint) -> Iterator[None]:
        """Turn the transport's errors into ours."""
        where = endpoint.shown
        try:
            yield
        except httpx.TimeoutException as error:
            raise self._too_slow(endpoint) from error
        except httpx.ConnectError as error:
            # A certificate that does not verify now will not verify in a second.
            untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            raise EndpointUnreachableError(
                f"{where} cannot be reached: {_reason(error)}. Is the server running and the address right?",
                retryable=not untrusted,
            ) from error
        except httpx.DecodingError as error:
            raise UnusableReplyError(
                f"{where} sent a compressed body that cannot be read: {_reason(error)}.",
                retryable=True,
            ) from error
        except httpx.ProxyError as error:
            raise EndpointUnreachableError(
                f"{where} cannot be reached through the HTTP proxy: {_reason(error)}.",
                retryable="407" not in str(error),
            ) from error
        except (
            httpx.LocalProtocolError,
            httpx.UnsupportedProtocol,
            UnicodeError,
        ) as error:  # the last: a host's name
            raise EndpointError(f"{where} cannot be asked: {_reason(error)}.") from None
        except httpx.TransportError as error:
            raise EndpointUnreachableError(
                f"{where} broke the connection before the reply was complete: {_reason(error)}.",
                retryable=True,
            ) from error

    def _too_slow(self, endpoint: Endpoint) -> EndpointTimeoutError:
        return EndpointTimeoutError(
            f"{endpoint.shown} gave no complete reply within {self._timeout:g} s (timeout).",
            retryable=True,
        )

    def _endless_redirects(self, endpoint: Endpoint) -> RedirectRefusedError:
        return RedirectRefusedError(
            f"{endpoint.shown} redirects more than {_MOST_REDIRECTS} times."
        )


def encoded(fields: Mapping[str, Any]) -> bytes:
    """Return request fields as a body; those that are None are left out.

    >>> encoded({"model": "m", "seed": None})
    b'{"model": "m"}'
    """
    present = {name: value for name, value in fields.items() if value is not None}
    try:
        return _JSON.encode(present).encode()
    except UnicodeEncodeError:  # lone surrogates travel as escapes
        return json.dumps(present, allow_nan=False).encode("ascii")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

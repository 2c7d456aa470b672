"""The client of the Messages API."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from time import perf_counter
from typing import Any

import httpx

from context_bench_anthropic.connections import Connections
from context_bench_anthropic.headers import (
    DEFAULT_FAILURE_HEADERS,
    FailureHeaders,
    header_mapping,
    request_headers,
    without_secrets,
)
from context_bench_anthropic.incoming import IncomingResponse
from context_bench_anthropic.reply import MessageReply
from context_bench_anthropic.retrying import RetryPolicy
from context_bench_openai import (
    Endpoint,
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    RedirectRefusedError,
    UnusableReplyError,
)

DEFAULT_BASE_URL = "https://api.anthropic.com"
DEFAULT_VERSION = "2023-06-01"
_MOST_REDIRECTS = 3


class MessagesClient:
    """Asks a server of the Messages API, from any thread (`ask`) or event loop (`aask`).

        client = MessagesClient("http://localhost:8080")
        client.ask({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hello"}]}).text

    Args:
        base_url: Address of the server, with or without ``/v1``.
        api_key: The key. None takes ``ANTHROPIC_API_KEY`` from the environment; ``""`` sends none.
        version: The ``anthropic-version``.
        timeout: Seconds for one attempt as a whole, from connecting to the last byte; None for no limit.
        max_retries: Requests after the first one.
        retry_base_delay: Upper bound of the first pause between attempts in seconds; it doubles each time.
        extra_headers: Further request headers, as a mapping or as ``name: value`` lines.
        failure_headers: Response headers that make a reply a failure, as ``name`` or ``name=value``.

    Attributes:
        on_retry: Told of each attempt that failed and will be repeated, and the seconds until then; returns the seconds to
            wait instead. Who asks many things at once slows down by it.

    Raises:
        EndpointURLError: The base URL cannot be one.
        ValueError: Another argument cannot be used.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_BASE_URL,
        api_key: str | None = None,
        *,
        version: str = DEFAULT_VERSION,
        timeout: float | None = 120.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
    ) -> None:
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be seconds above 0, or None for no limit, not {timeout!r}.")
        self.on_retry: Callable[[EndpointError, float], float] | None = None
        self.endpoint = messages_endpoint(base_url)
        self.extra_headers = header_mapping(extra_headers)
        self.failure_headers = FailureHeaders(failure_headers)
        self._timeout = timeout
        self._retry = RetryPolicy(max_retries, retry_base_delay)
        self._headers, self._secrets = request_headers(self.endpoint, api_key, version, self.extra_headers)
        is_plain = self.endpoint.is_local and self.endpoint.url.startswith("http://")
        self._connections = Connections(timeout, self.endpoint.is_local, is_plain)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.shown!r})"

    def ask(self, request: Mapping[str, Any]) -> MessageReply:
        """Return the reply to a request.

        Args:
            request: The body; fields that are None are left out.

        Raises:
            EndpointError: No usable reply came, after all retries.
        """
        body = _encoded(request)
        for attempt in count(1):
            try:
                return self._attempt(body, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            time.sleep(pause)
        raise AssertionError("unreachable")

    async def aask(self, request: Mapping[str, Any]) -> MessageReply:
        """Return the reply to a request without blocking the event loop; see `ask`."""
        body = _encoded(request)
        for attempt in count(1):
            try:
                return await asyncio.wait_for(self._async_attempt(body, attempt), self._timeout)
            except asyncio.TimeoutError:
                pause = self._pause_after(self._too_slow(), attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connections of the threads."""
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._connections.aclose()

    def _pause_after(self, error: EndpointError, attempt: int) -> float:
        error.message = without_secrets(error.message, self._secrets)
        error.args = (error.message,)
        pause = self._retry.pause_after(error, attempt)
        return pause if self.on_retry is None else self.on_retry(error, pause)

    def _attempt(self, body: bytes, attempt: int) -> MessageReply:
        endpoint = self.endpoint
        with self._endpoint_errors(), self._connections.client() as http:
            started = perf_counter()
            for _ in range(1 + _MOST_REDIRECTS):
                with http.stream("POST", endpoint.url, content=body, headers=self._headers) as response:
                    incoming = self._incoming(endpoint, response, started)
                    for chunk in response.iter_bytes():
                        incoming.feed(chunk)
                        if self._timeout is not None and perf_counter() - started > self._timeout:
                            raise self._too_slow()
                moved = incoming.redirected()
                if moved is None:
                    return incoming.reply(attempt)
                endpoint = moved
        raise self._endless_redirects()

    async def _async_attempt(self, body: bytes, attempt: int) -> MessageReply:
        endpoint = self.endpoint
        with self._endpoint_errors():
            async with self._connections.async_client() as http:
                started = perf_counter()
                for _ in range(1 + _MOST_REDIRECTS):
                    async with http.stream("POST", endpoint.url, content=body, headers=self._headers) as response:
                        incoming = self._incoming(endpoint, response, started)
                        async for chunk in response.aiter_bytes():
                            incoming.feed(chunk)
                    moved = incoming.redirected()
                    if moved is None:
                        return incoming.reply(attempt)
                    endpoint = moved
        raise self._endless_redirects()

    def _incoming(self, endpoint: Endpoint, response: httpx.Response, started: float) -> IncomingResponse:
        return IncomingResponse(
            endpoint, response.status_code, response.headers, started, self.failure_headers, self._secrets
        )

    @contextmanager
    def _endpoint_errors(self) -> Iterator[None]:
        """Turn the transport's errors into ours."""
        where = self.endpoint.shown
        try:
            yield
        except httpx.TimeoutException as error:
            raise self._too_slow() from error
        except httpx.ConnectError as error:
            # A certificate that does not verify now will not verify in a second.
            untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            raise EndpointUnreachableError(
                f"{where} cannot be reached: {_reason(error)}. Is the server running and the address right?",
                retryable=not untrusted,
            ) from error
        except httpx.DecodingError as error:
            raise UnusableReplyError(
                f"{where} sent a compressed body that cannot be read: {_reason(error)}.", retryable=True
            ) from error
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol) as error:
            raise EndpointError(f"{where} cannot be asked: {_reason(error)}.") from None
        except httpx.TransportError as error:
            raise EndpointUnreachableError(
                f"{where} broke the connection before the reply was complete: {_reason(error)}.", retryable=True
            ) from error

    def _too_slow(self) -> EndpointTimeoutError:
        return EndpointTimeoutError(
            f"{self.endpoint.shown} gave no complete reply within {self._timeout:g} s (timeout).", retryable=True
        )

    def _endless_redirects(self) -> RedirectRefusedError:
        return RedirectRefusedError(f"{self.endpoint.shown} redirects more than {_MOST_REDIRECTS} times.")


def messages_endpoint(base_url: str) -> Endpoint:
    """Return the endpoint of the Messages API for a base URL, with or without ``/v1``, slash, or the whole path.

    >>> messages_endpoint("localhost:8080").url
    'http://localhost:8080/v1/messages'
    >>> messages_endpoint("https://gateway.example.com/anthropic/v1/messages").url
    'https://gateway.example.com/anthropic/v1/messages'

    Raises:
        EndpointURLError: The text is no base URL; the message says in one line what to write instead.
    """
    if isinstance(base_url, str):
        address, question_mark, query = base_url.strip().partition("?")
        base_url = address.rstrip("/").removesuffix("/messages") + question_mark + query
    chat = Endpoint.parse(base_url)
    return replace(chat, url=_of_messages(chat.url), shown=_of_messages(chat.shown))


def _of_messages(url: str) -> str:
    address, question_mark, query = url.partition("?")
    return address.removesuffix("/chat/completions") + "/messages" + question_mark + query


def _encoded(request: Mapping[str, Any]) -> bytes:
    fields = {name: value for name, value in request.items() if value is not None}
    try:
        return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:  # lone surrogates travel as escapes
        return json.dumps(fields, allow_nan=False).encode("ascii")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

"""The chat client that systems and judges share."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Any

import httpx

from context_bench_openai.connections import Connections
from context_bench_openai.endpoint import Endpoint
from context_bench_openai.errors import (
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    RedirectRefusedError,
    UnusableReplyError,
)
from context_bench_openai.headers import FailureHeaders
from context_bench_openai.incoming import IncomingResponse
from context_bench_openai.reply import ChatReply
from context_bench_openai.request_headers import header_mapping, request_headers
from context_bench_openai.retrying import RetryPolicy

DEFAULT_FAILURE_HEADERS = ("x-headroom-compression-failed=true",)
_MOST_REDIRECTS = 3


class ChatClient:
    """Asks an OpenAI-compatible server, from any thread (`chat`) or event loop (`achat`).

    One client holds one connection pool; share it. Rate limits, server failures, timeouts and broken connections are
    retried with full jitter and never sooner than ``Retry-After`` says.

        client = ChatClient("http://localhost:8080", model="qwen")
        client.chat([{"role": "user", "content": "Hello"}], temperature=0).text

    Args:
        base_url: Address of the server, with or without ``/v1``; see `Endpoint.parse`.
        api_key: The bearer token. None takes ``OPENAI_API_KEY`` from the environment; ``""`` sends none.
        model: Model of calls that do not name one.
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
        base_url: str,
        api_key: str | None = None,
        *,
        model: str | None = None,
        timeout: float | None = 120.0,
        max_retries: int = 3,
        retry_base_delay: float = 1.0,
        extra_headers: Mapping[str, str] | Iterable[str] | None = None,
        failure_headers: Iterable[str] = DEFAULT_FAILURE_HEADERS,
    ) -> None:
        self.on_retry: Callable[[EndpointError, float], float] | None = None
        self.endpoint = Endpoint.parse(base_url)
        self.model = model
        self.extra_headers = header_mapping(extra_headers)
        self.failure_headers = FailureHeaders(failure_headers)
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be seconds above 0, or None for no limit, not {timeout!r}.")
        self._timeout = timeout
        self._retry = RetryPolicy(max_retries, retry_base_delay)
        self._headers, self._redaction = request_headers(self.endpoint, api_key, self.extra_headers)
        is_plain = self.endpoint.is_local and self.endpoint.url.startswith("http://")
        self._connections = Connections(timeout, trust_env=not self.endpoint.is_local, needs_certificates=not is_plain)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.shown!r}, model={self.model!r})"

    def chat(self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, **parameters: Any) -> ChatReply:
        """Return the reply to a list of messages.

        Args:
            messages: Chat messages as the server takes them.
            stream: Whether to stream, which makes the time to the first token known.
            parameters: Further fields of the request, such as ``temperature``; those that are None are left out.

        Raises:
            EndpointError: No usable reply came, after all retries.
        """
        body = self._body(messages, stream, parameters)
        for attempt in count(1):
            try:
                return self._attempt(body, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            time.sleep(pause)
        raise AssertionError("unreachable")

    async def achat(
        self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, **parameters: Any
    ) -> ChatReply:
        """Return the reply to a list of messages without blocking the event loop; see `chat`."""
        body = self._body(messages, stream, parameters)
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

    @contextmanager
    def lent(self) -> Iterator[tuple[httpx.Client, Mapping[str, str]]]:
        """Lend a connection and the headers of every request, for a request that is no chat.

        Raises:
            EndpointError: The request failed on its way.
        """
        with self._endpoint_errors(), self._connections.client() as http:
            yield http, self._headers

    def without_secrets(self, error: EndpointError) -> EndpointError:
        """Return an error with the secrets of this client taken out of its message."""
        error.message = self._redaction.of(error.message)
        error.args = (error.message,)
        return error

    def __enter__(self) -> ChatClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _pause_after(self, error: EndpointError, attempt: int) -> float:
        pause = self._retry.pause_after(self.without_secrets(error), attempt)
        return pause if self.on_retry is None else self.on_retry(error, pause)

    def _attempt(self, body: bytes, attempt: int) -> ChatReply:
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

    async def _async_attempt(self, body: bytes, attempt: int) -> ChatReply:
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
            endpoint, response.status_code, response.headers, started, self.failure_headers, self._redaction
        )

    def _body(self, messages: Sequence[Mapping[str, Any]], stream: bool, parameters: Mapping[str, Any]) -> bytes:
        request = {"model": self.model, "messages": messages, **parameters}
        if stream:
            request = {**request, "stream": True}
            request.setdefault("stream_options", {"include_usage": True})
        fields = {name: value for name, value in request.items() if value is not None}
        try:
            return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError:  # lone surrogates travel as escapes
            return json.dumps(fields, allow_nan=False).encode("ascii")

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


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

"""The client that systems and judges share."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from time import perf_counter
from typing import Any, TypeVar

import httpx

from context_bench_openai.connections import Connections
from context_bench_openai.direct import Begin, DirectPost
from context_bench_openai.endpoint import Endpoint
from context_bench_openai.errors import (
    EndpointError,
    EndpointTimeoutError,
    EndpointUnreachableError,
    RedirectRefusedError,
    UnusableReplyError,
)
from context_bench_openai.headers import DEFAULT_FAILURE_HEADERS, FailureHeaders
from context_bench_openai.incoming import IncomingResponse
from context_bench_openai.network import Network
from context_bench_openai.operations import CHAT, COMPLETIONS, EMBEDDINGS, Operation
from context_bench_openai.reply import ChatReply, EmbeddingReply
from context_bench_openai.request_headers import header_mapping, request_headers
from context_bench_openai.retrying import RetryPolicy

TRANSPORTS = ("auto", "httpx")
_MOST_REDIRECTS = 3
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_Reply = TypeVar("_Reply")


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
        organization: Organisation that is billed, as ``OpenAI-Organization``; None takes ``OPENAI_ORG_ID``.
        project: Project that is billed, as ``OpenAI-Project``; None takes ``OPENAI_PROJECT_ID``.
        http_proxy: URL of a forward proxy for all requests; None for those of the environment, see `Network`.
        ca_bundle: PEM file or directory of the certificates to trust.
        client_cert: PEM file of a client certificate with its key, or ``CERTIFICATE,KEY``.
        verify: Whether a server must prove who it is.
        transport: ``auto`` or ``httpx``: what carries the requests of an event loop. ``auto`` opens connections of its
            own, which cost a tenth of the CPU time, and leaves those through a proxy to httpx; see `DirectConnection`.

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
        organization: str | None = None,
        project: str | None = None,
        http_proxy: str | None = None,
        ca_bundle: str | None = None,
        client_cert: str | None = None,
        verify: bool = True,
        transport: str = "auto",
    ) -> None:
        self.on_retry: Callable[[EndpointError, float], float] | None = None
        self.endpoint = Endpoint.parse(base_url)
        self.model = model
        self.extra_headers = header_mapping(extra_headers)
        self.failure_headers = FailureHeaders(failure_headers)
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout must be seconds above 0, or None for no limit, not {timeout!r}.")
        if transport not in TRANSPORTS:
            raise ValueError(f"No transport is called {transport!r}. There is: {', '.join(TRANSPORTS)}.")
        network = Network(http_proxy, ca_bundle, client_cert, verify, self.endpoint.is_local)
        self._timeout = timeout
        self._retry = RetryPolicy(max_retries, retry_base_delay)
        self._headers, self._redaction = request_headers(
            self.endpoint, api_key, self.extra_headers, organization, project, network.secrets
        )
        self._is_direct = transport == "auto" and network.is_direct(self.endpoint.url)
        is_plain = self.endpoint.url.startswith("http://") and network.is_direct(self.endpoint.url)
        self._connections = Connections(timeout, network, uses_tls=not is_plain)
        paths = (CHAT.path, COMPLETIONS.path, EMBEDDINGS.path)
        self._endpoints = {path: self.endpoint.at(path) for path in paths}
        self._posts = {
            endpoint.url: DirectPost(endpoint, self._headers)
            for endpoint in self._endpoints.values()
            if self._is_direct
        }

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
        return self._ask(CHAT, self._body({"messages": messages, **parameters}, stream))

    async def achat(
        self, messages: Sequence[Mapping[str, Any]], *, stream: bool = False, **parameters: Any
    ) -> ChatReply:
        """Return the reply to a list of messages without blocking the event loop; see `chat`."""
        return await self._aask(CHAT, self._body({"messages": messages, **parameters}, stream))

    def complete(self, prompt: str, *, stream: bool = False, **parameters: Any) -> ChatReply:
        """Return how the model goes on with a text (``/completions``).

        Args:
            prompt: The text.
            stream: Whether to stream, which makes the time to the first token known.
            parameters: Further fields of the request; those that are None are left out.

        Raises:
            EndpointError: No usable reply came, after all retries.
        """
        return self._ask(COMPLETIONS, self._body({"prompt": prompt, **parameters}, stream))

    async def acomplete(self, prompt: str, *, stream: bool = False, **parameters: Any) -> ChatReply:
        """Return how the model goes on with a text without blocking the event loop; see `complete`."""
        return await self._aask(COMPLETIONS, self._body({"prompt": prompt, **parameters}, stream))

    def embed(self, texts: Sequence[str], **parameters: Any) -> EmbeddingReply:
        """Return one vector for each text (``/embeddings``), in their order.

        Args:
            texts: The texts, none of them empty: servers refuse those.
            parameters: Further fields of the request, such as ``dimensions``; those that are None are left out.

        Raises:
            EndpointError: No usable reply came, after all retries; or not one vector for each text.
        """
        reply = self._ask(EMBEDDINGS, self._body({"input": _list_of(texts), **parameters}))
        return reply.checked(len(texts), self._endpoints[EMBEDDINGS.path].shown)

    async def aembed(self, texts: Sequence[str], **parameters: Any) -> EmbeddingReply:
        """Return one vector for each text without blocking the event loop; see `embed`."""
        reply = await self._aask(EMBEDDINGS, self._body({"input": _list_of(texts), **parameters}))
        return reply.checked(len(texts), self._endpoints[EMBEDDINGS.path].shown)

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
        with self._endpoint_errors(self.endpoint), self._connections.client() as http:
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

    def _ask(self, operation: Operation[_Reply], body: bytes) -> _Reply:
        for attempt in count(1):
            try:
                return self._attempt(operation, body, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            time.sleep(pause)
        raise AssertionError("unreachable")

    async def _aask(self, operation: Operation[_Reply], body: bytes) -> _Reply:
        for attempt in count(1):
            try:
                return await self._async_attempt(operation, body, attempt)
            except EndpointError as error:
                pause = self._pause_after(error, attempt)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def _pause_after(self, error: EndpointError, attempt: int) -> float:
        pause = self._retry.pause_after(self.without_secrets(error), attempt)
        return pause if self.on_retry is None else self.on_retry(error, pause)

    def _attempt(self, operation: Operation[_Reply], body: bytes, attempt: int) -> _Reply:
        endpoint = self._endpoints[operation.path]
        with self._endpoint_errors(endpoint), self._connections.client() as http:
            started = perf_counter()
            for _ in range(1 + _MOST_REDIRECTS):
                begin = self._begin(endpoint, started)
                with http.stream("POST", endpoint.url, content=body, headers=self._headers) as response:
                    incoming = begin(response.status_code, response.headers)
                    for chunk in response.iter_bytes():
                        incoming.feed(chunk)
                        if self._timeout is not None and perf_counter() - started > self._timeout:
                            raise self._too_slow(endpoint)
                moved = incoming.redirected()
                if moved is None:
                    return incoming.reply(operation, attempt)
                endpoint = moved
            raise self._endless_redirects(endpoint)

    async def _async_attempt(self, operation: Operation[_Reply], body: bytes, attempt: int) -> _Reply:
        endpoint = self._endpoints[operation.path]
        send = self._direct if self._is_direct else self._through_httpx
        with self._endpoint_errors(endpoint):
            started = perf_counter()
            for _ in range(1 + _MOST_REDIRECTS):
                left = None if self._timeout is None else max(0.0, self._timeout + started - perf_counter())
                incoming = await send(endpoint, body, self._begin(endpoint, started), left)
                moved = incoming.redirected()
                if moved is None:
                    return incoming.reply(operation, attempt)
                endpoint = moved
            raise self._endless_redirects(endpoint)

    async def _direct(self, endpoint: Endpoint, body: bytes, begin: Begin, seconds: float | None) -> IncomingResponse:
        post = self._posts.get(endpoint.url) or DirectPost(endpoint, self._headers)
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
            return IncomingResponse(endpoint, status, headers, started, self.failure_headers, self._redaction)

        return begin

    def _body(self, fields: Mapping[str, Any], stream: bool = False) -> bytes:
        request = {"model": self.model, **fields}
        if stream:
            request = {**request, "stream": True}
            request.setdefault("stream_options", {"include_usage": True})
        present = {name: value for name, value in request.items() if value is not None}
        try:
            return _JSON.encode(present).encode()
        except UnicodeEncodeError:  # lone surrogates travel as escapes
            return json.dumps(present, allow_nan=False).encode("ascii")

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
                f"{where} sent a compressed body that cannot be read: {_reason(error)}.", retryable=True
            ) from error
        except httpx.ProxyError as error:
            raise EndpointUnreachableError(
                f"{where} cannot be reached through the HTTP proxy: {_reason(error)}.",
                retryable="407" not in str(error),
            ) from error
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, UnicodeError) as error:  # the last: a host's name
            raise EndpointError(f"{where} cannot be asked: {_reason(error)}.") from None
        except httpx.TransportError as error:
            raise EndpointUnreachableError(
                f"{where} broke the connection before the reply was complete: {_reason(error)}.", retryable=True
            ) from error

    def _too_slow(self, endpoint: Endpoint) -> EndpointTimeoutError:
        return EndpointTimeoutError(
            f"{endpoint.shown} gave no complete reply within {self._timeout:g} s (timeout).", retryable=True
        )

    def _endless_redirects(self, endpoint: Endpoint) -> RedirectRefusedError:
        return RedirectRefusedError(f"{endpoint.shown} redirects more than {_MOST_REDIRECTS} times.")


def _list_of(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise TypeError("embed takes a list of texts; write [text] for one.")
    return list(texts)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__

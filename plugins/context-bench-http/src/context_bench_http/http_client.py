"""The client of every other client: a request goes out, from a thread or an event loop, and its response comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from context_bench_http.background_loop import BACKGROUND
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import EndpointTimeoutError, RedirectRefusedError
from context_bench_http.incoming import Begin, IncomingResponse, Response
from context_bench_http.network import Network
from context_bench_http.request import HttpRequest

_MAX_REDIRECTS = 3
_MAX_SECONDS = 86_400
"""The longest timeout: a day. Far longer ones do not fit into the clocks of sockets."""


class HttpClient:
    """Sends requests, from any thread (`send`) or event loop (`asend`). Both follow one set of rules.

    A request that a thread sends travels on an event loop in the background. Redirects are followed on the same host only.

    Args:
        network: Proxies and certificates.
        timeout: Seconds for a request as a whole, from the look-up of the server's name to the last byte of the body,
            redirects included; None for no limit.

    Raises:
        ValueError: The timeout cannot be used.
    """

    def __init__(self, network: Network, timeout: float | None) -> None:
        if timeout is not None and not 0 < timeout <= _MAX_SECONDS:
            raise ValueError(
                f"timeout must be seconds above 0 and up to {_MAX_SECONDS:,}, or None for no limit, not {timeout!r}."
            )
        # The HTTP library is loaded here: before the first request, whose time is measured, and not by `plugins list`.
        from context_bench_http.transport import Transport

        self.timeout = timeout
        self._transport = Transport(network)

    def send(self, request: HttpRequest, begin: Begin[Response]) -> Response:
        """Return the response to a request, from a thread.

        Args:
            request: The request.
            begin: Makes what takes the response, of endpoint, status and headers (names in lower case).

        Raises:
            EndpointError: The response did not come, or not whole; or what takes it refused it.
        """
        return BACKGROUND.run(self.asend(request, begin))

    async def asend(self, request: HttpRequest, begin: Begin[Response]) -> Response:
        """Return the response to a request without blocking the event loop; see `send`."""
        started = perf_counter()
        for _ in range(1 + _MAX_REDIRECTS):
            seconds = None
            if self.timeout is not None:
                seconds = self.timeout + started - perf_counter()
            try:
                response = await self._transport.send(request, begin, seconds)
            except asyncio.TimeoutError:
                raise self._too_slow(request) from None
            destination = response.redirected()
            if destination is None:
                return response
            request = replace(request, endpoint=destination)
        raise RedirectRefusedError(
            f"{request.endpoint.shown} redirects more than {_MAX_REDIRECTS} times."
        )

    def fetch(self, request: HttpRequest) -> IncomingResponse:
        """Return the response to a request with its body, whatever its status is; see `send`."""
        return self.send(request, IncomingResponse)

    def fetch_url(
        self, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> IncomingResponse:
        """Return the response of a URL to a ``GET``, or to a ``POST`` of a body, whatever its status is; see `send`.

        Raises:
            EndpointURLError: It is no URL.
            EndpointError: The response did not come, or not whole.
        """
        method = "GET" if body is None else "POST"
        return self.fetch(HttpRequest(method, Endpoint.of_url(url), headers or {}, body))

    def close(self) -> None:
        """Close the connections of the threads; a later call opens new ones."""
        if BACKGROUND.is_running:
            BACKGROUND.run(self._transport.aclose())

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        await self._transport.aclose()

    def _too_slow(self, request: HttpRequest) -> EndpointTimeoutError:
        return EndpointTimeoutError(
            f"{request.endpoint.shown} gave no complete reply within {self.timeout:g} s (timeout).",
            retryable=True,
        )

"""The client of model servers: it posts JSON and reads what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from context_bench_http.dialect import Dialect
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import EndpointError
from context_bench_http.headers import FailureHeaders
from context_bench_http.http_client import HttpClient
from context_bench_http.incoming import IncomingReply, IncomingResponse
from context_bench_http.network import Network
from context_bench_http.redaction import Redactor
from context_bench_http.request import HttpRequest
from context_bench_http.request_headers import added_headers

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_Reply = TypeVar("_Reply")
_Client = TypeVar("_Client", bound="JsonClient")


class JsonClient:
    """Posts JSON to a server, from any thread (`post`) or event loop (`apost`): one request for each call.

    One client holds one pool of connections; share it. It never waits or repeats a request: its errors carry ``retryable``
    and ``retry_after``, by which the runner does.

    Args:
        endpoint: The server.
        headers: Headers of every request, names in lower case.
        redactor: What hides the secrets among them.
        dialect: The interface that the server speaks.
        network: Proxies and certificates.
        timeout: Seconds for a request as a whole, from connecting to the last byte; None for no limit.
        failure_headers: Response headers that make a reply a failure.

    Attributes:
        endpoint: The server.
        failure_headers: Response headers that make a reply a failure.

    Raises:
        ValueError: An argument cannot be used.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        headers: Mapping[str, str],
        redactor: Redactor,
        dialect: Dialect,
        network: Network,
        timeout: float | None,
        failure_headers: FailureHeaders,
    ) -> None:
        self.endpoint = endpoint
        self.failure_headers = failure_headers
        self._headers = dict(headers)
        self._redactor = redactor
        self._dialect = dialect
        self._http = HttpClient(network, timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint.shown!r})"

    def post(self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply]) -> _Reply:
        """Return the reply to a body.

        Args:
            endpoint: Where to.
            body: The body, as `encoded` makes it.
            read: Makes the reply, of the endpoint as it may be shown, the content, and ``headers``, ``latency``, ``ttft``.

        Raises:
            EndpointError: No usable reply came.
        """
        request = self._request("POST", endpoint, body)
        with self._redacted_errors():
            return self._http.send(request, self._begin()).reply(read)

    async def apost(self, endpoint: Endpoint, body: bytes, read: Callable[..., _Reply]) -> _Reply:
        """Return the reply to a body without blocking the event loop; see `post`."""
        request = self._request("POST", endpoint, body)
        with self._redacted_errors():
            incoming = await self._http.asend(request, self._begin())
            return incoming.reply(read)

    def fetch(self, endpoint: Endpoint) -> IncomingResponse:
        """Return the response to a ``GET``, whatever its status is.

        Raises:
            EndpointError: None came.
        """
        with self._redacted_errors():
            return self._http.fetch(self._request("GET", endpoint, None))

    def without_secrets(self, error: EndpointError) -> EndpointError:
        """Return an error with the secrets of this client taken out of its message."""
        error.message = self._redactor.redact(error.message)
        error.args = (error.message,)
        return error

    def close(self) -> None:
        """Close the connections of the threads."""
        self._http.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self._http.aclose()

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self: _Client) -> _Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _request(self, method: str, endpoint: Endpoint, body: bytes | None) -> HttpRequest:
        headers = {**self._headers, **added_headers()}
        return HttpRequest(method, endpoint, headers=headers, body=body)

    def _begin(self) -> Callable[[Endpoint, int, Mapping[str, str]], IncomingReply]:
        return partial(
            IncomingReply,
            started=perf_counter(),
            failure_headers=self.failure_headers,
            redactor=self._redactor,
            dialect=self._dialect,
        )

    @contextmanager
    def _redacted_errors(self) -> Iterator[None]:
        try:
            yield
        except EndpointError as error:
            self.without_secrets(error)
            raise


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

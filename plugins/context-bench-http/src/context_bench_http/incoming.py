"""One HTTP response on its way in: bytes go in, a reply or an error comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Protocol, TypeVar

from context_bench_http.dialect import Dialect
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import (
    DeclaredFailureError,
    EndpointError,
    RedirectRefusedError,
    UnusableReplyError,
)
from context_bench_http.headers import FailureHeaders, recorded_headers
from context_bench_http.redaction import Redactor
from context_bench_http.retrying import wait_asked_for

MAX_BODY = 64 * 1024 * 1024
"""The most bytes of a body, decompressed."""

_LONG_WAIT = 60.0
"""Seconds from which on an error names how long its server asks to wait: the runner may give up instead."""
_REDIRECTS = (301, 302, 303, 307, 308)
_Reply = TypeVar("_Reply")
Response = TypeVar("Response", bound="IncomingResponse")
_Response_co = TypeVar("_Response_co", bound="IncomingResponse", covariant=True)


class Begin(Protocol[_Response_co]):
    """Makes what takes a response, once its head is in."""

    def __call__(
        self, endpoint: Endpoint, status: int, headers: Mapping[str, str], /
    ) -> _Response_co:
        """Return what takes the response of an endpoint, of its status and headers."""
        ...


class IncomingResponse:
    """Collects a response; knows nothing of sockets.

    Args:
        endpoint: Where the request went.
        status: The HTTP status.
        headers: The response headers, names in lower case.

    Attributes:
        endpoint, status, headers: As above.
    """

    def __init__(self, endpoint: Endpoint, status: int, headers: Mapping[str, str]) -> None:
        self.endpoint = endpoint
        self.status = status
        self.headers = headers
        self._size = 0
        self._chunks: list[bytes] = []

    @property
    def body(self) -> bytes:
        """The decoded body."""
        return b"".join(self._chunks)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the decoded body.

        Raises:
            UnusableReplyError: They are too many.
        """
        self._size += len(chunk)
        if self._size > MAX_BODY:
            raise UnusableReplyError(
                f"{self.endpoint.shown} sent more than {MAX_BODY >> 20} MiB for one reply.",
                status=self.status,
            )
        self.take(chunk)

    def take(self, chunk: bytes) -> None:
        """Store bytes of the decoded body, whose number is checked."""
        self._chunks.append(chunk)

    def redirected(self) -> Endpoint | None:
        """Return where to send the request instead, or None when this response is the answer.

        Raises:
            RedirectRefusedError: It points to another host.
        """
        location = self.headers.get("location")
        if self.status not in _REDIRECTS or not location:
            return None
        destination = self.endpoint.follow(location)
        if destination is None or self.status == 303:
            raise RedirectRefusedError(
                f"{self.endpoint.shown} redirects ({self.status}) to {_without_query(location)}. "
                "Neither prompt nor key is sent there; give that address as the base URL if you trust it.",
                status=self.status,
            )
        return destination


class IncomingReply(IncomingResponse):
    """Collects a response, and reads the reply that it holds.

    Args:
        endpoint: Where the request went.
        status: The HTTP status.
        headers: The response headers, names in lower case.
        started: ``perf_counter()`` when the request was sent.
        failure_headers: The headers by which a proxy admits a failure.
        redactor: What hides secrets in the headers that are recorded.
        dialect: The interface that the server speaks.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        status: int,
        headers: Mapping[str, str],
        *,
        started: float,
        failure_headers: FailureHeaders,
        redactor: Redactor,
        dialect: Dialect,
    ) -> None:
        super().__init__(endpoint, status, headers)
        self._started = started
        self._failure_headers = failure_headers
        self._redactor = redactor
        self._dialect = dialect
        self._ttft: float | None = None
        content_type = headers.get("content-type", "").lower()
        is_stream = status == 200 and content_type.startswith("text/event-stream")
        self._stream = dialect.stream(endpoint.shown) if is_stream else None

    def take(self, chunk: bytes) -> None:
        """Store bytes of the decoded body, or hand them to the stream that they belong to."""
        if self._stream is None:
            super().take(chunk)
            return
        self._stream.feed(chunk)
        if self._ttft is None and self._stream.has_token:
            self._ttft = perf_counter() - self._started

    def reply(self, read: Callable[..., _Reply]) -> _Reply:
        """Return the reply of the complete response.

        Args:
            read: Makes the reply, of the endpoint as it may be shown, the content, and ``headers``, ``latency``, ``ttft``.

        Raises:
            EndpointError: The response is no usable reply.
        """
        redacted = {
            name: self._redactor.redact(value) for name, value in self.headers.items() if value
        }
        headers = recorded_headers(redacted)
        try:
            return self._read(read, headers)
        except EndpointError as error:
            error.headers = headers
            if error.retry_after is None:
                error.retry_after = wait_asked_for(self.headers)
            if error.retry_after is not None and error.retry_after >= _LONG_WAIT:
                words = error.message.rstrip(".")
                error.message = f"{words}. It asks to wait {error.retry_after:.0f} s."
            raise

    def _read(self, read: Callable[..., _Reply], headers: Mapping[str, str]) -> _Reply:
        where = self.endpoint.shown
        if not 200 <= self.status < 300:
            # Secrets go before anything of the body is cut off.
            body = self._redactor.redact_bytes(self.body)
            raise self._dialect.refusal(where, self.status, self.headers, body)
        declared = self._failure_headers.found_in(self.headers)
        if declared is not None:
            raise DeclaredFailureError(
                f"{where} says that it did not do its work: {declared}.", status=self.status
            )
        content = self._json() if self._stream is None else self._stream.content()
        return read(
            where,
            content,
            headers=headers,
            latency=perf_counter() - self._started,
            ttft=self._ttft,
        )

    def _json(self) -> Any:
        body = self.body
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._not_json(body) from None

    def _not_json(self, body: bytes) -> EndpointError:
        content = "an empty body"
        if body.strip():
            beginning = self._redactor.redact_bytes(body)[:120].decode("utf-8", "replace")
            content = f"a body that is no JSON: {beginning!r}"
        # Without a length, a connection that broke looks like one that ended.
        may_be_cut = not self.headers.keys() & {"content-length", "transfer-encoding"}
        return UnusableReplyError(
            f"{self.endpoint.shown} answered {self.status} with {content}",
            status=self.status,
            retryable=may_be_cut,
        )


def _without_query(location: str) -> str:
    printable = "".join(c for c in location.partition("?")[0] if c.isprintable())
    scheme, separator, rest = printable[:300].partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"

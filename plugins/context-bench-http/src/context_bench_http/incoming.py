"""One HTTP response on its way in: bytes go in, a reply or an error comes out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
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
_AFTER_FINISH = 5.0
"""Seconds in which counts and the end of a stream follow the model's last token; then the reply is complete."""
_STREAM_STARTS = (b"data:", b"event:")
_REDIRECTS = (301, 302, 303, 307, 308)
_CHARSET = re.compile(r"charset\s*=\s*\"?([\w.:-]+)", re.IGNORECASE)
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

    @property
    def is_complete(self) -> bool:
        """Whether nothing of the response is to come, also where the connection stays open."""
        return False

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the next bytes; None waits as long as the request may take."""
        return None

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
        """Store bytes of the decoded body, or hand them to the stream that they belong to.

        A body that begins as an event stream does is one, whatever its ``Content-Type`` says.
        """
        is_first = self._stream is None and not self._chunks and self.status == 200
        if is_first and chunk.lstrip().startswith(_STREAM_STARTS):
            self._stream = self._dialect.stream(self.endpoint.shown)
        if self._stream is None:
            super().take(chunk)
            return
        self._stream.feed(chunk)
        if self._ttft is None and self._stream.has_token:
            self._ttft = perf_counter() - self._started

    @property
    def is_complete(self) -> bool:
        """Whether the stream has ended."""
        return self._stream is not None and self._stream.is_complete

    @property
    def patience(self) -> float | None:
        """Seconds to wait for what may follow the end of the reply in a stream; None before that."""
        has_finished = self._stream is not None and self._stream.has_finished
        return _AFTER_FINISH if has_finished else None

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
        for text in self._readings(body):
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                continue
        raise self._not_json(body)

    def _readings(self, body: bytes) -> Iterator[bytes | str]:
        """Yield a body as JSON may be read from it: as it is, in its declared encoding, without comments above it."""
        yield body
        charset = _CHARSET.search(self.headers.get("content-type", ""))
        if charset is not None:
            with suppress(LookupError, UnicodeDecodeError):
                yield body.decode(charset[1])
        if body.lstrip().startswith(b":"):  # keep-alive comments, as in an event stream
            lines = body.splitlines(keepends=True)
            yield b"".join(line for line in lines if not line.startswith(b":"))

    def _not_json(self, body: bytes) -> EndpointError:
        content = "an empty body"
        if body.strip():
            beginning = self._redactor.redact_bytes(body)[:120].decode("utf-8", "replace")
            content = f"a body that is no JSON: {beginning!r}"
        # Without a length, a connection that broke looks like one that ended; compressed bytes may end early unnoticed.
        has_length = bool(self.headers.keys() & {"content-length", "transfer-encoding"})
        may_be_cut = "content-encoding" in self.headers or not has_length
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

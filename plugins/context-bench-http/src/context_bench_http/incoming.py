"""One HTTP response on its way in: bytes go in, a reply or an error comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, TypeVar

from context_bench_http.dialect import Dialect
from context_bench_http.endpoint import Endpoint
from context_bench_http.errors import (
    DeclaredFailureError,
    EndpointError,
    RedirectRefusedError,
    UnusableReplyError,
)
from context_bench_http.headers import FailureHeaders, recorded_headers
from context_bench_http.redaction import Redaction
from context_bench_http.retrying import wait_asked_for

_LARGEST_BODY = 64 * 1024 * 1024
_Reply = TypeVar("_Reply")


class IncomingResponse:
    """Collects a response; knows nothing of sockets, so that threads and event loops share it.

    Args:
        endpoint: Where the request went.
        status: The HTTP status.
        headers: The response headers.
        started: ``perf_counter()`` when the request was sent.
        failure_headers: The headers by which a proxy admits a failure.
        redaction: What hides secrets in the headers that are recorded.
        dialect: The interface that the server speaks.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        status: int,
        headers: Mapping[str, str],
        started: float,
        failure_headers: FailureHeaders,
        redaction: Redaction,
        dialect: Dialect,
    ) -> None:
        self._endpoint = endpoint
        self._status = status
        self._headers = headers
        self._started = started
        self._failure_headers = failure_headers
        self._redaction = redaction
        self._dialect = dialect
        self._size = 0
        self._chunks: list[bytes] = []
        self._ttft: float | None = None
        is_stream = status == 200 and headers.get("content-type", "").lower().startswith(
            "text/event-stream"
        )
        self._stream = dialect.stream(endpoint.shown) if is_stream else None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the decoded body."""
        self._size += len(chunk)
        if self._size > _LARGEST_BODY:
            raise UnusableReplyError(
                f"{self._endpoint.shown} sent more than {_LARGEST_BODY >> 20} MiB for one reply.",
                status=self._status,
            )
        if self._stream is None:
            self._chunks.append(chunk)
            return
        self._stream.feed(chunk)
        if self._ttft is None and self._stream.has_token:
            self._ttft = perf_counter() - self._started

    def redirected(self) -> Endpoint | None:
        """Return where to send the request instead, or None when this response is the answer.

        Raises:
            RedirectRefusedError: It points to another host.
        """
        location = self._headers.get("location")
        if self._status not in (301, 302, 303, 307, 308) or not location:
            return None
        there = self._endpoint.follow(location)
        if there is None or self._status == 303:
            raise RedirectRefusedError(
                f"{self._endpoint.shown} redirects ({self._status}) to {_without_query(location)}. "
                "Neither prompt nor key is sent there; give that address as the base URL if you trust it.",
                status=self._status,
            )
        return there

    def reply(self, read: Callable[..., _Reply], attempt: int) -> _Reply:
        """Return the reply of the complete response.

        Args:
            read: Makes the reply, of the endpoint as it may be shown, the content, and ``headers``, ``latency``, ``ttft``,
                ``attempts``.
            attempt: Which request this was, counted from 1.

        Raises:
            EndpointError: The response is no usable reply.
        """
        headers = recorded_headers(
            {name: self._redaction.of(value) for name, value in self._headers.items() if value}
        )
        try:
            return self._read(read, headers, attempt)
        except EndpointError as error:
            error.headers = headers
            if error.retry_after is None:
                error.retry_after = wait_asked_for(self._headers)
            raise

    def _read(
        self, read: Callable[..., _Reply], headers: Mapping[str, str], attempt: int
    ) -> _Reply:
        if not 200 <= self._status < 300:
            body = self._redaction.of_bytes(
                b"".join(self._chunks)
            )  # before anything of it is cut off
            raise self._dialect.refusal(self._endpoint.shown, self._status, self._headers, body)
        declared = self._failure_headers.found_in(self._headers)
        if declared is not None:
            raise DeclaredFailureError(
                f"{self._endpoint.shown} says that it did not do its work: {declared}.",
                status=self._status,
            )
        content = self._stream.content() if self._stream is not None else self._json()
        return read(
            self._endpoint.shown,
            content,
            headers=headers,
            latency=perf_counter() - self._started,
            ttft=self._ttft,
            attempts=attempt,
        )

    def _json(self) -> Any:
        body = b"".join(self._chunks)
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise self._not_json(body) from None

    def _not_json(self, body: bytes) -> EndpointError:
        beginning = self._redaction.of_bytes(body)[:120].decode("utf-8", "replace")
        what = f"a body that is no JSON: {beginning!r}" if body.strip() else "an empty body"
        # Without a length, a connection that broke looks like one that ended.
        may_be_cut = not self._headers.keys() & {"content-length", "transfer-encoding"}
        return UnusableReplyError(
            f"{self._endpoint.shown} answered {self._status} with {what}",
            status=self._status,
            retryable=may_be_cut,
        )


def _without_query(location: str) -> str:
    shown = "".join(c for c in location.partition("?")[0] if c.isprintable())[:300]
    scheme, separator, rest = shown.partition("//")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"

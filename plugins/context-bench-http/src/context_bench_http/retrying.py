"""How long a server asks to wait, and the repeated requests of evaluators."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeVar

from context_bench_http.errors import EndpointError
from context_bench_limits.rates import Rates

_TOO_OFTEN = (429, 529)
_USUAL_RETRIES = 3
_MAX_REFUSALS = 10
_LONGEST_PAUSE = 60.0
_LONGEST_WAIT = 300.0
_LONGEST_BASE_DELAY = 86_400


class Reply(Protocol):
    """What `Retries` reads of a reply to learn the limits of its endpoint."""

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens by kind."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers, names in lower case."""


_Reply = TypeVar("_Reply", bound=Reply)


class Retries:
    """Repeats the requests of an evaluator that failed and may succeed later.

    The runner repeats the calls of systems. It does not repeat evaluators: one judgement consists of several requests, and
    a repeated judgement would send, and pay for, all of them again. So the single request is repeated here, and nowhere else.

    A refusal (429, 529, or 503 with ``Retry-After``) holds for all requests: each waits until the endpoint is expected to
    accept it. Other failures wait a random time up to ``base_delay * 2^k`` seconds, and never less than the server asks.

    Args:
        max_retries: Requests after the first one. A request that is refused is sent up to ten times, unless this is below 3.
        base_delay: Upper bound of the first pause in seconds; it doubles each time.

    Raises:
        ValueError: An argument cannot be used.
    """

    def __init__(self, max_retries: int = _USUAL_RETRIES, base_delay: float = 1.0) -> None:
        if type(max_retries) is not int or max_retries < 0:
            raise ValueError(f"max_retries must be a whole number from 0 up, not {max_retries!r}.")
        if not 0 <= base_delay <= _LONGEST_BASE_DELAY:
            raise ValueError(
                f"retry_base_delay must be seconds from 0 to {_LONGEST_BASE_DELAY:,}, not {base_delay!r}."
            )
        self._max_attempts = 1 + max_retries
        self._max_refusals = self._max_attempts
        if max_retries >= _USUAL_RETRIES:
            self._max_refusals = max(self._max_attempts, _MAX_REFUSALS)
        self._base_delay = base_delay
        self._rates = Rates(None, None, {})
        self._lock = threading.Lock()

    def call(self, request: Callable[[], _Reply]) -> _Reply:
        """Return the reply to a request, from any thread.

        Raises:
            EndpointError: The last attempt failed; it counts the attempts.
        """
        attempt = 1
        while True:
            while (wait := self._enter()) > 0:
                time.sleep(wait)
            started = time.monotonic()
            try:
                return self._answered(request(), started)
            except EndpointError as error:
                pause = self._pause_after(error, started, attempt)
            time.sleep(pause)
            attempt += 1

    async def acall(self, request: Callable[[], Awaitable[_Reply]]) -> _Reply:
        """Return the reply to a request without blocking the event loop; see `call`."""
        attempt = 1
        while True:
            while (wait := self._enter()) > 0:
                await asyncio.sleep(wait)
            started = time.monotonic()
            try:
                return self._answered(await request(), started)
            except EndpointError as error:
                pause = self._pause_after(error, started, attempt)
            await asyncio.sleep(pause)
            attempt += 1

    def _enter(self) -> float:
        """Count a request and return 0; or return the seconds after which to try again."""
        with self._lock:
            now = time.monotonic()
            wait = self._rates.wait(now, 0)
            if wait <= 0:
                self._rates.sent(now, 0)
        return max(0.0, wait)

    def _answered(self, reply: _Reply, started: float) -> _Reply:
        tokens = reply.usage.get("input_tokens", 0) + reply.usage.get("output_tokens", 0)
        with self._lock:
            now = time.monotonic()
            self._rates.answered(now, now - started, tokens, 0, reply.headers)
        return reply

    def _pause_after(self, error: EndpointError, started: float, attempt: int) -> float:
        """Return the seconds to wait before the next attempt; those after a refusal are waited for in `_enter`.

        Raises:
            EndpointError: The error itself, when it is not to be repeated, or was repeated often enough.
        """
        error.attempts = attempt
        is_refused = _is_refusal(error)
        if is_refused:
            with self._lock:
                now = time.monotonic()
                self._rates.refused(now, now - started, error.retry_after, error.headers)
        wait = error.retry_after or 0.0
        limit = self._max_refusals if is_refused else self._max_attempts
        if not error.retryable or attempt >= limit or wait > _LONGEST_WAIT:
            raise error
        if is_refused:
            return 0.0
        longest = min(_LONGEST_PAUSE, self._base_delay * 2.0 ** min(attempt - 1, 32))
        return max(wait, random.uniform(0.0, longest))


def _is_refusal(error: EndpointError) -> bool:
    is_later = error.status == 503 and error.retry_after is not None
    return error.retryable and (error.status in _TOO_OFTEN or is_later)


def wait_asked_for(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a response asks to wait: ``Retry-After`` as a number or a date, or ``retry-after-ms``.

    A date is measured against the response's own ``Date``, so that a wrong clock on either side does no harm.

    >>> wait_asked_for({"retry-after": "7"})
    7.0
    >>> wait_asked_for({"retry-after": "Thu, 01 Jan 2026 00:00:09 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"})
    9.0
    """
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    until = _date(text)
    if until is None:
        return None
    start = _date(headers.get("date")) or now or datetime.now(timezone.utc)
    return max(0.0, (until - start).total_seconds())


def _seconds(text: str | None) -> float | None:
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except (TypeError, ValueError, IndexError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)

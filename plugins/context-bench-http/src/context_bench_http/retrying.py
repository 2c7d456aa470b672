"""When to ask again, and how long to wait before."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TypeVar

from context_bench_http.errors import EndpointError

_Reply = TypeVar("_Reply")
MAX_SECONDS = 86_400
"""The longest time that anything here may be told to take: a day. Far longer ones do not fit into the clocks of sockets."""


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with full jitter, never shorter than the server asked for.

    Full jitter (a uniform draw from zero to the backoff) spreads the clients that one overload hit together; see
    M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.

    Attributes:
        max_retries: Requests after the first one.
        base_delay: Upper bound of the first pause in seconds; it doubles with each attempt.
        max_delay: Upper bound of every pause that we choose.
        longest_wait: A server that asks for more seconds than this is given up at once.
    """

    max_retries: int = 3
    base_delay: float = 1.0
    max_delay: float = 60.0
    longest_wait: float = 300.0
    _random: random.Random = field(default_factory=random.Random, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.max_retries) is not int or self.max_retries < 0:
            raise ValueError(
                f"max_retries must be a whole number from 0 up, not {self.max_retries!r}."
            )
        if not 0 <= self.base_delay <= MAX_SECONDS:
            raise ValueError(
                f"retry_base_delay must be seconds from 0 to {MAX_SECONDS:,}, not {self.base_delay!r}."
            )

    def pause_after(self, error: EndpointError, attempt: int) -> float:
        """Return the seconds to wait before the next attempt.

        Raises:
            EndpointError: The error itself, with its attempts counted, when asking again is of no use.
        """
        error.attempts = attempt
        asked = error.retry_after or 0.0
        if not error.retryable or attempt > self.max_retries:
            raise error
        if asked > self.longest_wait:
            error.message += f" It asks to wait {asked:.0f} s, longer than the {self.longest_wait:.0f} s allowed."
            raise error
        ceiling = min(self.max_delay, self.base_delay * 2.0 ** min(attempt - 1, 32))
        return max(asked, self._random.uniform(0.0, ceiling))


class Retries:
    """Calls again what failed and may succeed later: the one place of the packages that does, from threads and event loops.

    Args:
        policy: When to call again.

    Attributes:
        policy: When to call again.
        on_retry: Receives each error after which the call is repeated, and the seconds until then; returns the seconds to wait
            instead, or raises to have the call not repeated here.
    """

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        self.on_retry: Callable[[EndpointError, float], float] | None = None

    def call(self, attempt: Callable[[int], _Reply]) -> _Reply:
        """Return the result of a call that is given the number of the attempt, from 1.

        Raises:
            EndpointError: The last attempt failed; it counts the attempts.
        """
        for number in count(1):
            try:
                return attempt(number)
            except EndpointError as error:
                pause = self._pause_after(error, number)
            time.sleep(pause)
        raise AssertionError("unreachable")

    async def acall(self, attempt: Callable[[int], Awaitable[_Reply]]) -> _Reply:
        """Return the result of a call without blocking the event loop; see `call`."""
        for number in count(1):
            try:
                return await attempt(number)
            except EndpointError as error:
                pause = self._pause_after(error, number)
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    def _pause_after(self, error: EndpointError, number: int) -> float:
        pause = self.policy.pause_after(error, number)
        return pause if self.on_retry is None else self.on_retry(error, pause)


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

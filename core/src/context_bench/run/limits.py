"""Limits: how often and how many at once an endpoint is asked, and who waits for it.

The number in flight is kept here, the rate by a :class:`~context_bench.protocols.RateLimiter`: a
package that learns limits brings it, else :mod:`context_bench.run.rates` does. All places are used
from the beginning. Only after a refusal by an endpoint whose rate nobody knows fewer requests are
sent at once, and more with each answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from itertools import chain
from threading import Lock
from time import monotonic
from typing import Any

from attrs import frozen

from context_bench.errors import message_of
from context_bench.protocols import RateLimiter
from context_bench.run.stopping import RefusedError

_WORTH_TELLING = 1.0
_SHARE_AFTER_REFUSAL = 0.25
_ONLY_REFUSALS = 120.0


class OwnPause(float):
    """Seconds that we hold a call back of our own accord, which is no waiting for the endpoint."""


FULL = OwnPause(0.0625)
"""What whoever asks for leave is told when as many calls are in flight as may be: whoever ends one
says so."""


class EndpointState:
    """The way to one endpoint; slots that ask the same endpoint share it.

    Attributes:
        endpoint: Its address; None for a system that has none.
        limiter: Its limits.
        line: Who waits for them.
    """

    def __init__(self, endpoint: str | None, limiter: Limiter) -> None:
        self.endpoint = endpoint
        self.limiter = limiter
        self.line = Line()
        self._refused_since: float | None = None
        self._waits: tuple[float, str] | None = None

    def answered(self) -> None:
        """Take note that the endpoint has answered."""
        self._refused_since = self._waits = None

    def enter(self, tokens: int) -> float:
        """Take a place and return 0; or return the seconds after which to ask for one again.

        Args:
            tokens: What the request is thought to have.
        """
        wait = self.limiter.enter(tokens)
        if wait > 0:
            if wait != FULL:
                self.wait(wait)
            self.line.note(wait, monotonic())
        return wait

    def wait(self, seconds: float, what: str = "for the rate limit of {}") -> None:
        """Take note that calls wait for something, until the endpoint answers again."""
        self._waits = monotonic() + seconds, what

    @property
    def waiting(self) -> str | None:
        """What its calls wait for, for a second or more; None where one of them goes ahead."""
        until, what = self._waits or (0.0, "")
        left = until - monotonic()
        return (
            f"{left:.0f} s {what.format(self.endpoint or 'the system')}"
            if left >= _WORTH_TELLING
            else None
        )

    def check(self, error: BaseException) -> None:
        """Take note that the endpoint has refused.

        Raises:
            RefusedError: It has done nothing else for two minutes.
        """
        now = monotonic()
        if self._refused_since is None:
            self._refused_since = now
        elif now - self._refused_since > _ONLY_REFUSALS:
            raise RefusedError(
                f"{self.endpoint or 'The system'} has refused every request for "
                f"{now - self._refused_since:.0f} s (--keep-going goes on): {message_of(error)}"
            )


Wake = Callable[[], None]


@frozen(eq=False)
class Waiter:
    """A call in a line.

    Attributes:
        wake: Ends its sleep.
        throttled: For how long a rate had kept the line standing when it lined up.
    """

    wake: Wake
    throttled: float


class Line:
    """Who waits. Only the first one asks for leave; the others sleep until they are first. Safe to
    use from any thread.

    It also tells for how long a rate, and not our own number of calls in flight, has kept the line
    standing.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._again, self._new = self._waiting = deque[Waiter](), deque[Waiter]()
        self._throttled = 0.0
        self._throttled_since: float | None = None

    def __len__(self) -> int:
        return sum(map(len, self._waiting))

    def join(self, wake: Wake, is_again: bool, now: float) -> Waiter:
        """Line up."""
        with self._lock:
            waiter = Waiter(wake, self._throttled_until(now))
            (self._again if is_again else self._new).append(waiter)
            return waiter

    def is_first(self, waiter: Waiter) -> bool:
        """Whether it is a call's turn."""
        with self._lock:
            return self._first() is waiter

    def leave(self, waiter: Waiter, now: float) -> float:
        """Go, and return the seconds for which a rate has kept this call waiting."""
        with self._lock:
            for waiting in self._waiting:
                if waiter in waiting:
                    waiting.remove(waiter)
            throttled = self._throttled_until(now)
            if self._first() is None:
                self._throttled, self._throttled_since = throttled, None
        self.move()
        return throttled - waiter.throttled

    def move(self) -> None:
        """Have the first one ask again: a place is free. Whoever lines up later asks by itself."""
        if self._again or self._new:
            with self._lock:
                first = self._first()
            if first is not None:
                first.wake()

    def note(self, wait: float, now: float) -> None:
        """Say what :meth:`EndpointState.enter` told the first one: it waits for a rate, or only
        because we hold it back."""
        with self._lock:
            self._throttled = self._throttled_until(now)
            self._throttled_since = None if isinstance(wait, OwnPause) else now

    def _first(self) -> Waiter | None:
        return next(chain(*self._waiting), None)

    def _throttled_until(self, now: float) -> float:
        return self._throttled + (
            0.0 if self._throttled_since is None else max(0.0, now - self._throttled_since)
        )


class Limiter:
    """Says when the next request may be sent to one endpoint. Safe to use from any thread.

    Args:
        most: Requests in flight at most.
        rates: Say how often it may be asked.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        most: int,
        rates: RateLimiter,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._lock = Lock()
        self._most = most
        self._places = float(most)
        self._rates = rates
        self.in_flight = 0

    @property
    def learned(self) -> Mapping[str, Any]:
        """What was learned, for the next session: nothing while nothing was."""
        with self._lock:
            return self._rates.learned()

    def enter(self, tokens: int = 0) -> float:
        """Take a place and return 0; or return the seconds after which to ask for one again.

        Args:
            tokens: What the request is thought to have.
        """
        with self._lock:
            now = self._clock()
            if self.in_flight >= int(self._places):
                return FULL
            wait = self._rates.wait(now, tokens)
            if wait > 0:
                return wait
            self._rates.sent(now, tokens)
            self.in_flight += 1
            return 0.0

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self.in_flight -= 1

    def answered(
        self, seconds: float, tokens: int = 0, headers: Any = None, expected: int = 0
    ) -> None:
        """Learn from an answer.

        Args:
            seconds: How long it took.
            tokens: What it counts against a limit of tokens; 0 when nobody knows.
            headers: Its response headers.
            expected: What :meth:`enter` was told of its tokens.
        """
        with self._lock:
            if self._places < self._most:
                self._places = min(self._most, self._places + 1.0 / self._places)
            self._rates.answered(self._clock(), seconds, tokens, expected, headers)

    def refused(
        self, asked: float | None = None, seconds: float = 0.0, headers: Any = None
    ) -> None:
        """Learn from a refusal.

        Args:
            asked: What its ``Retry-After`` said.
            seconds: How long it took.
            headers: Its response headers.
        """
        with self._lock:
            is_rate_unknown = self._rates.refused(self._clock(), seconds, asked, headers)
            if is_rate_unknown:
                self._places = max(1.0, _SHARE_AFTER_REFUSAL * self._places)

"""Limits: how often and how many at once an endpoint is asked. What it allows is learned from what it refuses and says.

The number in flight is one thing (:mod:`context_bench.runner.growth`), the rate another (:mod:`context_bench.runner.rates`):
requests have one, and tokens have one of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import Any

from context_bench.runner.growth import FULL, Growth, OwnPause, Trial
from context_bench.runner.rate_headers import REQUESTS, TOKENS, advice_in
from context_bench.runner.rates import Rates
from context_bench.runner.stopping import DeadSystemError, message_of

_WORTH_TELLING = 1.0
_GENTLE_SECONDS, _GENTLE_RATE = 0.22, 300.0
_ONLY_REFUSALS = 120.0


class Limiter:
    """Says when the next request may be sent to one endpoint. Safe to use from any thread.

    Args:
        most: Requests in flight at most.
        requests_per_minute: A limit that the user knows; None learns it.
        tokens_per_minute: The same for tokens, input and output together; counted as they become known.
        gentle: Whether to begin with few requests a second, as an endpoint that others use deserves.
        clock: Tells the time in seconds.
        grows: Whether to begin with few requests at once; None does as ``gentle`` says.
        learned: What :attr:`learned` told at the end of an earlier session.
    """

    def __init__(
        self,
        most: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        gentle: bool = False,
        clock: Callable[[], float] = monotonic,
        grows: bool | None = None,
        learned: Mapping[str, Any] | None = None,
    ) -> None:
        self._clock = clock
        self._lock = Lock()
        self._gentle = gentle
        self._begun: float | None = None
        self._gentle_next = 0.0
        self._growth = Growth(most, gentle if grows is None else grows)
        self._rates = Rates(
            None if requests_per_minute is None else requests_per_minute / 60.0,
            None if tokens_per_minute is None else tokens_per_minute / 60.0,
            learned or {},
        )
        self.in_flight = 0

    @property
    def rate(self) -> float | None:
        """Requests per second at most; None while no limit is known."""
        return self._rates.requests.pace

    @property
    def refusals(self) -> int:
        """How often a request was refused."""
        return self._rates.refusals

    @property
    def learned(self) -> dict[str, Any]:
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
            if self._begun is None:
                self._begun = now
            if self.in_flight >= int(self._growth.cap):
                self._growth.wanted(now)
                if self.in_flight >= int(self._growth.cap):
                    return FULL
            wait = self._rates.wait(now, tokens)
            if self._gentle and now - self._begun < _GENTLE_SECONDS and self._gentle_next - now > max(wait, 0.0):
                return OwnPause(self._gentle_next - now)
            if wait > 0:
                return wait
            self._gentle_next = max(self._gentle_next, now - 1.5 / _GENTLE_RATE) + 1.0 / _GENTLE_RATE
            self._rates.sent(now, tokens)
            self.in_flight += 1
            return 0.0

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self.in_flight -= 1

    def answered(self, seconds: float, tokens: int = 0, headers: Any = None, expected: int = 0) -> None:
        """Learn from an answer.

        Args:
            seconds: How long it took.
            tokens: What it counts against a limit of tokens; 0 when nobody knows.
            headers: Its response headers.
            expected: What :meth:`enter` was told of its tokens.
        """
        advice = advice_in(headers) if headers else {}
        with self._lock:
            now = self._clock()
            self._growth.answered(seconds)
            self._rates.answered(now, seconds, tokens, expected, advice.get(REQUESTS), advice.get(TOKENS))

    def refused(self, asked: float | None = None, seconds: float = 0.0, headers: Any = None) -> None:
        """Learn from a refusal.

        Args:
            asked: What its ``Retry-After`` said.
            seconds: How long it took.
            headers: Its response headers.
        """
        advice = advice_in(headers) if headers else {}
        with self._lock:
            self._growth.settle()
            self._rates.refused(self._clock(), seconds, asked, advice.get(REQUESTS), advice.get(TOKENS))


Wake = Callable[[], None]


class Waiter:
    """A call in a line.

    Attributes:
        wake: Ends its sleep.
    """

    __slots__ = ("throttled", "wake")

    def __init__(self, wake: Wake, throttled: float) -> None:
        self.wake = wake
        self.throttled = throttled


class Line:
    """Who waits. Only the first one asks for leave; the others sleep until they are first. Safe to use from any thread.

    It also tells for how long a rate, and not our own number of calls in flight, has kept the line standing.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._again: deque[Waiter] = deque()
        self._new: deque[Waiter] = deque()
        self._throttled = 0.0
        self._throttled_since: float | None = None

    def __len__(self) -> int:
        return len(self._again) + len(self._new)

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
            for waiting in (self._again, self._new):
                if waiter in waiting:
                    waiting.remove(waiter)
            seconds = self._throttled_until(now) - waiter.throttled
            first = self._first()
            if first is None:
                self._throttled, self._throttled_since = self._throttled_until(now), None
        if first is not None:
            first.wake()
        return seconds

    def move(self) -> None:
        """Have the first one ask again: a place is free."""
        with self._lock:
            first = self._first()
        if first is not None:
            first.wake()

    def note(self, wait: float, now: float) -> None:
        """Say what :meth:`Limiter.enter` told the first one: it waits for a rate, or only because we hold it back."""
        with self._lock:
            self._throttled = self._throttled_until(now)
            self._throttled_since = None if isinstance(wait, OwnPause) else now

    def _first(self) -> Waiter | None:
        if self._again:
            return self._again[0]
        return self._new[0] if self._new else None

    def _throttled_until(self, now: float) -> float:
        return self._throttled + (0.0 if self._throttled_since is None else max(0.0, now - self._throttled_since))


class Road:
    """The way to one endpoint; slots that ask the same endpoint share it.

    Attributes:
        endpoint: Its address; None for a system that has none.
        limiter: Its limits.
        line: Who waits for them.
        trial: Holds calls back until it answers.
    """

    def __init__(self, endpoint: str | None, limiter: Limiter, is_trusted: bool = False) -> None:
        self.endpoint = endpoint
        self.limiter = limiter
        self.line = Line()
        self.trial = Trial(is_trusted)
        self._refused_since: float | None = None
        self._waits: tuple[float, str] | None = None

    def answered(self) -> None:
        """Take note that the endpoint has answered."""
        self._refused_since = self._waits = None

    def note(self, wait: float) -> None:
        """Take note of what :meth:`Limiter.enter` told the first one in the line."""
        self.line.note(wait, monotonic())
        if wait != FULL:
            self.wait(wait)

    def wait(self, seconds: float, what: str = "for the rate limit of {}") -> None:
        """Take note that calls wait for something, until the endpoint answers again."""
        self._waits = monotonic() + seconds, what

    @property
    def waiting(self) -> str | None:
        """What its calls wait for, for a second or more; None where one of them goes ahead."""
        until, what = self._waits or (0.0, "")
        left = until - monotonic()
        return f"{left:.0f} s {what.format(self.endpoint or 'the system')}" if left >= _WORTH_TELLING else None

    def check(self, error: BaseException) -> None:
        """Take note that the endpoint has refused.

        Raises:
            DeadSystemError: It has done nothing else for two minutes.
        """
        now = monotonic()
        if self._refused_since is None:
            self._refused_since = now
        elif now - self._refused_since > _ONLY_REFUSALS:
            raise DeadSystemError(
                f"{self.endpoint or 'The system'} has refused every request for {now - self._refused_since:.0f} s "
                f"(--keep-going goes on): {message_of(error)}"
            )


def road_to(
    endpoint: str | None,
    number: int,
    most: int,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
    grows: bool,
    learned: Mapping[str, Mapping[str, Any]],
    is_trusted: bool,
) -> Road:
    """Return the road to an endpoint, or to a slot that names none; see :class:`Admission` for the rest.

    Only an endpoint is asked gently, and few at once in the beginning: a slot without one is asked by nobody else. One that
    is trusted is on no trial.
    """
    is_gentle, before = endpoint is not None, learned.get(endpoint or f"slot {number}")
    known = requests_per_minute, tokens_per_minute
    limiter = Limiter(most, *known, gentle=is_gentle, grows=grows and is_gentle, learned=before)
    return Road(endpoint, limiter, is_trusted)

"""Limits: how often and how many at once an endpoint is asked, and who waits for it.

The number in flight is one thing (:class:`Growth`), the rate another (:class:`~context_bench.protocols.RateLimiter`): a package
that learns limits brings it, else :mod:`context_bench.run.rates` does.
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
from context_bench.run.stopping import DeadSystemError

_WORTH_TELLING = 1.0
_GENTLE_SECONDS, _GENTLE_RATE = 0.22, 300.0
_ONLY_REFUSALS = 120.0


class OwnPause(float):
    """Seconds that we hold a call back of our own accord, which is no waiting for the endpoint."""


FULL = OwnPause(0.0625)
"""What whoever asks for leave is told when as many calls are in flight as may be: whoever ends one says so."""


class EndpointState:
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

    def enter(self, row: int, tokens: int) -> float | None:
        """Take a place and return 0; or return the seconds after which to ask for one again, None when it is not to be.

        Args:
            row: The row that asks.
            tokens: What its request is thought to have.
        """
        wait = 0.0 if self.trial.is_over else self.trial.enter(row, monotonic())
        if wait == 0:
            wait = self.limiter.enter(tokens)
            if wait > 0:
                self.trial.withdraw(row)
                if wait != FULL:
                    self.wait(wait)
        if wait != 0:
            self.line.note(wait or FULL, monotonic())
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
    """Who waits. Only the first one asks for leave; the others sleep until they are first. Safe to use from any thread.

    It also tells for how long a rate, and not our own number of calls in flight, has kept the line standing.
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
        """Say what :meth:`EndpointState.enter` told the first one: it waits for a rate, or only because we hold it back."""
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
        gentle: Whether to begin with few requests a second, as an endpoint that others use deserves.
        clock: Tells the time in seconds.
        grows: Whether to begin with few requests at once; None does as ``gentle`` says.
    """

    def __init__(
        self,
        most: int,
        rates: RateLimiter,
        gentle: bool = False,
        clock: Callable[[], float] = monotonic,
        grows: bool | None = None,
    ) -> None:
        self._clock = clock
        self._lock = Lock()
        self._gentle = gentle
        self._begun: float | None = None
        self._gentle_next = 0.0
        self._growth = Growth(most, gentle if grows is None else grows)
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
            if self._begun is None:
                self._begun = now
            if self.in_flight >= int(self._growth.cap) and self.in_flight >= int(
                self._growth.wanted(now)
            ):
                return FULL
            wait = self._rates.wait(now, tokens)
            if (
                self._gentle
                and now - self._begun < _GENTLE_SECONDS
                and self._gentle_next - now > max(wait, 0.0)
            ):
                return OwnPause(self._gentle_next - now)
            if wait > 0:
                return wait
            if self._gentle:
                self._gentle_next = (
                    max(self._gentle_next, now - 1.5 / _GENTLE_RATE) + 1.0 / _GENTLE_RATE
                )
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
            self._growth.answered(seconds)
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
            self._growth.settle(
                are_fewer=self._rates.refused(self._clock(), seconds, asked, headers)
            )


_FIRST = 8
_STEP, _ROUNDS = 1.0, 2
_UNANSWERED = 16
_STILL_QUICK = 1.5
_FEWER = 0.25
_NEVER = float("inf")


class Growth:
    """Begins with few, and doubles every second, or every other round of answers, as long as they come as quickly as at first.

    That takes a few seconds whether answers take 10 ms or 10 s; where they become slower, the last step is taken back.

    Args:
        most: Requests in flight at most.
        grows: Whether to begin with few; else there are ``most`` from the beginning.
    """

    def __init__(self, most: int, grows: bool) -> None:
        self._most = most
        self._grows = grows
        self.cap = float(min(most, _FIRST)) if grows else float(most)
        self._answers = 0
        self._stepped_at: float | None = None
        self._quickest, self._latest = _NEVER, 0.0
        self._fewer: float | None = None
        self._is_found = False

    def wanted(self, now: float) -> float:
        """Return how many places there are, now that one more was wanted than there were."""
        self._stepped_at = now if self._stepped_at is None else self._stepped_at
        is_due = now - self._stepped_at >= _STEP or self._answers >= _ROUNDS * self.cap
        if self._grows and not self._is_found and self.cap < self._most and is_due:
            is_unanswered = self._quickest == _NEVER and self.cap < _UNANSWERED
            if is_unanswered or self._latest <= _STILL_QUICK * self._quickest < _NEVER:
                self._fewer, self.cap = self.cap, min(self._most, 2 * self.cap)
                self._stepped_at, self._answers = now, 0
        return self.cap

    def answered(self, seconds: float) -> None:
        """Learn from an answer that took so many seconds."""
        self._quickest, self._latest = min(self._quickest, seconds), seconds
        self._answers += 1
        if not self._grows:
            if self.cap < self._most:
                self.cap = min(self._most, self.cap + 1.0 / self.cap)
        elif self._fewer is not None and seconds > _STILL_QUICK * self._quickest:
            self.cap, self._fewer, self._is_found = self._fewer, None, True

    def settle(self, are_fewer: bool) -> None:
        """Grow no more by how quick answers are: from now on a rate is what limits.

        Args:
            are_fewer: Whether nobody knows that rate, so that fewer are asked at once, and more with each answer.
        """
        if are_fewer:
            self.cap = max(1.0, _FEWER * self.cap)
        elif self._grows:
            self.cap = float(self._most)
        self._grows = False


_ON_TRIAL, _REPEATS = 16, 3
_SILENT = 1.0


class Trial:
    """The time until an endpoint answers for the first time, in which repeats and many calls at once are worth little.

    A dead endpoint is to be known by few requests. So there are few calls at once, and the fewer the more have failed; and
    where asking again may help, one call asks again for all: the others wait for what comes of it. Each row is held here
    until it is committed, and so has been looked at. An endpoint that is silent for a second is slow rather than dead: then
    all places are used. Safe to use from any thread.

    Attributes:
        is_over: Whether the endpoint has answered.
        repeating: The row that is asked again for all.
    """

    def __init__(self, is_over: bool = False) -> None:
        self.is_over = is_over
        self._lock = Lock()
        self._rows: dict[int, bool] = {}  # those that are asked, and whether they have failed
        self._failed = self._repeats = 0
        self._began: float | None = None
        self.repeating: int | None = None
        self._next = 0.0

    @property
    def may_repeat(self) -> bool:
        """Whether a call may be asked again."""
        return self._repeats < _REPEATS

    def enter(self, row: int, now: float) -> float | None:
        """Return 0 when a row may be asked, else the seconds after which to try again; None when it is not asked again."""
        if self.is_over:
            return 0.0
        with self._lock:
            if not self._rows.get(row, True) or row == self.repeating:  # it was refused meanwhile
                return 0.0
            if row in self._rows:
                if self.repeating is not None:
                    return FULL
                if not self.may_repeat:
                    return None
                wait = self._next - now
                if wait <= 0:
                    self.repeating, self._repeats = row, self._repeats + 1
                return max(0.0, wait)
            self._began = now if self._began is None else self._began
            is_silent = not self._failed and now - self._began >= _SILENT
            if len(self._rows) >= max(1, _ON_TRIAL - self._failed) and not is_silent:
                return FULL
            self._rows[row] = False
            return 0.0

    def withdraw(self, row: int) -> None:
        """Take back that a row is asked: it has to wait for something else."""
        with self._lock:
            if self.repeating == row:
                self.repeating, self._repeats = None, self._repeats - 1
            elif not self._rows.get(row, True):
                del self._rows[row]

    def failed(self, row: int, pause: float, now: float) -> float:
        """Take note that the call of a row has failed, and return the seconds until one asks again.

        Args:
            row: The row.
            pause: What the call itself would have paused for; it is doubled with each repeat.
            now: The moment.
        """
        with self._lock:
            if not self._rows.get(row, True):
                self._failed += 1
                self._rows[row] = True
            if self.repeating == row:
                self.repeating = None
            self._next = max(self._next, now + pause * 2.0**self._repeats)
            return self._next - now

    def ended(self, row: int) -> None:
        """Take note that a row without an answer is committed."""
        with self._lock:
            if self._rows.pop(row, True) is False:
                self._failed += 1
            if self.repeating == row:
                self.repeating = None

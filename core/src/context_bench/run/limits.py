"""Limits of endpoints: how often and how many at once an endpoint is called, and who waits.

The number of calls in flight is limited here, and the rate by a
:class:`~context_bench.protocols.RateLimiter`. An extension that learns limits provides it (hook
``rate_limiter``), or else :class:`EvenRates` does. All calls that are allowed start at once. Only
after a refusal by an endpoint of unknown rate fewer requests are sent at once, and more with each
answer.
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
from context_bench.run.admission import LONGEST_OF_REQUESTED
from context_bench.run.stopping import RefusedError

_WORTH_REPORTING = 1.0
_SHARE_AFTER_REFUSAL = 0.25
_ONLY_REFUSALS = 120.0

_CATCH_UP = 1.5
_PAUSE = 1.0
_LONGEST_PAUSE = 300.0
_LONG = 10.0
_AT_ONCE = 1e-6


class LocalDelay(float):
    """Seconds for which the runner itself delays a call, which do not count as waiting for the
    endpoint."""


FULL = LocalDelay(0.0625)
"""The wait when as many calls are in flight as are allowed; the end of a call ends it."""


class EndpointState:
    """Limits, queue and health of one endpoint; systems that call the same endpoint share it.

    Attributes:
        endpoint: Its address; None for a system that has none.
        limiter: Its limits.
        queue: The calls that wait for them.
    """

    def __init__(self, endpoint: str | None, limiter: Limiter) -> None:
        self.endpoint = endpoint
        self.limiter = limiter
        self.queue = WaitQueue()
        self._refused_since: float | None = None
        self._waits: tuple[float, str] | None = None

    def answered(self) -> None:
        """Note that the endpoint has answered."""
        self._refused_since = None
        self._waits = None

    def enter(self, tokens: int) -> float:
        """Start a call and return 0; or return the seconds after which to try again.

        Args:
            tokens: Expected tokens of the request.
        """
        wait = self.limiter.enter(tokens)
        if wait > 0:
            if wait != FULL:
                self.wait(wait)
            self.queue.note(wait, monotonic())
        return wait

    def wait(self, seconds: float, reason: str = "for the rate limit of {}") -> None:
        """Note that calls wait, until the endpoint answers again."""
        self._waits = (monotonic() + seconds, reason)

    @property
    def waiting(self) -> str | None:
        """What its calls wait for, if for a second or more; else None."""
        if self._waits is None:
            return None
        until, reason = self._waits
        left = until - monotonic()
        if left < _WORTH_REPORTING:
            return None
        return f"{left:.0f} s {reason.format(self.endpoint or 'the system')}"

    def check(self, error: BaseException) -> None:
        """Note that the endpoint has refused a call.

        Raises:
            RefusedError: It has refused every call for two minutes.
        """
        now = monotonic()
        if self._refused_since is None:
            self._refused_since = now
            return
        seconds = now - self._refused_since
        if seconds > _ONLY_REFUSALS:
            raise RefusedError(
                f"{self.endpoint or 'The system'} has refused every request for {seconds:.0f} s "
                f"(--keep-going goes on): {message_of(error)}"
            )


Wake = Callable[[], None]


@frozen(eq=False)
class Waiter:
    """A call in a queue.

    Attributes:
        wake: Ends its sleep.
        throttled: For how many seconds a rate had delayed the queue when the call joined it.
    """

    wake: Wake
    throttled: float


class WaitQueue:
    """The calls that wait. Safe to use from any thread.

    Only the first one tries to start; the others sleep until they are first. The queue also
    measures for how long a rate, and not the number of calls in flight, has delayed it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._repeated: deque[Waiter] = deque()
        self._new: deque[Waiter] = deque()
        self._throttled = 0.0
        self._throttled_since: float | None = None

    def __len__(self) -> int:
        return len(self._repeated) + len(self._new)

    def join(self, wake: Wake, is_again: bool, now: float) -> Waiter:
        """Add a call; repeated calls come before new ones."""
        with self._lock:
            waiter = Waiter(wake, self._throttled_until(now))
            (self._repeated if is_again else self._new).append(waiter)
            return waiter

    def is_first(self, waiter: Waiter) -> bool:
        """Whether it is a call's turn."""
        with self._lock:
            return self._first() is waiter

    def leave(self, waiter: Waiter, now: float) -> float:
        """Remove a call, and return the seconds for which a rate has delayed it."""
        with self._lock:
            for waiters in (self._repeated, self._new):
                if waiter in waiters:
                    waiters.remove(waiter)
            throttled = self._throttled_until(now)
            if self._first() is None:
                self._throttled = throttled
                self._throttled_since = None
        self.move()
        return throttled - waiter.throttled

    def move(self) -> None:
        """Wake the first call: another call has ended. A call that joins later tries at once."""
        if self._repeated or self._new:
            with self._lock:
                first = self._first()
            if first is not None:
                first.wake()

    def note(self, wait: float, now: float) -> None:
        """Note what :meth:`EndpointState.enter` returned to the first call: a wait for a rate, or a
        local delay."""
        with self._lock:
            self._throttled = self._throttled_until(now)
            self._throttled_since = None if isinstance(wait, LocalDelay) else now

    def _first(self) -> Waiter | None:
        return next(chain(self._repeated, self._new), None)

    def _throttled_until(self, now: float) -> float:
        if self._throttled_since is None:
            return self._throttled
        return self._throttled + max(0.0, now - self._throttled_since)


class Limiter:
    """Decides when the next request may be sent to one endpoint. Safe to use from any thread.

    Args:
        limit: Requests in flight at most.
        rates: The rates of the endpoint.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        limit: int,
        rates: RateLimiter,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._lock = Lock()
        self._limit = limit
        self._allowed = float(limit)
        self._rates = rates
        self.in_flight = 0

    @property
    def learned(self) -> Mapping[str, Any]:
        """What was learned, for the next session; empty if nothing was."""
        with self._lock:
            return self._rates.learned()

    def enter(self, tokens: int = 0) -> float:
        """Start a call and return 0; or return the seconds after which to try again.

        Args:
            tokens: Expected tokens of the request.
        """
        with self._lock:
            now = self._clock()
            if self.in_flight >= int(self._allowed):
                return FULL
            wait = self._rates.wait(now, tokens)
            if wait > 0:
                return wait
            self._rates.sent(now, tokens)
            self.in_flight += 1
            return 0.0

    def leave(self) -> None:
        """End a call."""
        with self._lock:
            self.in_flight -= 1

    def answered(
        self, seconds: float, tokens: int = 0, headers: Any = None, expected: int = 0
    ) -> None:
        """Learn from an answer.

        Args:
            seconds: How long it took.
            tokens: Tokens that count against a limit of tokens; 0 when they are unknown.
            headers: Its response headers.
            expected: The tokens that :meth:`enter` received.
        """
        with self._lock:
            if self._allowed < self._limit:
                self._allowed = min(self._limit, self._allowed + 1.0 / self._allowed)
            self._rates.answered(self._clock(), seconds, tokens, expected, headers)

    def refused(
        self, requested: float | None = None, seconds: float = 0.0, headers: Any = None
    ) -> None:
        """Learn from a refusal.

        Args:
            requested: Seconds of its ``Retry-After``; None without one.
            seconds: How long it took.
            headers: Its response headers.
        """
        with self._lock:
            is_rate_unknown = self._rates.refused(self._clock(), seconds, requested, headers)
            if is_rate_unknown:
                self._allowed = max(1.0, _SHARE_AFTER_REFUSAL * self._allowed)


class EvenRates:
    """The rates of an endpoint of which nothing is learned. Not thread-safe; its owner has a lock.

    A limit of the user's is spread evenly. After a refusal no request is sent for as long as the
    endpoint requests, or else for one second, two, four and so on (starting with the last such
    time, when it refuses again soon). Then one request is sent, and the others follow when it
    is not refused.

    Args:
        requests: Requests a minute that the user allows; None for no limit.
        tokens: Tokens a minute that the user allows; None for no limit.
    """

    def __init__(self, requests: float | None, tokens: float | None) -> None:
        self._requests = _EvenRate(requests)
        self._tokens = _EvenRate(tokens)
        self._is_free = requests is None and tokens is None
        self._shut_until: float | None = None  # None while the endpoint is not known to refuse
        self._opened = 0.0
        self._trial_sent: float | None = None  # when the first request after a refusal was sent
        self._pause = _PAUSE
        self._refusal_seconds = 0.05

    def learned(self) -> Mapping[str, Any]:
        """Return nothing."""
        return {}

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until the next request may be sent; 0 or less sends it now."""
        if self._shut_until is not None:
            if self._trial_sent is None:
                return self._shut_until - now
            left = self._trial_sent + max(0.1, 3.0 * self._refusal_seconds) - now
            if left > 0:
                return left
            self._open(now)
        return 0.0 if self._is_free else max(self._requests.wait(now), self._tokens.wait(now))

    def sent(self, now: float, tokens: float) -> None:
        """Note that a request is sent."""
        if not self._is_free:
            self._requests.spend(now, 1.0)
            self._tokens.spend(now, tokens)
        if self._shut_until is not None and self._trial_sent is None:
            self._trial_sent = now

    def answered(
        self, now: float, seconds: float, tokens: float, expected: float, headers: Any
    ) -> None:
        """Note an answer, and count the tokens of its request beyond the expected ones."""
        if tokens:
            self._tokens.spend(now, tokens - expected)
        if self._is_trial(now - seconds):
            self._open(now)

    def refused(self, now: float, seconds: float, requested: float | None, headers: Any) -> bool:
        """Note a refusal, and return whether it is the first one since the endpoint answered."""
        sent = now - seconds
        self._refusal_seconds = max(seconds, 0.5 * self._refusal_seconds)
        if requested is not None:
            requested = min(requested, _LONGEST_PAUSE)
        is_new = self._shut_until is None
        if is_new and sent < self._opened:
            return False  # it was sent before the last one that was refused
        if is_new or self._is_trial(sent):
            if not is_new:
                self._pause = min(_LONGEST_PAUSE, 2.0 * self._pause)
            elif sent - self._opened > _LONG * self._pause:
                self._pause = _PAUSE
            self._trial_sent = None
            pause = self._pause
            if requested is not None:
                pause = max(requested, min(0.1 * pause, LONGEST_OF_REQUESTED * requested))
            self._shut_until = now + pause
        elif requested is not None:
            self._shut_until = max(self._shut_until or 0.0, now + requested)
        return is_new

    def _is_trial(self, sent: float) -> bool:
        return self._trial_sent is not None and sent >= self._trial_sent - _AT_ONCE

    def _open(self, now: float) -> None:
        self._opened = now if self._trial_sent is None else self._trial_sent
        self._shut_until = None
        self._trial_sent = None


class _EvenRate:
    """An even rate.

    Args:
        limit: Amount a minute that the user allows; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self._seconds = 0.0 if limit is None else 60.0 / limit
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds until something may be sent; 0 or less sends it now."""
        return self._next - now if self._seconds else 0.0

    def spend(self, now: float, amount: float) -> None:
        """Count what is sent. A request that is late may make up for it, so that a busy machine
        reaches the rate."""
        share = amount * self._seconds
        self._next = max(self._next, now - _CATCH_UP * max(share, 0.0)) + share

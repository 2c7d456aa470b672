"""Limits: how often and how many at once an endpoint is asked. What it allows is learned from what it refuses.

Nobody knows an endpoint's limits beforehand. So the number in flight grows with every answer, and the first refusal
(429) ends the growth: the rate that was answered in the second before is the rate from then on. Later the rate creeps
up, slowly near the rate that was refused, and falls a little at each refusal (the shape of TCP CUBIC, RFC 9438).

An endpoint that refuses nothing is asked more at once only as long as that makes it answer more in a second: beyond
that, requests wait in its queue, take longer, and time out. Now and then it is tried again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic

FULL = 0.0625
"""What :meth:`Limiter.enter` returns when as many calls are in flight as may be: whoever ends one says so."""

_FIRST_IN_FLIGHT = 8
_GENTLE_SECONDS, _GENTLE_RATE = 0.22, 300.0
_MARGIN = 0.96
_SMALL_FALL, _FALL = 0.95, 0.75
_CREEP = 0.005
_QUIET, _ISOLATED = 3.0, 1.0
_WINDOW, _SHORTEST_FREEZE = 1.0, 0.3
_SLOW_FACTOR, _SLOW_SAMPLES = 8.0, 64
_GAIN = 1.1


class Limiter:
    """Says when the next request may be sent to one endpoint. Safe to use from any thread.

    Args:
        most: Requests in flight at most.
        requests_per_minute: A limit that the user knows; None learns it.
        tokens_per_minute: The same for tokens, input and output together; counted as they become known.
        gentle: Whether to begin with few requests, as an endpoint that others use deserves.
        clock: Tells the time in seconds.
    """

    def __init__(
        self,
        most: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        gentle: bool = False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._known = requests_per_minute / 60.0 if requests_per_minute else None
        self._token_rate = tokens_per_minute / 60.0 if tokens_per_minute else None
        self._tokens_free_at = 0.0
        self._rate: float | None = self._known
        self._ceiling: float | None = None
        self._cap = float(min(most, _FIRST_IN_FLIGHT)) if gentle else float(most)
        self._gentle_until = float("inf") if gentle else 0.0
        self._begun = 0.0
        self._gentle = gentle
        self._next = 0.0
        self._frozen_until = 0.0
        self._answered: deque[float] = deque(maxlen=4096)
        self._refused_at: float | None = None
        self._is_estimating = False
        self._resumed_at = 0.0
        self._crept_at = 0.0
        self._usual: float | None = None
        self._slow = 0
        self._rounds = _Rounds(0.0)
        self.in_flight = 0
        self.refusals = 0

    @property
    def rate(self) -> float | None:
        """Requests per second at most; None while no limit is known."""
        return self._rate

    def enter(self) -> float:
        """Take a place and return 0; or return the seconds after which to ask for one again."""
        with self._lock:
            now = self._clock()
            if self.in_flight >= int(self._cap):
                return FULL
            wait = self._wait(now)
            if wait > 0:
                return wait
            if self._begun == 0.0:
                self._begun = now
                self._rounds = _Rounds(now)
                self._gentle_until = now + _GENTLE_SECONDS if self._gentle else now
            self._spend(now)
            self.in_flight += 1
            return 0.0

    def reserve(self, pause: float = 0.0) -> float:
        """Return the seconds until a request that was refused may be sent again; at least ``pause``.

        Its turn is its own: others come after it, so that the refused do not all come back together.
        """
        with self._lock:
            now = self._clock()
            turn = max(now, self._frozen_until, self._next, self._tokens_free_at if self._token_rate else 0.0)
            pace = self._pace(turn)
            if pace is not None:
                self._next = turn + 1.0 / pace
            return max(pause, turn - now)

    def leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self.in_flight -= 1

    def answered(self, seconds: float, tokens: int = 0) -> None:
        """Learn from an answer.

        Args:
            seconds: How long it took.
            tokens: What it counts against the limit of tokens per minute.
        """
        with self._lock:
            now = self._clock()
            self._answered.append(now)
            if self._is_estimating and now >= self._frozen_until:
                self._is_estimating = False
            if self._is_estimating and self._refused_at is not None:
                found = self._count(self._refused_at) * _MARGIN
                self._rate = max(self._rate or 0.0, found if self._known is None else min(found, self._known))
                self._ceiling = self._rate / _MARGIN
            if self._gentle and self.refusals == 0:
                self._look_for_gain(now)
            elif self._cap < self._most:
                self._cap = min(self._most, self._cap + 1.0 / self._cap)
            if self._token_rate and tokens:
                self._tokens_free_at = max(self._tokens_free_at, now - 1.0) + tokens / self._token_rate
            self._watch(seconds)
            self._creep(now)

    def refused(self, asked: float | None = None) -> None:
        """Learn from a refusal; ``asked`` is what its ``Retry-After`` said."""
        with self._lock:
            now = self._clock()
            self.refusals += 1
            since = None if self._refused_at is None else now - self._refused_at
            if since is not None and now < self._resumed_at + 0.1:
                # Sent before the brake took hold: it says nothing new.
                self._frozen_until = max(self._frozen_until, now + min(asked or 0.0, 5.0))
                self._resumed_at = max(self._resumed_at, self._frozen_until)
                return
            self._refused_at = now
            if since is None:
                # Requests sent before are answered still; they count when the brake is let go.
                self._is_estimating = True
                self._slow_down_to(max(1.0, self._count(now) * _MARGIN))
                self._freeze(now, max(_SHORTEST_FREEZE, self._begun + _WINDOW - now) if asked is None else asked)
            elif since > _ISOLATED:
                self._slow_down_to(max(0.1, (self._rate or 1.0) * _SMALL_FALL))
                self._freeze(now, 0.0)
            else:
                self._slow_down_to(max(0.1, (self._rate or 1.0) * _FALL))
                self._freeze(now, asked if asked is not None else 0.25)

    def _slow_down_to(self, rate: float) -> None:
        self._ceiling = self._rate
        self._rate = rate if self._known is None else min(rate, self._known)

    def _freeze(self, now: float, seconds: float) -> None:
        self._frozen_until = max(self._frozen_until, now + min(seconds, 60.0))
        self._resumed_at = self._crept_at = max(self._frozen_until, now)

    def _count(self, now: float) -> int:
        """Return the answers since one second before a moment."""
        return sum(1 for moment in self._answered if moment > now - _WINDOW)

    def _wait(self, now: float) -> float:
        wait = max(self._frozen_until - now, self._tokens_free_at - now if self._token_rate else 0.0)
        if wait <= 0 and self._pace(now) is not None:
            wait = self._next - now
        return wait

    def _spend(self, now: float) -> None:
        pace = self._pace(now)
        if pace is not None:
            # A late sleeper may make up for a request, so that a busy machine keeps the rate.
            self._next = max(self._next, now - 1.5 / pace) + 1.0 / pace

    def _pace(self, now: float) -> float | None:
        if self._rate is None and now < self._gentle_until:
            return _GENTLE_RATE
        return self._rate

    def _creep(self, now: float) -> None:
        if self._rate is None or self._refused_at is None or now - self._crept_at < 1.0:
            return
        self._crept_at = now
        quiet = now - max(self._refused_at, self._resumed_at)
        near = self._ceiling is not None and self._rate > 0.9 * self._ceiling
        if quiet > (3 if near else 1) * _QUIET:
            self._rate *= 1 + _CREEP * (1.0 if near else 6.0)
        if self._known is not None:
            self._rate = min(self._rate, self._known)

    def _look_for_gain(self, now: float) -> None:
        """Ask more at once as long as more is answered for it."""
        if now < self._gentle_until:
            self._cap = min(self._most, self._cap + 1.0)
            self._rounds = _Rounds(now)
        else:
            self._cap = self._rounds.answered(now, self._cap, self._most)

    def _watch(self, seconds: float) -> None:
        """Take places back when answers take many times as long as they used to: the endpoint is overrun."""
        if self._usual is None:
            self._usual = seconds
            return
        if seconds > _SLOW_FACTOR * self._usual and seconds > 0.5:
            self._slow += 1
            if self._slow >= max(_SLOW_SAMPLES, self._cap):
                self._slow = 0
                self._cap = max(1.0, self._cap * 0.8)
        else:
            self._slow = max(0, self._slow - 2)
            self._usual += 0.05 * (seconds - self._usual)


class _Rounds:
    """Finds how many requests at once an endpoint answers better than fewer.

    A round is as many answers as may be in flight. After one, more are tried for a round; when that made no more
    answers in a second, it was of no use, and the next trial waits longer.

    Args:
        began: When the first round began.
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self._answers = 0
        self._before: tuple[float, float] | None = None
        self._rest, self._pause = 0, 4
        self._step = 2.0

    def answered(self, now: float, cap: float, most: float) -> float:
        """Return how many requests may be in flight after another answer."""
        self._answers += 1
        if self._answers < cap:
            return cap
        rate = self._answers / max(now - self._began, 1e-6)
        self._answers, self._began = 0, now
        if self._before is not None:
            fewer, usual = self._before
            self._before = None
            if rate < usual * _GAIN:
                self._rest, self._pause, self._step = self._pause, min(64, 2 * self._pause), 1.5
                return fewer
        self._rest -= 1
        if self._rest >= 0 or cap >= most:
            return cap
        self._before = cap, rate
        return min(most, cap * self._step)

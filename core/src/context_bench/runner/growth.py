"""Growth: how many requests at once an endpoint is asked when the user does not say, found out round by round."""

from __future__ import annotations

FIRST = 8
_STEP = 1.0
_UNANSWERED = 16
_STILL_QUICK = 1.5
_SLOW_FACTOR, _SLOW_SAMPLES = 8.0, 64


class Growth:
    """Begins with few, and doubles every second as long as answers come as quickly as at first.

    That takes the same time whether answers take 10 ms or 10 s; where they become slower, the last step is taken back. Beside
    it, rounds of answers are compared: what made no more answers in a second is taken back, too. Where requests take many times
    as long as they used to, the endpoint is overrun.

    Args:
        most: Requests in flight at most.
        grows: Whether to begin with few; else there are ``most`` from the beginning.
    """

    def __init__(self, most: int, grows: bool) -> None:
        self._most = most
        self._grows = grows
        self.cap = float(min(most, FIRST)) if grows else float(most)
        self._rounds: Rounds | None = None
        self._stepped_at: float | None = None
        self._quickest: float | None = None
        self._latest = 0.0
        self._fewer: float | None = None
        self._is_found = False
        self._usual: float | None = None
        self._slow = 0

    def wanted(self, now: float) -> None:
        """Take note that one more was wanted than there are places."""
        if self._stepped_at is None:
            self._stepped_at = now
        if not self._grows or self._is_found or now - self._stepped_at < _STEP or self.cap >= self._most:
            return
        is_quick = self._quickest is not None and self._latest <= _STILL_QUICK * self._quickest
        if is_quick or (self._quickest is None and self.cap < _UNANSWERED):
            self._fewer, self.cap = self.cap, min(self._most, 2 * self.cap)
            self._stepped_at = now
            self._rounds = None

    def answered(self, now: float, seconds: float) -> None:
        """Learn from an answer that took so many seconds."""
        self._quickest = seconds if self._quickest is None else min(self._quickest, seconds)
        self._latest = seconds
        if self._grows:
            if self._fewer is not None and seconds > _STILL_QUICK * self._quickest:
                self.cap, self._fewer, self._is_found, self._rounds = self._fewer, None, True, None
            if self._rounds is None:
                self._rounds = Rounds(now)
            self.cap = self._rounds.answered(now, self.cap, self._most)
        elif self.cap < self._most:
            self.cap = min(self._most, self.cap + 1.0 / self.cap)
        self._watch(seconds)

    def settle(self) -> None:
        """Grow no more by what answers say: from now on a rate is what limits."""
        self._grows = False
        self.cap = max(self.cap, float(self._most))

    def _watch(self, seconds: float) -> None:
        if self._usual is None:
            self._usual = seconds
        elif seconds > _SLOW_FACTOR * self._usual and seconds > 0.5:
            self._slow += 1
            if self._slow >= max(_SLOW_SAMPLES, self.cap):
                self._slow = 0
                self.cap = max(1.0, self.cap * 0.8)
        else:
            self._slow = max(0, self._slow - 2)
            self._usual += 0.05 * (seconds - self._usual)


_GAIN = 1.1


class Rounds:
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

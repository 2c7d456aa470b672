"""Growth: how many requests at once an endpoint is asked when the user does not say, found out step by step."""

from __future__ import annotations

FIRST = 8
_STEP, _ROUNDS = 1.0, 2
_UNANSWERED = 16
_STILL_QUICK = 1.5


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
        self.cap = float(min(most, FIRST)) if grows else float(most)
        self._answers = 0
        self._stepped_at: float | None = None
        self._quickest: float | None = None
        self._latest = 0.0
        self._fewer: float | None = None
        self._is_found = False

    def wanted(self, now: float) -> None:
        """Take note that one more was wanted than there are places."""
        if self._stepped_at is None:
            self._stepped_at = now
        if not self._grows or self._is_found or self.cap >= self._most:
            return
        if now - self._stepped_at < _STEP and self._answers < _ROUNDS * self.cap:
            return
        is_quick = self._quickest is not None and self._latest <= _STILL_QUICK * self._quickest
        if is_quick or (self._quickest is None and self.cap < _UNANSWERED):
            self._fewer, self.cap = self.cap, min(self._most, 2 * self.cap)
            self._stepped_at, self._answers = now, 0

    def answered(self, seconds: float) -> None:
        """Learn from an answer that took so many seconds."""
        self._quickest = seconds if self._quickest is None else min(self._quickest, seconds)
        self._latest = seconds
        self._answers += 1
        if self._grows:
            if self._fewer is not None and seconds > _STILL_QUICK * self._quickest:
                self.cap, self._fewer, self._is_found = self._fewer, None, True
        elif self.cap < self._most:
            self.cap = min(self._most, self.cap + 1.0 / self.cap)

    def settle(self) -> None:
        """Grow no more by what answers say: from now on a rate is what limits."""
        self._grows = False
        self.cap = max(self.cap, float(self._most))

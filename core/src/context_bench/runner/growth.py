"""How many requests at once an endpoint is asked: few as long as it has answered nothing, then more, step by step."""

from __future__ import annotations

from threading import Lock


class OwnPause(float):
    """Seconds that we hold a call back of our own accord, which is no waiting for the endpoint."""


FULL = OwnPause(0.0625)
"""What whoever asks for leave is told when as many calls are in flight as may be: whoever ends one says so."""

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
        with self._lock:
            if self.is_over:
                return 0.0
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

"""The line before an endpoint: calls that have to wait for its limits, in order, those that were refused before all others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

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

    def note(self, is_throttled: bool, now: float) -> None:
        """Say what the first one waits for from now on: a rate, or one of our own places."""
        with self._lock:
            self._throttled = self._throttled_until(now)
            self._throttled_since = now if is_throttled else None

    def _first(self) -> Waiter | None:
        if self._again:
            return self._again[0]
        return self._new[0] if self._new else None

    def _throttled_until(self, now: float) -> float:
        return self._throttled + (0.0 if self._throttled_since is None else max(0.0, now - self._throttled_since))

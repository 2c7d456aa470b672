"""A budget: what a run may cost, held against what is spent and what the calls in flight will cost."""

from __future__ import annotations

from threading import Lock


class Budget:
    """Says whether another call can be paid. Safe to use from any thread.

    A call in flight is taken to cost as much as the dearest one so far. Before the first price is known, one call goes
    alone; when it names no price, there is nothing to hold against the budget.

    Args:
        most: US dollars.
        spent: What an earlier session of the run has spent.
    """

    def __init__(self, most: float, spent: float = 0.0) -> None:
        self.most = most
        self.spent = spent
        self._dearest: float | None = None
        self._has_answer = False
        self._in_flight = 0
        self._lock = Lock()

    def enter(self) -> bool | None:
        """Return True when a call may start, False when it must wait for others, None when nothing more can be paid."""
        with self._lock:
            if self._dearest is None:
                if self._has_answer or not self._in_flight:
                    self._in_flight += 1
                    return True
                return False
            if self.spent + (self._in_flight + 1) * self._dearest <= self.most + 1e-12:
                self._in_flight += 1
                return True
            return False if self._in_flight else None

    def leave(self, cost: float | None, has_answered: bool) -> None:
        """Count what a call cost."""
        with self._lock:
            self._in_flight -= 1
            self._has_answer = self._has_answer or has_answered
            if cost is not None:
                self.spent += cost
                self._dearest = max(self._dearest or 0.0, cost)

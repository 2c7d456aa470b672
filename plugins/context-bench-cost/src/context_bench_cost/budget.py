"""A budget: what a run may cost, held against what is spent and what the calls in flight will cost."""

from __future__ import annotations

from threading import Lock

_HEADROOM = 1.25
"""How much dearer than expected a call is taken to be before the first one has ended: words are no tokens."""


class Budget:
    """Says whether another call can be paid. Safe to use from any thread.

    A call whose cost can be expected from its prompt and its longest answer is taken to cost that, times what calls have
    cost beyond their expectation so far. Any other call in flight is taken to cost as much as the dearest one so far.
    Before the first price is known, one such call goes alone; when it names no price, the extension ``money`` ends the run
    where tokens were used, and what used none is free.

    Args:
        most: Money, in the currency of the run.
        spent: What earlier sessions of the run have spent.
        dearest: What their dearest call cost; None where nobody knows.
    """

    def __init__(self, most: float, spent: float = 0.0, dearest: float | None = None) -> None:
        self.most = most
        self.spent = spent
        self._dearest = dearest or None
        self._has_answer = False
        self._in_flight = 0
        self._expected = 0.0
        self._expecting = 0
        self._beyond: float | None = None
        self._lock = Lock()

    def enter(self, expected: float | None = None) -> bool | None:
        """Return True when a call may start, False when it must wait for others, None when nothing more can be paid.

        Args:
            expected: What the call will cost at most, by its estimated tokens; None when nobody can tell.
        """
        with self._lock:
            if expected is not None:
                if (
                    self.spent + self._held(self._expected + expected, self._in_flight)
                    > self.most + 1e-12
                ):
                    return False if self._in_flight or self._expecting else None
                self._expected += expected
                self._expecting += 1
                return True
            if self._dearest is None:
                if self.spent >= self.most:
                    return False if self._in_flight or self._expecting else None
                if self._has_answer or not self._in_flight:
                    self._in_flight += 1
                    return True
                return False
            if self.spent + self._held(self._expected, self._in_flight + 1) <= self.most + 1e-12:
                self._in_flight += 1
                return True
            return False if self._in_flight or self._expecting else None

    def leave(self, cost: float | None, has_answered: bool, expected: float | None = None) -> None:
        """Count what a call cost; ``expected`` is what :meth:`enter` was told of it."""
        with self._lock:
            if expected is not None:
                self._expecting -= 1
                self._expected = self._expected - expected if self._expecting else 0.0
                if cost is not None and expected > 0:
                    self._beyond = max(self._beyond or 1.0, cost / expected)
            else:
                self._in_flight -= 1
            self._has_answer = self._has_answer or has_answered
            if cost is not None:
                self.spent += cost
                self._dearest = max(self._dearest or 0.0, cost)

    def _held(self, expected: float, in_flight: int) -> float:
        """Return what so many calls in flight are taken to cost."""
        return expected * (_HEADROOM if self._beyond is None else self._beyond) + in_flight * (
            self._dearest or 0.0
        )

"""A budget: what a run may cost, held against what is spent and what the calls in flight will cost."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Lock

from context_bench.errors import CallRefusedError
from context_bench.protocols import Call
from context_bench.records import Usage

_HEADROOM = 1.25
"""How much dearer than expected a call is taken to be before the first one has ended: words are no tokens."""


class Budget:
    """Says whether another call can be paid. Safe to use from any thread.

    A call whose cost can be expected from its prompt and its longest answer is taken to cost that, times what calls have
    cost beyond their expectation so far. Any other call in flight is taken to cost as much as the dearest one so far.
    Before the first price is known, one such call goes alone; when it names no price, :class:`BudgetGovernor` ends the run
    where tokens were used, and what used none is free.

    Args:
        most: Money, in the currency of the run.
        spent: What an earlier session of the run has spent.
    """

    def __init__(self, most: float, spent: float = 0.0) -> None:
        self.most = most
        self.spent = spent
        self._dearest: float | None = None
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
                if self.spent + self._held(self._expected + expected, self._in_flight) > self.most + 1e-12:
                    return False if self._in_flight or self._expecting else None
                self._expected += expected
                self._expecting += 1
                return True
            if self._dearest is None:
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
        return expected * (_HEADROOM if self._beyond is None else self._beyond) + in_flight * (self._dearest or 0.0)


class BudgetGovernor:
    """Admits a call when it can be paid, and waits for others where that depends on what they cost.

    Args:
        budget: The budget.
        expected: Returns what a call will cost at most; None where the price or the longest answer is unknown.
        currency: What the money is called.
    """

    name = "budget"

    def __init__(self, budget: Budget, expected: Callable[[Call], float | None], currency: str = "USD") -> None:
        self._budget, self._expected, self._currency = budget, expected, currency
        self._changed = Condition()
        self._unpriced: str | None = None

    def admit(self, call: Call) -> None:
        """Return when the call can be paid.

        Raises:
            CallRefusedError: It might cost more than the run may, or nobody knows what calls cost.
        """
        expected = self._expected(call)
        with self._changed:
            while not (allowed := self._budget.enter(expected)):
                if allowed is None:
                    raise CallRefusedError(
                        f"The run has cost {self._budget.spent:.4f} {self._currency}, and another call might exceed the "
                        f"{self._budget.most:g} that it may cost (--max-cost)."
                    )
                self._changed.wait()
            if self._unpriced is not None:
                self._budget.leave(None, False, expected)
                raise CallRefusedError(
                    f"--max-cost {self._budget.most:g} cannot hold {self._unpriced}: it answered, its endpoint reports no cost, "
                    "and its model has no price. Give its price (--prices FILE), or leave --max-cost out."
                )

    def settle(self, call: Call, usage: Usage | None, cost: float | None) -> None:
        """Count what a call cost; an answer of an endpoint whose cost nobody knows ends the run, as no limit could."""
        with self._changed:
            is_paid = usage is not None and (call.endpoint is not None or usage != Usage())
            if is_paid and cost is None:
                self._unpriced = self._unpriced or call.system
            self._budget.leave(cost, usage is not None, self._expected(call))
            self._changed.notify_all()

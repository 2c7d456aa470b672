"""The hooks of a call: who admits it, who learns what it used, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

from context_bench.plugins.hooks import Hooks, Implementation
from context_bench.protocols import Call
from context_bench.records import REPORTED_CURRENCY, Usage

CostFunction = Callable[[Usage | None, Iterable[str | None]], tuple[float | None, str | None]]
"""Returns the cost of a response and the source of the cost, given its usage and the names of its
model."""


class CallHooks:
    """The hooks of the calls of one run. Safe to use from any thread.

    Args:
        hooks: The hooks of the run.

    Attributes:
        is_empty: Whether no extension admits calls or learns of them.
        currency: The currency of costs.
    """

    def __init__(self, hooks: Hooks | None = None) -> None:
        hooks = hooks or Hooks()
        self._admit = hooks["admit_call"]
        self._settle = hooks["call_settled"]
        self._cost = hooks["call_cost"]
        self.is_empty = not self._admit and not self._settle
        currency = hooks.first("cost_currency")
        if currency is None:
            self.currency = REPORTED_CURRENCY
        else:
            implementation, name = currency
            self.currency = implementation.require(name, str, "a text")

    def cost_function(self, reported: CostFunction) -> CostFunction:
        """Return what computes the cost of a response: the hook, and ``reported`` where no
        extension knows."""
        if not self._cost:
            return reported

        def cost(
            usage: Usage | None, models: Iterable[str | None]
        ) -> tuple[float | None, str | None]:
            names = tuple(models)
            for implementation in self._cost:
                result = implementation(usage=usage, models=names)
                if result is not None:
                    return _checked_cost(implementation, result)
            return reported(usage, names)

        return cost

    def admission_of(self, call: Call) -> CallAdmission:
        """Return the admission of a call, which no extension knows of yet."""
        return CallAdmission(call, self._admit, self._settle)


class CallAdmission:
    """Which extensions admitted a call.

    Args:
        call: The call.
        admit: The implementations of ``admit_call``.
        settle: Those of ``call_settled``.
    """

    def __init__(
        self, call: Call, admit: tuple[Implementation, ...], settle: tuple[Implementation, ...]
    ) -> None:
        self.call = call
        self._admit = admit
        self._settle = settle
        self._waiting: list[Implementation] = []
        self._lock = Lock()

    def admit(self) -> None:
        """Return when each extension has admitted the call; each may block.

        Raises:
            ContextBenchError: An extension refuses the call.
        """
        admitting = {implementation.extension for implementation in self._admit}
        with self._lock:
            self._waiting += [
                settling for settling in self._settle if settling.extension not in admitting
            ]
        for implementation in self._admit:
            implementation(call=self.call)
            with self._lock:
                self._waiting += [
                    settling
                    for settling in self._settle
                    if settling.extension == implementation.extension
                ]

    def settle(self, usage: Usage | None, cost: float | None) -> None:
        """Pass on what the call used, once to each extension that admitted it."""
        with self._lock:
            waiting = self._waiting
            self._waiting = []
        for implementation in waiting:
            implementation(call=self.call, usage=usage, cost=cost)


def _checked_cost(
    implementation: Implementation, result: object
) -> tuple[float | None, str | None]:
    expected = "a cost from 0 on and its source"
    if not isinstance(result, tuple) or len(result) != 2:
        raise implementation.failure(f"it returned {result!r}, not {expected}")
    cost, source = result
    is_cost = cost is None or (isinstance(cost, int | float) and 0 <= cost < float("inf"))
    if not is_cost or not isinstance(source, str | None):
        raise implementation.failure(f"it returned {result!r}, not {expected}")
    return cost, source

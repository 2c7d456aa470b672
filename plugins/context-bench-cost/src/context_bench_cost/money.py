"""The extension ``money``: it computes what responses cost, and admits a call only while the budget allows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from threading import Condition
from typing import Any

from context_bench.errors import CallRefusedError, ConfigurationError
from context_bench.hookspecs import hookimpl
from context_bench.protocols import Call, SystemSummary
from context_bench.records import REPORTED_CURRENCY, Usage
from context_bench_cost.budget import Budget
from context_bench_cost.prices import Price, Prices, read_prices


class Money:
    """What tokens cost, and what the run may cost. Safe to use from any thread.

    Without ``max_cost`` every call is admitted, and only its cost is told.

    Args:
        prices: Tables of prices, each as in the project file's ``[prices]``; later ones are laid over earlier ones.
        max_cost: Money that the run may cost, in the currency of the prices.

    Raises:
        ConfigurationError: A table is of another form, two are in different currencies, or ``max_cost`` is not above zero.
    """

    def __init__(
        self, prices: Sequence[Mapping[str, Any]] = (), max_cost: float | None = None
    ) -> None:
        self.prices = Prices()
        for table in prices:
            self.prices = read_prices(table, "prices").over(self.prices)
        if max_cost is not None and not (isfinite(max_cost) and max_cost > 0):
            raise ConfigurationError(f"max_cost is {max_cost!r}, but must be a number above zero.")
        self.currency = self.prices.currency
        self._budget = None if max_cost is None else Budget(max_cost)
        self._systems: dict[int, SystemSummary] = {}
        self._changed = Condition()
        self._unpriced: str | None = None
        self._warn: Callable[[str], None] | None = None
        self._in_other_currency: set[str] = set()

    @hookimpl
    def run_started(self, warn: Callable[[str], None]) -> None:
        """Note where warnings go."""
        self._warn = warn

    @hookimpl
    def call_cost(
        self, usage: Usage | None, models: Sequence[str | None]
    ) -> tuple[float | None, str | None]:
        """Return what a response cost, and the source of the cost; see :meth:`Prices.bill`."""
        cost, source = self.prices.bill(usage, models)
        if usage is not None and usage.cost is not None and source != "reported":
            self._warn_of_currency(next(filter(None, models), "a system"), cost)
        return cost, source

    def _warn_of_currency(self, model: str, cost: float | None) -> None:
        """Say once for each model that its endpoint reports costs in a currency that the run does not use."""
        with self._changed:
            if self._warn is None or model in self._in_other_currency:
                return
            self._in_other_currency.add(model)
        what = (
            f"{model} has no price in {self.currency}, so its rows have no cost. Give its price"
            if cost is None
            else "its rows have the cost of their tokens by that price"
        )
        self._warn(
            f"The endpoint of {model} reports costs in {REPORTED_CURRENCY}, and the prices are in {self.currency}: {what}."
        )

    @hookimpl
    def cost_currency(self) -> str:
        """Return the currency of the prices."""
        return self.currency

    @hookimpl
    def describe_system(self, system: SystemSummary) -> dict[str, Any]:
        """Return the facts for the run file: model, currency, date and price."""
        if not self.prices.models:
            return {}
        price = self.prices.find([system.model])
        shown = (
            {} if price is None else Prices({str(system.model): price}).to_dict()[str(system.model)]
        )
        return {
            "billing": {
                "model": system.model,
                "currency": self.currency,
                "date": self.prices.date,
                **shown,
            }
        }

    @hookimpl
    def before_first_call(
        self,
        systems: Sequence[SystemSummary],
        earlier_cost: float,
        max_call_cost: float | None,
    ) -> list[str]:
        """Note the systems and what earlier sessions spent; return a line for each model without a price."""
        self._systems = {system.number: system for system in systems}
        if self._budget is not None:
            self._budget = Budget(self._budget.most, earlier_cost, max_call_cost)
        return [
            f"No price is given for {system.model!r}, the model of {system.label}. Its cost is known only where the endpoint "
            "reports it, or answers with a model that has a price."
            for system in systems
            if self.prices.models
            and system.model is not None
            and system.model not in self.prices.models
        ]

    @hookimpl
    def admit_call(self, call: Call) -> None:
        """Return when the call can be paid; wait for others where that depends on what they cost.

        Raises:
            CallRefusedError: It might cost more than the run may, or nobody knows what calls cost.
        """
        if self._budget is None:
            return
        expected = self._expected(call)
        with self._changed:
            while not (allowed := self._budget.enter(expected)):
                if allowed is None:
                    raise CallRefusedError(
                        f"The run has cost {self._budget.spent:.4f} {self.currency}, and another call might exceed the "
                        f"{self._budget.most:g} that it may cost (--max-cost)."
                    )
                self._changed.wait()
            if self._unpriced is not None:
                self._budget.leave(None, False, expected)
                raise CallRefusedError(
                    f"--max-cost {self._budget.most:g} cannot hold {self._unpriced}: it answered, its endpoint reports no cost, "
                    "and its model has no price. Give its price (--prices FILE), or leave --max-cost out."
                )

    @hookimpl
    def call_settled(self, call: Call, usage: Usage | None, cost: float | None) -> None:
        """Count what a call cost; an answer of an endpoint whose cost nobody knows ends the run, as no limit could."""
        if self._budget is None:
            return
        with self._changed:
            is_paid = usage is not None and (call.endpoint is not None or usage != Usage())
            if is_paid and cost is None:
                self._unpriced = self._unpriced or call.system
            self._budget.leave(cost, usage is not None, self._expected(call))
            self._changed.notify_all()

    def _expected(self, call: Call) -> float | None:
        """Return what a call will cost at most; None where the price or the longest answer is unknown."""
        system = self._systems[call.system_number]
        price: Price | None = self.prices.find([system.model])
        return (
            None
            if price is None or system.max_tokens is None
            else price.at_most(call.tokens, system.max_tokens)
        )

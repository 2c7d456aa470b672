"""Metrics of money: what rows cost, what that saves against the baseline, and what a row that passes costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.metrics import ColumnMetric, Columns


@frozen
class Cost(ColumnMetric):
    """What the rows cost in money: as the endpoint reports it, else by the prices of cached and uncached tokens.

    A prefix that was read from the provider's cache is billed as such, so a system that breaks the cache shows what it
    really saves. Keys: ``cost``, what the calls of this run cost, answered turns of conversations that failed later among
    them; ``would_cost``, what reused and recorded rows would have cost, where there are any; ``mean_cost`` of an answered
    row, reused or not; ``cost_saved``, 1 - (sum of the costs) / (sum of the baseline's), over the rows of which both are
    known, reused or not; ``num_unpriced``, the answered rows without a cost.
    """

    name: str = "cost"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the costs, from the columns of the rows; nothing when no cost is known."""
        priced = len(columns.costs)
        if not priced and not columns.spent_costs:
            return {}
        columns.sources["cost"] = ("money", priced / max(columns.answered, priced, 1))
        values = {"cost": math.fsum(columns.spent_costs)}
        if columns.reused_costs:
            values["would_cost"] = math.fsum(columns.reused_costs)
        if priced:
            values["mean_cost"] = math.fsum(columns.costs) / priced
        baseline = math.fsum(columns.baseline_costs)
        if baseline > 0:
            values["cost_saved"] = 1 - math.fsum(columns.compared_costs) / baseline
        values["num_unpriced"] = columns.answered - priced
        return values

    def notes(
        self, summary: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield the currency and the source of the costs, and whose rows are left out."""
        if not any("cost" in values for values in summary.values()):
            return
        date = f" of {config['prices_date']}" if "prices_date" in config else ""
        yield (
            f"cost is in {config.get('currency', 'USD')}: as the endpoint reports it, else by the given "
            f"prices{date}, cached and uncached tokens each at theirs."
        )
        if any("would_cost" in values for values in summary.values()):
            yield "would cost is what reused and recorded rows cost when they were called; this run did not pay it."
        unpriced = []
        for label, values in summary.items():
            if values.get("num_unpriced"):
                unpriced.append(f"{values['num_unpriced']:.0f} of {label}")
        if unpriced:
            yield f"Answered rows without a known cost, left out of it: {', '.join(unpriced)}."


@frozen
class PriceOfPass(ColumnMetric):
    """Money spent for each row that passes (after Erol et al. 2025, arXiv:2504.13359), input and output at their prices.

    Rows that are not scored, as those without a gold answer, cannot pass, so what they cost is not counted. The price exists
    only where every other answered row has a cost; the cost of a failed row is unknown. Key: ``price_of_pass``, infinite when
    no row passes.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "price_of_pass"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the price, from the columns of the rows, where it is known."""
        costs = columns.scored_costs
        is_known = bool(columns.costs) and len(costs) == sum(columns.spenders.values())
        if not is_known or not columns.values(self.score_field):
            return {}
        passing = columns.passing(self.score_field, self.threshold)
        return {"price_of_pass": math.fsum(costs) / passing if passing else math.inf}

"""Metrics of money: what rows cost, what that saves against the baseline, and what a row that passes costs."""

from __future__ import annotations

import math
from typing import Any

from attrs import frozen


@frozen
class Cost:
    """What the rows cost in money: as the endpoint reports it, else by the prices of cached and uncached tokens.

    A prefix that was read from the provider's cache is billed as such, so a system that breaks the cache shows what it
    really saves. Keys: ``cost``, the sum over the answered rows; ``mean_cost``; ``cost_saved``, 1 - (sum of the costs) /
    (sum of the baseline's), over the rows of which both are known; ``num_unpriced``, the answered rows without a cost.
    """

    name: str = "cost"

    def compute_columns(self, columns: Any) -> dict[str, float]:
        """Return the costs, from the columns of the rows; nothing when none is known."""
        if not columns.costs:
            return {}
        total, baseline = math.fsum(columns.costs), math.fsum(columns.baseline_costs)
        columns.sources["cost"] = (
            "money",
            len(columns.costs) / max(columns.answered, len(columns.costs)),
        )
        found = {"cost": total, "mean_cost": total / len(columns.costs)}
        if baseline > 0:
            found["cost_saved"] = 1 - math.fsum(columns.compared_costs) / baseline
        return {**found, "num_unpriced": columns.answered - len(columns.costs)}


@frozen
class PriceOfPass:
    """Money spent for each row that passes (after Erol et al. 2025, arXiv:2504.13359), input and output at their prices.

    Rows that are not scored, as those without a gold answer, cannot pass, so what they cost is not counted. Only where every
    other answered row has a cost; a failed row took nothing that anybody knows of. Key: ``price_of_pass``, infinite when nothing
    passes.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "price_of_pass"

    def compute_columns(self, columns: Any) -> dict[str, float]:
        """Return the price, from the columns of the rows, where it is known."""
        values = columns.values(self.score_field)
        costs = columns.scored_costs
        is_known = columns.costs and len(costs) == sum(columns.spenders.values())
        if not values or not is_known:
            return {}
        passing = columns.passing(self.score_field, self.threshold)
        return {"price_of_pass": math.fsum(costs) / passing if passing else math.inf}

"""The metric of money: what the rows cost, and what that saves."""

from __future__ import annotations

import math

from attrs import frozen

from context_bench.aggregation import Columns
from context_bench.metrics.scores import ByColumns


@frozen
class Cost(ByColumns):
    """What the rows cost in money: as the endpoint reports it, else by the prices of cached and uncached tokens.

    A prefix that was read from the provider's cache is billed as such, so a system that breaks the cache shows what it
    really saves. Keys: ``cost``, the sum over the answered rows; ``mean_cost``; ``cost_saved``, 1 - (sum of the costs) /
    (sum of the baseline's), over the rows of which both are known; ``num_unpriced``, the answered rows without a cost.
    """

    name: str = "cost"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the costs; nothing when none is known."""
        if not columns.costs:
            return {}
        total, baseline = math.fsum(columns.costs), math.fsum(columns.baseline_costs)
        columns.sources["cost"] = ("money", len(columns.costs) / max(columns.answered, len(columns.costs)))
        found = {"cost": total, "mean_cost": total / len(columns.costs)}
        if baseline > 0:
            found["cost_saved"] = 1 - math.fsum(columns.compared_costs) / baseline
        return {**found, "num_unpriced": columns.answered - len(columns.costs)}

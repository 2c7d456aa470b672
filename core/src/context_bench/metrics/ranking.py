"""Metrics that need all systems at once: where one stands among the others."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from context_bench.aggregation import Columns
from context_bench.errors import MetricError
from context_bench.metrics.scores import Rows


@frozen
class ParetoRank:
    """Where a system stands among the others in quality (more is better) and cost (less is better).

    It needs all systems at once, so :meth:`compute` has nothing to say; :meth:`compare` does.

    Attributes:
        quality_field: Summary key to be high.
        cost_field: Summary key to be low.
        method: ``"dominators"``: 1 + the number of systems that are no worse in both and better in one. ``"front"``: 1
            for the Pareto front, 2 for the front once the first is taken away, and so on.
    """

    quality_field: str = "mean_score"
    cost_field: str = "cost_of_pass"
    method: str = "dominators"
    name: str = "pareto_rank"

    def compute(self, rows: Rows) -> dict[str, float]:
        """Return nothing: a rank needs the other systems."""
        return {}

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the rank of each system that has both values; none without another system, or across token counts."""
        if len(columns_by_system) < 2:
            return {}
        summary = {label: columns.summary for label, columns in columns_by_system.items()}
        fields = (self.quality_field, self.cost_field)
        ranked = [label for label, values in summary.items() if all(field in values for field in fields)]
        for field in fields:  # what comes from different counts cannot be held against each other
            if len({columns_by_system[label].sources.get(field, (field, 1.0))[0] for label in ranked}) > 1:
                return {}
        ranks = self.rank_systems(summary, self.quality_field, self.cost_field, self.method)
        return {label: {self.name: rank} for label, rank in ranks.items()}

    @staticmethod
    def rank_systems(
        summary: Mapping[str, Mapping[str, float]],
        quality_field: str = "mean_score",
        cost_field: str = "cost_of_pass",
        method: str = "dominators",
    ) -> dict[str, int]:
        """Return the rank of each system that has both values; rank 1 is on the Pareto front.

        >>> ParetoRank.rank_systems({"a": {"mean_score": .9, "cost_of_pass": 10}, "b": {"mean_score": .8, "cost_of_pass": 20}})
        {'a': 1, 'b': 2}
        """
        if method not in ("dominators", "front"):
            raise MetricError(f"ParetoRank's method is 'dominators' or 'front', not {method!r}.")
        points = {
            name: (values[quality_field], -values[cost_field])
            for name, values in summary.items()
            if quality_field in values and cost_field in values
        }
        if method == "dominators":
            return {name: 1 + sum(_dominates(q, p) for q in points.values()) for name, p in points.items()}
        ranks: dict[str, int] = {}
        rank = 1
        while points:
            front = [name for name, p in points.items() if not any(_dominates(q, p) for q in points.values())]
            for name in front:
                ranks[name] = rank
                del points[name]
            rank += 1
        return {name: ranks[name] for name in summary if name in ranks}


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other

"""Ranks: where a system stands among the others of its run, in quality and cost and in speed. Nothing that takes long to
import, as they are computed in every run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench import EvalRow
from context_bench.errors import MetricError


@frozen
class ParetoRank:
    """Rank of a system among the others in quality and cost, of which less is better.

    It needs all systems at once, so :meth:`compute` has nothing to say; :meth:`compare` does.

    Attributes:
        quality_field: Summary key to be high; low where it is the mean of a score of which less is better. Where
            neither is, or datasets differ in that, there is no rank.
        cost_field: Summary key to be low.
        method: ``"dominators"``: 1 + the number of systems that are no worse in both and better in one. ``"front"``: 1
            for the Pareto front, 2 for the front once the first is taken away, and so on.
    """

    quality_field: str = "mean_score"
    cost_field: str = "cost_of_pass"
    method: str = "dominators"
    name: str = "pareto_rank"

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return nothing: a rank needs the other systems."""
        return {}

    def compare(self, columns_by_system: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the rank of each system that has both values; none without another system, or across token counts."""
        summary = {
            label: columns.summary
            for label, columns in columns_by_system.items()
            if not columns.is_derived
        }
        if len(summary) < 2:
            return {}
        fields = (self.quality_field, self.cost_field)
        ranked = [
            label for label, values in summary.items() if all(field in values for field in fields)
        ]
        for field in fields:  # what comes from different counts cannot be held against each other
            told = [columns_by_system[label].sources for label in ranked]
            if len({sources[field][0] for sources in told if field in sources}) > 1:
                return {}
        if any({*fields} & columns.unranked for columns in columns_by_system.values()):
            return {}
        if any(self.quality_field in columns.lower for columns in columns_by_system.values()):
            field = self.quality_field
            summary = {
                label: {**values, field: -values[field]}
                for label, values in summary.items()
                if field in values
            }
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
            if _is_known(values.get(quality_field))
            and _is_known(values.get(cost_field))  # null in JSON: not finite
        }
        ranks = _ranks(points)
        if method == "dominators":
            return ranks
        fronts: dict[str, int] = {}
        for name in sorted(
            points, key=ranks.__getitem__
        ):  # whatever dominates a point has a lower rank
            above = [
                front for other, front in fronts.items() if _dominates(points[other], points[name])
            ]
            fronts[name] = 1 + max(above, default=0)
        return {name: fronts[name] for name in points}


@frozen
class SpeedRank:
    """Where a system stands among the others in speed: 1 + the systems that are no slower and wait no longer.

    Both count: seconds of the median row from the first sending to its answer, and what the endpoint makes a row wait on
    average. Key: ``speed_rank``, with two systems or more.
    """

    name: str = "speed_rank"

    def compare(self, columns_by_system: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the rank of each system that has a latency."""
        points = {
            label: (-columns.latencies_at((0.5,))[0], -columns.waiting / len(columns.latencies))
            for label, columns in columns_by_system.items()
            if columns.latencies and not columns.is_derived
        }
        ranks = _ranks(points) if len(points) > 1 else {}
        return {label: {self.name: rank} for label, rank in ranks.items()}


def _ranks(points: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """Return 1 + the number of points that are no worse in both and better in one, for each point."""
    return {
        name: 1 + sum(_dominates(other, point) for other in points.values())
        for name, point in points.items()
    }


def _is_known(value: float | None) -> bool:
    return value is not None and value == value


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] >= other[1] and one != other

"""Metrics of scores: counts, means, pass rates, and the mean of each dataset.

A ``score_field`` is a score key, or ``"score"`` for each row's headline score. Everywhere the same rule holds: a failed row
counts as wrong (with the worst value of its score), an unscored row is left out, and both are counted in :class:`Counts`. A
metric that has nothing to measure returns no key.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from context_bench.aggregation import Columns
from context_bench.errors import MetricError, did_you_mean
from context_bench.records import EvalRow


class ByColumns:
    """A metric that is computed from columns; whole rows are made into columns first."""

    score_field: str = "score"

    def compute(self, rows: Rows) -> dict[str, float]:
        """Return the values of this metric by key."""
        return self.compute_columns(Columns.of(rows, (self.score_field,)))

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values of this metric by key, from the columns of the rows."""
        raise NotImplementedError


@frozen
class Counts(ByColumns):
    """How many rows there are, and how many of them are scored, unscored and failed.

    Keys: ``num_rows``, ``num_scored``, ``num_unscored`` and ``num_failed``, and ``num_agreement`` where rows without a gold
    answer were held against a reference; all others add up to the first.
    """

    name: str = "counts"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the four counts."""
        valued = len(columns.values("score"))
        failed = columns.failed
        scored = valued - min(valued, columns.failed_with_value)
        unscored = columns.rows - scored - failed - columns.agreed
        agreed = {"num_agreement": columns.agreed} if columns.agreements("score") else {}
        return {
            "num_rows": columns.rows,
            "num_scored": scored,
            **agreed,
            "num_unscored": unscored,
            "num_failed": failed,
        }


@frozen
class MeanScore(ByColumns):
    """The mean of a score. Key: ``mean_score``."""

    score_field: str = "score"
    name: str = "mean_score"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean, summed exactly."""
        values = columns.values(self.score_field)
        return {self.name: math.fsum(values) / len(values)} if values else {}


@frozen
class PassRate(ByColumns):
    """The share of rows whose score reaches a threshold. Key: ``pass_rate``."""

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "pass_rate"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the share."""
        values = columns.values(self.score_field)
        return {self.name: sum(value >= self.threshold for value in values) / len(values)} if values else {}


@frozen
class PerDatasetBreakdown(ByColumns):
    """The mean score of each dataset. Keys: ``dataset:LABEL``; rows without a label are ``dataset:unknown``."""

    score_field: str = "score"
    name: str = "per_dataset"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean of each dataset that has a scored or failed row, in order of appearance."""
        found = columns.values_by_label(self.score_field).items()
        return {f"dataset:{label or 'unknown'}": math.fsum(values) / len(values) for label, values in found}


def check_score_field(metric: object, rows: Iterable[EvalRow], declared: Iterable[str]) -> None:
    """Refuse a metric whose ``score_field`` no row has.

    Args:
        metric: The metric.
        rows: All rows; read only when the field is not declared.
        declared: Keys that the manifests of the wired evaluators promise.

    Raises:
        MetricError: Nothing in this run gives the score; the message suggests close names.
    """
    field = getattr(metric, "score_field", None)
    declared = set(declared)
    if field is None or field == "score" or field in declared:
        return
    known = set(declared)
    empty = True
    for row in rows:
        if field in row.scores:
            return
        known.update(row.scores)
        empty = empty and row.failed
    if empty and not declared:
        return  # every row failed: the failures say why there is no score
    name = getattr(metric, "name", type(metric).__name__)
    raise MetricError(
        f"The metric {name} asks for the score {field!r}, which no evaluator of this run gives. {did_you_mean(field, known)}"
    )


Rows = Sequence[EvalRow]


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values by linear interpolation (Hyndman and Fan's type 7, numpy's default).

    >>> round(percentile(list(range(1, 21)), 0.95), 2)
    19.05
    """
    place = (len(values) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


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
        summary = {label: columns.summary for label, columns in columns_by_system.items() if not columns.is_derived}
        if len(summary) < 2:
            return {}
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

"""The metrics of scores: counts, mean, pass rate, and the mean of each dataset.

A ``score_field`` is a score key, or ``"score"`` for each row's primary score. One rule holds
everywhere: a failed row counts as wrong (with the worst value of its score), an unscored row is
left out, and :class:`Counts` counts both. A metric that has nothing to measure returns no key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from context_bench.records import EvalRow
from context_bench.results.columns import Columns


class ColumnMetric:
    """Base class of a metric that reads columns: :meth:`compute` makes columns of whole rows."""

    score_field: str = "score"

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return the values of this metric by key."""
        return self.compute_columns(Columns.of(rows, (self.score_field,)))

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values of this metric by key, from the columns of the rows."""
        raise NotImplementedError


@frozen
class Counts(ColumnMetric):
    """How many rows there are, and how many of them are scored, unscored and failed.

    A row is failed where its system failed, or the evaluator of its score.

    Keys: ``num_rows``, ``num_scored``, ``num_unscored`` and ``num_failed``, and ``num_agreement``
    where rows without a gold answer are compared with a reference. All others add up to the first.
    """

    score_field: str = "score"
    name: str = "counts"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the counts."""
        scored, failed = columns.scored_and_failed(self.score_field)
        counts: dict[str, float] = {"num_rows": columns.rows, "num_scored": scored}
        if columns.agreements("score"):
            counts["num_agreement"] = columns.agreed
        counts["num_unscored"] = columns.rows - scored - failed - columns.agreed
        counts["num_failed"] = failed
        return counts


@frozen
class MeanScore(ColumnMetric):
    """The mean of a score. Key: ``mean_score``."""

    score_field: str = "score"
    name: str = "mean_score"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean, summed exactly."""
        values = columns.values(self.score_field)
        better = columns.better(self.score_field)
        if better == "lower":
            columns.lower.add(self.name)
        elif better != "higher":
            columns.unranked.add(self.name)
        return {self.name: math.fsum(values) / len(values)} if values else {}


@frozen
class PassRate(ColumnMetric):
    """The share of rows whose score reaches a threshold, or stays at or below it where less is
    better. Key: ``pass_rate``."""

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "pass_rate"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the share."""
        values = columns.values(self.score_field)
        if not values:
            return {}
        return {self.name: columns.passing(self.score_field, self.threshold) / len(values)}


@frozen
class PerDatasetBreakdown(ColumnMetric):
    """The mean score of each dataset. Keys: ``dataset:LABEL``; rows without a label are
    ``dataset:unknown``."""

    score_field: str = "score"
    name: str = "per_dataset"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean of each dataset that has a scored or failed row, in order of
        appearance."""
        return {
            f"dataset:{label or 'unknown'}": math.fsum(values) / len(values)
            for label, values in columns.values_by_label(self.score_field).items()
        }

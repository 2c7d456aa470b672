"""A metric that is computed from columns, and percentiles of sorted values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from context_bench.aggregation import Columns
from context_bench.records import EvalRow

Rows = Sequence[EvalRow]


class ByColumns:
    """A metric that is computed from columns; whole rows are made into columns first."""

    score_field: str = "score"

    def compute(self, rows: Rows) -> dict[str, float]:
        """Return the values of this metric by key."""
        return self.compute_columns(Columns.of(rows, (self.score_field,)))

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values of this metric by key, from the columns of the rows."""
        raise NotImplementedError


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of sorted values by linear interpolation (Hyndman and Fan's type 7, numpy's default).

    >>> round(percentile(list(range(1, 21)), 0.95), 2)
    19.05
    """
    place = (len(values) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)

"""How far systems agree with the reference, and the reference with itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import frozen

from context_bench.metrics import ColumnMetric, Columns


@frozen
class Agreement(ColumnMetric):
    """How far rows without a gold answer agree with the reference: the mean of the score, its response as the answer.

    Keys: ``agreement``; and ``agreement_floor``, how far the reference agrees with itself when it is asked twice. A system
    that agrees as much cannot be told from it. The summary shows the floor with every system.
    """

    score_field: str = "score"
    name: str = "agreement"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean; of the reference's own rows, the floor."""
        values = columns.agreements(self.score_field)
        if not values:
            return {}
        key = "agreement_floor" if columns.is_reference else self.name
        return {key: math.fsum(values) / len(values)}

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the floor of the reference for every other system that has an agreement."""
        floor: float | None = None
        for columns in columns_by_system.values():
            floor = columns.summary.get("agreement_floor", floor)
        if floor is None:
            return {}
        return {
            label: {"agreement_floor": floor}
            for label, columns in columns_by_system.items()
            if self.name in columns.summary
        }

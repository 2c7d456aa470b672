"""How far systems agree with the reference, and the reference with itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen
class Agreement:
    """How far rows without a gold answer agree with the reference: the mean of the score, its response as the answer.

    Keys: ``agreement``; and ``agreement_floor``, how far the reference agrees with itself when it is asked twice. A system
    that agrees as much cannot be told from it. The summary shows the floor with every system.
    """

    score_field: str = "score"
    name: str = "agreement"

    def compute_columns(self, columns: Any) -> dict[str, float]:
        """Return the mean; of the reference's own rows, the floor."""
        values = columns.agreements(self.score_field)
        if not values:
            return {}
        return {
            "agreement_floor" if columns.is_reference else self.name: math.fsum(values)
            / len(values)
        }

    def compare(self, columns_by_system: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the floor of the reference for every other system that has an agreement."""
        summary = {label: columns.summary for label, columns in columns_by_system.items()}
        floors = [
            values["agreement_floor"] for values in summary.values() if "agreement_floor" in values
        ]
        agreeing = [label for label, values in summary.items() if "agreement" in values]
        return {label: {"agreement_floor": floors[-1]} for label in agreeing} if floors else {}

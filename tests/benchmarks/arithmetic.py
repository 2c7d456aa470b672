"""An evaluator that takes nothing but time of the processor."""

from __future__ import annotations

from typing import Any


class Arithmetic:
    """Adds so many numbers as the field ``steps`` of an example says."""

    name = "arithmetic"
    cpu_bound = True

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        """Return the last digit of the sum."""
        total = 0
        for number in range(int(original["steps"])):
            total = (total + number) % 1009
        return {"arithmetic": total / 1009}

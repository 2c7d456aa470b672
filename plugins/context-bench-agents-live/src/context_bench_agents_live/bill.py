"""The metric ``bill-per-success``. Nothing that takes long to import: it is in every run."""

from __future__ import annotations

import math

from context_bench.metrics import ColumnMetric, Columns


class BillPerSuccess(ColumnMetric):
    """The bill of all rows, failed tasks included, for each task that succeeded.

    Keys: ``bill_per_success``, infinite when no task succeeded; nothing where no row has a bill.
    """

    name = "bill-per-success"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the bill per success, from the sums of the scores of `agent-task`."""
        sums: dict[str, float] = {}
        for scores in columns.scores.to_dict().values():
            for key in ("agent_bill", "task_success"):
                score = scores.get(key)
                if score is not None and score["n"]:
                    sums[key] = score["mean"] * score["n"]
        if "agent_bill" not in sums:
            return {}
        successes = round(sums.get("task_success", 0.0))
        return {"bill_per_success": sums["agent_bill"] / successes if successes else math.inf}

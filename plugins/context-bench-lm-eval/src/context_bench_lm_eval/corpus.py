"""The metric: what lm-eval computes from all samples together, which is not the mean of numbers of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.records import EvalRow
from context_bench_lm_eval.corpus_items import ITEMS


class LMEvalCorpus:
    """lm-eval's own aggregations over the rows of a system: ``bleu``, ``chrf``, ``f1``, ``mcc``, perplexities and the like.

    It reads what the evaluators ``lm-eval`` and ``lm-eval-recorded`` left in the details of each row: for each metric the
    item that lm-eval collects, such as a reference and a response. A failed row has none, and a corpus without its failures
    would look better than it is: then there is no number.
    """

    name = "lm-eval-corpus"

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return each metric as ``lm_eval_corpus:NAME``; nothing if a row failed or none has an item."""
        collected: dict[str, list[Any]] = {}
        for row in rows:
            items = _items(row)
            if row.errors and not items:  # the system failed, or the evaluator
                return {}
            for metric, item in items.items():
                collected.setdefault(metric, []).append(item)
        values = {metric: _aggregated(metric, items) for metric, items in collected.items()}
        return {
            f"lm_eval_corpus:{name}": value for name, value in values.items() if value is not None
        }

    def notes(self, summary: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
        """Return which systems have no number, and why."""
        missing = [
            label
            for label, values in summary.items()
            if isinstance(values, Mapping)
            and not any(str(key).startswith("lm_eval_corpus:") for key in values)
        ]
        if not missing:
            return []
        return [
            f"lm-eval-corpus has no number for all rows of {', '.join(missing)}: a row failed, or no row was scored with a "
            "metric of a corpus by lm-eval or lm-eval-recorded."
        ]


def _items(row: EvalRow) -> Mapping[str, Any]:
    """Return the items of a row by metric. What was computed for the response comes before what was recorded."""
    found: dict[str, Any] = {}
    for details in row.details.values():
        items = details.get(ITEMS)
        if isinstance(items, Mapping):
            found = {**items, **found} if "filtered" not in details else {**found, **items}
    return found


def _aggregated(metric: str, items: Sequence[Any]) -> float | None:
    from lm_eval.api.registry import get_metric_aggregation

    aggregation = get_metric_aggregation(metric)
    if aggregation is None:
        return None
    value = float(aggregation(items))
    return value if math.isfinite(value) else None

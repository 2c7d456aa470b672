"""The evaluator of recorded numbers: what lm-eval computed, as scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from context_bench.records import Scores
from context_bench_lm_eval.corpus_items import ITEMS

KNOWN = (
    "acc",
    "acc_norm",
    "acc_bytes",
    "acc_mutual_info",
    "exact_match",
    "em",
    "prompt_level_strict_acc",
    "prompt_level_loose_acc",
)
"""Metrics of which lm-eval's own aggregation is the mean of numbers from 0 to 1."""


class LMEvalRecorded:
    """The metrics that lm-eval recorded for each sample.

    ``lm_eval_recorded`` is the first metric of the sample file, whatever its name. Metrics with a name of their own among
    the keys are there too; the others are in the details of the row.

    >>> LMEvalRecorded().score({}, {"response": "7"})
    {}
    """

    name = "lm_eval_recorded"

    def fingerprint(self) -> dict[str, Any]:
        """Return the parameters that can change a score: none."""
        return {}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the recorded metrics of a row; nothing for the answer of another system."""
        recorded = processed.get("recorded_metrics")
        metrics: dict[str, float] = {}
        if isinstance(recorded, Mapping):
            for name, value in recorded.items():
                if isinstance(value, Real) and math.isfinite(value):
                    metrics[str(name)] = float(value)
        items = processed.get("recorded_items")
        details: dict[str, Any] = {ITEMS: items} if isinstance(items, Mapping) and items else {}
        if not metrics:
            reason = "lm-eval recorded no metric that is one number"
            return Scores({}, {"unscored": reason, **details})
        scores = {"lm_eval_recorded": next(iter(metrics.values()))}
        for name in KNOWN:
            if name in metrics:
                scores[f"lm_eval_{name}"] = metrics[name]
        others = {name: value for name, value in metrics.items() if name not in KNOWN}
        if others:
            details["other_metrics"] = others
        return Scores(scores, details)

"""The score keys of metrics: what the values are called that a metric of `evaluate` returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

KNOWN: dict[str, dict[str, str]] = {
    "exact_match": {"exact_match": "hf_exact_match"},
    "bleu": {"bleu": "hf_bleu"},
    "google_bleu": {"google_bleu": "hf_google_bleu"},
    "sacrebleu": {"score": "hf_sacrebleu"},
    "chrf": {"score": "hf_chrf"},
    "ter": {"score": "hf_ter"},
    "rouge": {
        "rouge1": "hf_rouge1",
        "rouge2": "hf_rouge2",
        "rougeL": "hf_rouge_l",
        "rougeLsum": "hf_rouge_lsum",
    },
    "meteor": {"meteor": "hf_meteor"},
    "wer": {"wer": "hf_wer"},
    "cer": {"cer": "hf_cer"},
    "squad": {"f1": "hf_squad_f1", "exact_match": "hf_squad_exact_match"},
    "squad_v2": {"f1": "hf_squad_f1", "exact": "hf_squad_exact_match"},
}
"""The score key of each value of the metrics whose ranges the manifest declares, by metric and name of the value."""

ONE_ROW: dict[str, dict[str, Any]] = {"rouge": {"use_aggregator": False}}
"""Arguments for one row. The aggregator of rouge draws a thousand samples of the rows; of one row, all have its number."""

BETTER = {"higher": "hf_score", "lower": "hf_error"}
"""The score key of a value of any other metric, by which values are better."""


def numbers_of(result: Any, name: str, *, of_one_row: bool = False) -> dict[str, float]:
    """Return the finite numbers of what a metric returned, by their names; one without a name has that of the metric.

    Args:
        result: What ``compute`` returned.
        name: Name of the metric.
        of_one_row: Whether it was computed for one row. Then a list with a number for each row has one, which is taken.

    >>> numbers_of({"score": 2, "counts": [1], "sys_len": 3}, "sacrebleu")
    {'score': 2.0, 'sys_len': 3.0}
    >>> numbers_of({"f1": [0.5]}, "bertscore", of_one_row=True), numbers_of(0.25, "wer")
    ({'f1': 0.5}, {'wer': 0.25})
    """
    values = result if isinstance(result, Mapping) else {name: result}
    numbers = {}
    for key, value in values.items():
        if of_one_row and isinstance(value, list) and len(value) == 1:
            value = value[0]
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if is_number and math.isfinite(float(value)):
            numbers[str(key)] = float(value)
    return numbers

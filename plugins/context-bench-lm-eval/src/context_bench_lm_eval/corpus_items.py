"""What lm-eval collects of each sample for a metric of a whole corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ITEMS = "lm_eval_items"
"""Key of the details of a row that holds them, by metric."""

METRICS = (
    "bleu",
    "chrf",
    "chrf++",
    "ter",
    "f1",
    "mcc",
    "brier_score",
    "perplexity",
    "word_perplexity",
    "byte_perplexity",
    "bits_per_byte",
)
"""Metrics of lm-eval whose aggregation is no mean: what a sample has for them is an item, such as a reference and a response,
and no score."""


def corpus_items(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the values of a sample, by metric, that are items.

    >>> corpus_items({"exact_match": 1.0, "bleu": ("Paris", "Paris."), "perplexity": -2.5})
    {'bleu': ['Paris', 'Paris.'], 'perplexity': -2.5}
    """
    return {
        name: list(values[name]) if isinstance(values[name], tuple) else values[name]
        for name in METRICS
        if values.get(name) is not None
    }

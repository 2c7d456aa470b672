"""Kinds of questions, so that a report parts updates, order in time and what cannot be told without an option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ABSTENTION = "abstention"
"""Kind of a question whose answer is nowhere, whatever its type."""

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "knowledge-update",
    "temporal-reasoning",
)
"""LongMemEval's types of questions."""

CODES = (1, 2, 3, 4)
"""LoCoMo's codes of questions that have an answer."""


def kind_of(original: Mapping[str, Any]) -> str | None:
    """Return the kind of a question as the end of a score's key; None where the example names none that is known.

    >>> kind_of({"question_type": "knowledge-update"}), kind_of({"category": 2}), kind_of({"abstention": True})
    ('knowledge_update', 'code_2', 'abstention')
    """
    if original.get("abstention"):
        return ABSTENTION
    if original.get("question_type") in TYPES:
        return str(original["question_type"]).replace("-", "_")
    category = original.get("category")
    return f"code_{category}" if category in CODES else None


def by_kind(key: str, score: float, original: Mapping[str, Any]) -> dict[str, float]:
    """Return a score under its key, and under that of the question's kind.

    >>> by_kind("memory_answer", 1.0, {"category": 2})
    {'memory_answer': 1.0, 'memory_answer_code_2': 1.0}
    """
    kind = kind_of(original)
    return {key: score} if kind is None else {key: score, f"{key}_{kind}": score}

"""A small real run, whose rows metrics, reporters and extensions are called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench import EvalResult, evaluate

EXAMPLES: list[dict[str, Any]] = [
    {"id": "one", "question": "What is one and one?", "answer": "two"},
    {
        "id": "Ünïcödé-\U0001f9ea",
        "question": "\u6771\u4eac <b>|</b>\t'\"",
        "answer": "\u6771\u4eac",
    },
    {"id": "three", "question": "", "answer": "two"},
    {"id": "fails", "question": "raise", "answer": "two"},
]
"""Usual and unusual examples; the system fails on the last of them."""


class Reply:
    """A system that always gives one answer, and fails on one example."""

    def __init__(self, name: str, answer: str) -> None:
        self.name = name
        self._answer = answer

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the answer."""
        if example["question"] == "raise":
            raise ValueError("no answer to this example")
        return {"response": self._answer, "usage": {"input_tokens": 12, "output_tokens": 3}}


class Exact:
    """An evaluator that compares the response with the answer."""

    name = "exact"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return 1 for an equal response, else 0."""
        return {"exact": float(processed["response"] == original["answer"])}


def small_run(**arguments: Any) -> EvalResult:
    """Return the result of a run of two systems over four examples, one of which fails.

    Args:
        arguments: Further arguments of :func:`context_bench.evaluate`.
    """
    return evaluate(
        [Reply("first", "two"), Reply("second", "\u6771\u4eac")],
        EXAMPLES,
        [Exact()],
        progress=False,
        on_warning=lambda line: None,
        **arguments,
    )

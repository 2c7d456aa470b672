"""The examples that components are called with, and unusual texts in place of usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.catalog import Component

ORIGINAL: dict[str, Any] = {
    "id": "example-1",
    "context": "Paris is the capital of France. It lies on the river Seine.\n\nLyon is a city.",
    "question": "What is the capital of France?",
    "answer": "Paris",
    "answers": ["Paris", "the city of Paris"],
}
"""An example of a dataset, for components whose manifest names no example."""

PROCESSED: dict[str, Any] = {"response": "Paris"}
"""An output of a system, for evaluators whose manifest names no example."""

GOLD = frozenset({"answer", "answers"})
"""The fields of :data:`ORIGINAL` that are gold answers."""

UNUSUAL_TEXTS: Mapping[str, str] = {
    "empty": "",
    "white space": " \n\t ",
    "Unicode": "Ünïcödé \u0000 \u202eright-to-left\u202c \U0001f9ea\u200d\U0001f52c e\u0301 \u6771\u4eac",
    "1 MB": "word " * 200_000,
}
"""Texts that a dataset or a model may return, by what is unusual about them."""


class Example:
    """One call of a component.

    Attributes:
        options: Options of the component.
        original: Fields of the example.
        processed: Fields of the output.
        config: Configuration of a dataset.
        split: Split of a dataset.
        is_declared: Whether the manifest names the example.
    """

    def __init__(self, declared: Any = None) -> None:
        self.is_declared = declared is not None
        self.options: dict[str, Any] = dict(declared.options) if declared else {}
        self.original: dict[str, Any] = dict(declared.original) if declared else {}
        self.processed: dict[str, Any] = dict(declared.processed) if declared else {}
        self.config: str | None = declared.config if declared else None
        self.split: str | None = declared.split if declared else None
        self.original = self.original or dict(ORIGINAL)
        self.processed = self.processed or dict(PROCESSED)


def examples_of(component: Component) -> list[Example]:
    """Return the examples that the manifest names, or the example of the kind."""
    declared = component.manifest.examples
    return [Example(one) for one in declared] or [Example()]

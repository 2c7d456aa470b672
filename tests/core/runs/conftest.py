from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class Echo:
    """A system that answers with the question."""

    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}


class Same:
    """An evaluator: is the response the answer?"""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original.get("answer") is None:
            return {}
        return {"same": float(original["answer"] == processed["response"])}


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def same() -> Same:
    return Same()


@pytest.fixture
def make_system() -> Callable[..., Any]:
    """Make a system of a name and a function."""

    def make(name: str, function: Callable[[dict[str, Any]], Any], **attributes: Any) -> Any:
        methods = {"name": name, "process": lambda self, example: function(example), **attributes}
        return type("Made", (), methods)()

    return make


@pytest.fixture
def make_evaluator() -> Callable[..., Any]:
    """Make an evaluator of a name and a function."""

    def make(name: str, function: Callable[[Any, Any], Any]) -> Any:
        return type(
            "Made",
            (),
            {
                "name": name,
                "score": lambda self, original, processed: function(original, processed),
            },
        )()

    return make

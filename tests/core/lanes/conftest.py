from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


class Same:
    """An evaluator: is the response the answer?"""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(original["answer"] == processed["response"])}


@pytest.fixture
def same() -> Same:
    return Same()


@pytest.fixture
def make_system() -> Callable[..., Any]:
    """Make a system of functions; with ``aprocess`` it runs on the event loop."""

    def make(function: Callable[[dict[str, Any]], Any] | None = None, **attributes: Any) -> Any:
        methods = {
            name: staticmethod(value) if callable(value) else value
            for name, value in attributes.items()
        }
        methods["process"] = staticmethod(function or _never)
        return type("Made", (), {"name": "made", **methods})()

    return make


def _never(example: dict[str, Any]) -> Any:
    raise AssertionError("the blocking method was called")


@pytest.fixture
def make_examples() -> Callable[[int], list[dict[str, Any]]]:
    return lambda count: [
        {"id": f"e{n}", "question": str(n), "answer": str(n % 7)} for n in range(count)
    ]

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from context_bench.records import EvalRow, Failure, KeyMeaning

MEANINGS = {"f1": KeyMeaning("d/e", 0.0), "other": KeyMeaning("d/o", 0.0)}


@pytest.fixture
def make_row() -> Callable[..., EvalRow]:
    """Make a row with a primary score ``f1``, or one that failed."""

    def make(score: float | None = None, *, failed: bool = False, **values: Any) -> EvalRow:
        errors = (Failure("system", "TimeoutError", "late"),) if failed else ()
        scores = {} if score is None else {"f1": score}
        row: dict[str, Any] = {"errors": errors, "primary": "f1", "keys": MEANINGS, **values}
        return EvalRow(system="s", example_id="x", scores=scores, **row)

    return make


@pytest.fixture
def make_system() -> Callable[..., Any]:
    """Make a system of a name and a function."""

    def make(name: str, function: Callable[[dict[str, Any]], Any]) -> Any:
        methods = {"name": name, "process": lambda self, example: function(example)}
        return type("Made", (), methods)()

    return make

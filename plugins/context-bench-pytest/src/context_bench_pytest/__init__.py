"""Benchmarks in the tests of a system: a pytest plugin with a fixture that runs one, and two assertions about its scores.

>>> from context_bench import evaluate
>>> from context_bench_pytest import assert_score
>>> class Exact:
...     name = "exact"
...     def score(self, original, processed):
...         return {"exact": float(original["answer"] == processed["response"])}
>>> examples = [{"id": "q", "question": "Capital of France?", "answer": "Paris"}]
>>> result = evaluate(lambda example: "Paris", examples, [Exact()], progress=False)
>>> assert_score(result, "exact", at_least=0.9)

pytest imports this package in every session, so that a public name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_bench_pytest.baseline_assertion import InconclusiveWarning, assert_not_worse
    from context_bench_pytest.runner import BenchmarkRunner
    from context_bench_pytest.score_assertion import assert_score

__all__ = ["BenchmarkRunner", "InconclusiveWarning", "assert_not_worse", "assert_score"]

_MODULES = {
    "BenchmarkRunner": "runner",
    "InconclusiveWarning": "baseline_assertion",
    "assert_not_worse": "baseline_assertion",
    "assert_score": "score_assertion",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

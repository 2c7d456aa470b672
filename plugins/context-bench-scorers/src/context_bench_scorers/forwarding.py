"""The built-in scorers, wherever their packages are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from context_bench.installation import install_hint

BROUGHT_BY = {
    "bertscore": "context-bench-scorers-embedding",
    "exact_match": "context-bench-scorers-text",
    "hallucination": "context-bench-scorers-judge",
    "hedging_language": "context-bench-scorers-embedding",
    "python_unit_testing": "context-bench-scorers-code",
    "qa_quality": "context-bench-scorers-judge",
    "readability": "context-bench-scorers-text",
    "specificity": "context-bench-scorers-text",
    "summary_quality": "context-bench-scorers-judge",
    "word_count_match": "context-bench-scorers-text",
}
"""The distribution that brings each of the page's submodules."""

STANDS_ON = {
    "context-bench-scorers-code": ("context-bench-code",),
    "context-bench-scorers-judge": ("context-bench-http", "context-bench-judging"),
}
"""What a distribution needs beside core and this package, what needs nothing first."""


def brought(module: str) -> ModuleType:
    """Return a submodule of the package that brings it.

    Raises:
        ImportError: That package is not installed; the message has the install line. A fault inside of it comes out as
            it is.
    """
    distribution = BROUGHT_BY[module]
    needed = [*STANDS_ON.get(distribution, ()), "context-bench-scorers", distribution]
    package = distribution.replace("-", "_")
    try:
        return import_module(f"{package}.{module}")
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            f"context_bench_scorers.{module} comes with {distribution}, which is not installed: "
            f"{install_hint(*needed)}",
            name=f"context_bench_scorers.{module}",
        ) from None

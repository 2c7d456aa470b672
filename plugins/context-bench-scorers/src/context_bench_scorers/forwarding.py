"""The built-in scorers, wherever their packages are."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

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


def brought(module: str) -> ModuleType:
    """Return a submodule of the package that brings it.

    Raises:
        ImportError: That package is not installed; the message has the install line. A fault inside of it comes out as
            it is.
    """
    from context_bench.plugins.catalog import install_line

    distribution = BROUGHT_BY[module]
    package = distribution.replace("-", "_")
    try:
        return import_module(f"{package}.{module}")
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(
            f"context_bench_scorers.{module} comes with {distribution}, which is not installed. "
            f"From a checkout: {install_line(distribution)}",
            name=f"context_bench_scorers.{module}",
        ) from None

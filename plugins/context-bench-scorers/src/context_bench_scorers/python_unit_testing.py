"""The page's submodule `python_unit_testing`: forwards to context-bench-scorers-code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_code.python_unit_testing import (
        PythonUnitTesting as PythonUnitTesting,
    )  # type: ignore[import-not-found, unused-ignore]
else:
    PythonUnitTesting = brought("python_unit_testing").PythonUnitTesting

__all__ = ["PythonUnitTesting"]

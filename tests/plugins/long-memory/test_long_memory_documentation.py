"""The docstrings say what the code does; tests/contract/test_conformance.py holds the manifest."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import context_bench_long_memory


def test_the_examples_of_the_docstrings_run():
    folder = Path(context_bench_long_memory.__file__).parent
    names = [
        "context_bench_long_memory",
        *(f"context_bench_long_memory.{module.name}" for module in iter_modules([str(folder)])),
    ]
    results = [doctest.testmod(import_module(name)) for name in names]
    assert all(result.failed == 0 for result in results)

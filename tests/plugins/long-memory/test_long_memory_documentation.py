"""The manifest and the docstrings say what the code does."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import context_bench_long_memory
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import try_load


def test_the_manifest_holds():
    ours = [
        component
        for component in discover()
        if component.distribution.name == "context-bench-long-memory"
    ]
    assert ours
    for component in ours:
        assert (component.state, component.reason, component.distribution.warnings) == (
            "ok",
            "",
            (),
        )
        assert try_load(component)[0].state == "ok"


def test_the_examples_of_the_docstrings_run():
    folder = Path(context_bench_long_memory.__file__).parent
    names = [
        "context_bench_long_memory",
        *(f"context_bench_long_memory.{module.name}" for module in iter_modules([str(folder)])),
    ]
    results = [doctest.testmod(import_module(name)) for name in names]
    assert all(result.failed == 0 for result in results)

"""The examples of the README and of the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import context_bench_multiple_choice

README = (
    Path(__file__).resolve().parents[3] / "plugins" / "context-bench-multiple-choice" / "README.md"
)
MODULES = [module.name for module in pkgutil.iter_modules(context_bench_multiple_choice.__path__)]


def test_the_readme_is_true():
    failed, tried = doctest.testfile(str(README), module_relative=False, encoding="utf-8")
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("name", MODULES)
def test_the_docstrings_are_true(name):
    module = importlib.import_module(f"context_bench_multiple_choice.{name}")
    assert doctest.testmod(module).failed == 0

"""The examples of the docstrings and of the README run as they are written."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import context_bench_inspect

FOLDER = Path(context_bench_inspect.__file__).parent
README = Path(__file__).parents[3] / "plugins" / "context-bench-inspect" / "README.md"
NAMES = ["", *(f".{module.name}" for module in iter_modules([str(FOLDER)]))]


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_docstrings_run(name: str) -> None:
    assert doctest.testmod(import_module(f"context_bench_inspect{name}")).failed == 0


def test_examples_of_the_readme_run() -> None:
    result = doctest.testfile(str(README), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0

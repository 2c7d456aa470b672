"""The page "How a row travels" lists what a run calls for every row."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def route(root: Path) -> ModuleType:
    """The module docs/row_route.py."""
    spec = spec_from_file_location("context_bench_row_route", root / "docs" / "row_route.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def traced(route: ModuleType) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = route.trace()
    return found


def test_each_function_of_a_step_is_called_for_every_row(
    route: ModuleType, traced: set[tuple[str, str]]
) -> None:
    listed = [function for step in route.STEPS for function in step.functions]
    missing = [
        function
        for function in listed
        if (function.split(":")[0], function.split(":")[1].split(".")[-1]) not in traced
    ]
    assert missing == [], "change STEPS in docs/row_route.py, then run `python docs/generate.py`"


def test_each_module_that_a_row_passes_through_is_in_a_step(
    route: ModuleType, traced: set[tuple[str, str]]
) -> None:
    listed = {module for step in route.STEPS for module in step.modules}
    assert {module for module, _ in traced} - listed == set(), "change STEPS in docs/row_route.py"


def test_the_tracer_misses_no_module_of_the_run(traced: set[tuple[str, str]]) -> None:
    """A tracer that sees nothing would make the other tests pass."""
    assert len({module for module, _ in traced}) >= 5
    assert len(traced) >= 20

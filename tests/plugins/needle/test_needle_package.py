from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_needle
from context_bench_needle import (
    RULER_NAMES,
    RULER_TASK_NAMES,
    RULER_TASKS,
    TASKS,
    NeedleOracle,
    NeedleRecall,
    needle,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGE = Path(context_bench_needle.__file__).parent
MANIFEST: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))
README = Path(__file__).resolve().parents[3] / "plugins" / "context-bench-needle" / "README.md"
PYPROJECT = README.with_name("pyproject.toml")


@pytest.mark.parametrize(
    ("component", "kind"),
    [(needle, "datasets"), (NeedleRecall, "evaluators"), (NeedleOracle, "systems")],
    ids=["needle", "needle-recall", "needle-oracle"],
)
def test_the_manifest_declares_the_options_that_the_code_takes(component: Any, kind: str) -> None:
    ((_, facts),) = MANIFEST[kind].items()
    parameters = inspect.signature(component).parameters
    taken = {
        name: each.default
        for name, each in parameters.items()
        if name not in ("limit", "config", "split")
    }
    declared = facts.get("options", {})
    assert list(declared) == list(taken)
    for name, option in declared.items():
        default = {"length": None, "depth": None}.get(name, option.get("default"))
        assert default == taken[name]
    assert getattr(context_bench_needle, facts["class"]) is component


def test_the_manifest_names_the_configurations_and_fields_of_the_rows() -> None:
    facts = MANIFEST["datasets"]["needle"]
    assert facts["configs"] == [
        *TASKS,
        "all",
        *RULER_NAMES,
        *RULER_TASKS,
        *RULER_TASK_NAMES,
        "ruler",
    ]
    for config in facts["configs"]:
        for split in [None, *facts["splits"]]:
            (row,) = needle(1, config, split)
            assert [*row] + [name for name in facts["fields"] if name not in row] == facts["fields"]
            assert set(facts["fields"]) - set(row) <= {"match"}
    assert next(iter(needle(1)))["task"] == facts["default_config"]


def test_the_example_of_the_readme_runs(
    run_readme: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_readme()
    assert "needle_recall" in capsys.readouterr().out


def test_the_readme_names_every_configuration_and_option() -> None:
    text = README.read_text("utf-8")
    for word in [
        *TASKS,
        *RULER_NAMES,
        *RULER_TASKS,
        *RULER_TASK_NAMES,
        *inspect.signature(needle).parameters,
        "needle_recall",
        "word_boundary",
    ]:
        assert f"`{word}`" in text or f"`{word}=" in text or word in ("limit", "config", "split")

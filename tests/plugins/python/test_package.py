from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_python

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PACKAGE = Path(context_bench_python.__file__).parent
SYSTEMS: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))[
    "systems"
]


def test_the_public_names_are_the_classes_of_the_manifest() -> None:
    assert sorted(context_bench_python.__all__) == sorted(
        system["class"] for system in SYSTEMS.values()
    )


def test_the_blocks_of_the_readme_run(run_readme: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_readme()
    assert "{'response': '3 passages on Where is Rome?'}" in capsys.readouterr().out

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import context_bench_command

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PACKAGE = Path(context_bench_command.__file__).parent
SYSTEMS: dict[str, Any] = tomllib.loads((PACKAGE / "context_bench_plugin.toml").read_text("utf-8"))[
    "systems"
]


CLASSES = {
    name: getattr(context_bench_command, system["class"]) for name, system in SYSTEMS.items()
}


@pytest.fixture(autouse=True)
def _sources_beside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(request.path.parent)


def test_what_needs_a_program_or_the_network_says_so() -> None:
    for name, system in SYSTEMS.items():
        assert "subprocess" in system["capabilities"]
        assert ("network" in system["capabilities"]) == name.endswith("-cli")


def test_the_blocks_of_the_readme_run(run_readme: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_readme()
    assert "{'response': 'ROME IS IN ITALY." in capsys.readouterr().out

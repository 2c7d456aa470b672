"""The benchmarks run, and tell what they could not measure."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.one_python

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("side_by_side", FOLDER / "side_by_side.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ENVIRONMENTS", tmp_path)
    return module


@pytest.mark.parametrize("name", ["OURS", "THREADS", "ASYNC", "LOOP", "POOL", "SEMAPHORE"])
def test_a_runner_scores_all_rows_and_says_what_it_took(
    side_by_side: ModuleType, name: str
) -> None:
    found = side_by_side.run(getattr(side_by_side, name), rows=30, call=0.001, workers=4, warm_up=2)
    assert found["rows"] == 30
    assert found["seconds"] >= 30 / 4 * 0.001
    assert found["cpu"] >= 0
    assert found["mib"] > -1  # the kernel's counts lag a little


def test_a_finished_run_is_resumed_from_its_run_file(
    side_by_side: ModuleType, tmp_path: Path
) -> None:
    path = str(tmp_path / "run.sqlite")
    side_by_side.run(side_by_side.OURS, rows=20, path=path)
    assert side_by_side.run(side_by_side.OURS, rows=20, path=path)["rows"] == 20


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc")
def test_the_memory_of_a_run_does_not_grow_with_its_rows(
    side_by_side: ModuleType, tmp_path: Path
) -> None:
    """Rows of 4,000 bytes would add 37 MiB if they were held; ids of examples are remembered up to a limit."""
    added = [
        side_by_side.run(
            side_by_side.OURS,
            rows=rows,
            size=4000,
            workers=16,
            path=str(tmp_path / f"{rows}.sqlite"),
        )["mib"]
        for rows in (2_000, 12_000)
    ]
    assert added[1] - added[0] < 12


def test_a_peer_that_cannot_be_installed_stays_in_the_table(
    side_by_side: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_uv = tmp_path / "no-uv"
    no_uv.mkdir()
    monkeypatch.setenv("PATH", str(no_uv))
    monkeypatch.setattr(sys, "executable", str(no_uv / "python"))
    found = side_by_side.cells(
        3, lambda: [str(side_by_side.run(side_by_side.INSPECT)["seconds"]), "", ""]
    )
    assert found == "not installed |  | "
    assert side_by_side.versions([side_by_side.INSPECT]).endswith("inspect-ai: not installed.")


def test_a_runner_that_breaks_is_told_with_its_last_line(side_by_side: ModuleType) -> None:
    found = side_by_side.cells(
        2, lambda: [str(side_by_side.run(side_by_side.LOOP, rows="many")["seconds"]), ""]
    )
    assert found.startswith("failed: TypeError")


def test_each_peer_of_the_tables_says_what_is_installed_for_it(side_by_side: ModuleType) -> None:
    assert set(side_by_side.requirements()) == {runner.peer for runner in side_by_side.PEERS}
    assert all("==" in asked[0] for asked in side_by_side.requirements().values())


def test_a_benchmark_that_there_is_not_is_refused_with_the_names_that_there_are() -> None:
    command = [sys.executable, str(FOLDER / "write_table.py"), "thruput"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no benchmark is called 'thruput'" in done.stderr
    assert "throughput" in done.stderr

"""SIGKILL in each phase of a run file's life: nothing is requested again, nothing is lost, every file can be continued.

The points are drawn with a fixed seed and do not depend on time; `python tests/benchmarks/bench_kills.py` does sixty.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_conversations", reason="every fourth row is a conversation")
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(
        not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform"
    ),
]


def load() -> Any:
    spec = spec_from_file_location(
        "killing", Path(__file__).parents[2] / "benchmarks" / "killing.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["killing"] = module
    spec.loader.exec_module(module)
    return module


KILLING = load()


@pytest.fixture
def workplace(tmp_path: Path) -> Iterator[Any]:
    KILLING.install(tmp_path / "site")
    server = KILLING.Server()
    yield KILLING.Workplace(tmp_path, server)
    server.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_kill_in_each_phase_loses_nothing_and_repeats_no_committed_request(
    workplace: Any, tmp_path: Path, seed: int
) -> None:
    whole = KILLING.undisturbed(workplace, tmp_path / "whole.sqlite")
    assert len(whole["run"]) == 2 * KILLING.ROWS
    damage = KILLING.Damage()
    kills = KILLING.draw_kills(seed)
    KILLING.live(workplace, tmp_path / "killed.sqlite", whole, kills, damage)
    assert damage.missed == []
    assert damage.kills == dict.fromkeys(KILLING.PHASES, 1)
    assert set(damage.faults.values()) == {0}
    assert 0 <= damage.extra <= len(KILLING.PHASES) * KILLING.WORKERS

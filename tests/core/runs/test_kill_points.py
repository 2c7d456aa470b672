"""SIGKILL before and after every kind of step that writes a run file: nothing is asked again, nothing lost, every file goes on.

The points are drawn with a fixed seed and have nothing to do with time; `nox -s bench -- kills` does a hundred at random moments.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("context_bench_conversations", reason="every fourth row is a conversation")
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(
        not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform"
    ),
]
ROWS = 16
WHILE_CREATED = ["before os.replace 1", "after os.replace 1", "before RunFile.begin 1"]
WHILE_RUNNING = ["RunFile.commit", "RunFile.keep_turn"]
AT_THE_END = [
    "before RunFile.settle_headlines 1",
    "after RunFile.finish 1",
    "before RunFile.close 1",
]
WHILE_RESCORED = [
    "before os.replace 1",
    "after os.replace 1",
    "after RunFile.commit 1",
    "before Rescoring.publish 1",
]
AFTER_RESCORED = [
    "before RunFile.copy_into 1",
    "after RunFile.copy_into 1",
    "before RunFile.close 1",
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
def work(tmp_path: Path) -> Iterator[Any]:
    KILLING.install(tmp_path / "site")
    server = KILLING.Server()
    yield KILLING.Work(tmp_path, server, ROWS)
    server.close()


def points(chance: Random) -> dict[str, list[str]]:
    """Return the points of the sessions to come, by command; a session for which none is left is not killed."""
    drawn = [f"{chance.choice(['before', 'after'])} {step} 1" for step in WHILE_RUNNING]
    return {
        "run": [chance.choice(WHILE_CREATED[:1]), chance.choice(WHILE_CREATED[1:])],
        "resume": [*drawn, chance.choice(AT_THE_END)],
        "rescore": [chance.choice(WHILE_RESCORED), chance.choice(AFTER_RESCORED)],
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_asked_again_nothing_lost_and_every_file_goes_on(
    work: Any, tmp_path: Path, seed: int
) -> None:
    whole = KILLING.undisturbed(work, tmp_path / "whole.sqlite")
    assert len(whole["run"]) == ROWS
    left = points(Random(seed))
    count = sum(map(len, left.values()))
    found = KILLING.Found({})
    path = tmp_path / "killed.sqlite"
    KILLING.life(
        work,
        path,
        whole,
        found,
        lambda command: {"point": left[command].pop(0)} if left[command] else {},
    )
    assert sum(found.kills.values()) == count - len(left["run"])
    assert found.kills.keys() == {"creation", "run", "rescore"}
    assert 0 <= found.beyond <= count * KILLING.WORKERS
    assert (found.again, found.lost, found.refused, found.differing, found.half_shown) == (
        0,
        0,
        0,
        0,
        0,
    )

"""Drivers, connections and the server are broken off at thirty moments, and nothing is lost, nothing requested again."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from killing import WORKERS, Damage, Server, install, live, undisturbed
from team_kills import POINTS, Alone, Team, draw

RUNS = int(os.environ.get("KILLED_RUNS", "5"))
"""Runs, each of which is broken off once in each phase."""


def test_thirty_kills_lose_nothing_and_repeat_no_committed_request(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "reader"))
    install(tmp_path / "site")
    endpoint = Server()
    database = f"kills_{time.monotonic_ns()}"
    server.execute(f"CREATE DATABASE {database}")
    try:
        whole = undisturbed(Alone(tmp_path, endpoint), tmp_path / "whole.sqlite")
        damage = Damage()
        with closing(Team(tmp_path, endpoint, server, database)) as team:
            for number in range(RUNS):
                live(team, Path(f"run-{number}"), whole, draw(number), damage)
    finally:
        endpoint.close()
    assert damage.missed == []
    assert damage.kills == dict.fromkeys(POINTS, RUNS)
    assert set(damage.faults.values()) == {0}, damage.faults
    assert team.late == 0
    assert 0 <= damage.extra <= len(POINTS) * RUNS * WORKERS

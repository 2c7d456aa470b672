"""The command line, end to end: recorded sessions, a compressor, and what survived, with nothing else to be said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.runs import open_run

pytest.importorskip("context_bench_compress")

SHARED = Path(__file__).parents[4] / "shared" / "data" / "sessions"
IS_REQUIRED = os.environ.get("CONTEXT_BENCH_SHARED") == "required"  # then what is missing fails


def session() -> list[dict[str, Any]]:
    """Return a session whose facts stand in prose, in JSON with escapes, in numbered lines and in arguments of calls."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "why does the job fail?"}]
    results = [
        json.dumps(
            {
                "server": {"port": 8443, "root": "/srv/qx/l\u00e4yers"},
                "note": "line one\nretries were 917 today",
            }
        ),
        "the old mirror is kept in /srv/old/mirror today, says the log\n\n\nand the build took 7421 seconds in all",
        "   1\tthe cache of the second worker lives in /var/lib/second/cache now\n   2\tport of the relay is 5599 for us",
    ]
    for number, text in enumerate(results):
        arguments = json.dumps({"path": f"/notes/part-{number}.txt", "limit": 1000 + number})
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read", "arguments": arguments},
        }
        found.append({"role": "assistant", "content": "", "tool_calls": [call]})
        found.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return [*found, {"role": "assistant", "content": "the port is 8443, in /srv/old/mirror"}]


def run(tmp_path: Path, *arguments: str) -> dict[str, dict[str, float]]:
    """Return the lowest of each score of a run, by system; of what counts faults the highest."""
    tmp_path.mkdir(exist_ok=True)
    path = tmp_path / "run.sqlite"
    assert execute(["run", *arguments, "--run-file", str(path)]) == 0
    found: dict[str, dict[str, float]] = {}
    with open_run(path) as opened:
        for row in opened.rows():
            assert "survival_all" in row.scores
            worst = found.setdefault(row.system, {})
            for key, value in row.scores.items():
                choose = max if key in ("invented", "pair_faults") else min
                worst[key] = choose(value, worst.get(key, value))
    return found


def test_identity_keeps_everything_and_a_compressor_does_not(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    file.write_text(json.dumps(session()))
    dataset = f"sessions,path={file},min_tokens=20,tail=0,cuts=0.8/last"
    found = run(
        tmp_path, "--dataset", dataset, "--system", "identity", "--system", "bm25:ratio=0.25"
    )
    same = {
        key: value
        for key, value in found["identity"].items()
        if key not in ("invented", "pair_faults")
    }
    assert "survival_all" in same
    assert set(same.values()) == {1.0}
    assert (found["identity"]["invented"], found["identity"]["pair_faults"]) == (0.0, 0.0)
    assert 0 < found["bm25"]["survival_all"] < 1
    assert 0.1 < found["bm25"]["kept_ratio"] < 0.5


@pytest.mark.skipif(
    not SHARED.exists() and not IS_REQUIRED, reason="the recorded sessions are not on this machine"
)
@pytest.mark.one_python
def test_identity_keeps_everything_of_recorded_sessions(tmp_path: Path) -> None:
    for folder in ("openai-messages", "pi-transcript"):
        dataset = f"sessions,path={SHARED / folder},min_tokens=500,cuts=0.5/last"
        found = run(tmp_path / folder, "--dataset", dataset, "--system", "identity")["identity"]
        assert found.pop("invented") == found.pop("pair_faults") == 0.0
        assert set(found.values()) == {1.0}, folder

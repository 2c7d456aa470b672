"""A poison row fails alone; too many of them stop the run, early, with exit code 12."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

ROWS = 10_000
Run = Callable[..., Any]


def rows_with_poison(*poisoned: int) -> list[dict[str, Any]]:
    bad = set(poisoned)
    return [
        {
            "id": f"e{n}",
            "question": "q",
            "answer": "Paris",
            "response": None if n in bad else "Paris",
        }
        for n in range(ROWS)
    ]


@pytest.mark.one_python
def test_one_poison_row_in_ten_thousand_fails_alone_and_its_cause_is_told(
    jsonl: Run, tmp_path: Path
) -> None:
    file = jsonl(rows_with_poison(4321))
    command = [sys.executable, "-m", "context_bench", "run", "-s", "replay", "-d", file]
    command += ["--run-file", "r.sqlite", "-o", "out.json", "--format", "none", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert "1 of 10000 rows failed (0.01 %) and count as wrong." in told
    assert "replay, 1 row: " in told
    assert "(explain row r.sqlite 'e4321')" in told
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    values = report["summary"]["replay"]
    assert (values["num_rows"], values["num_scored"], values["num_failed"]) == (ROWS, ROWS - 1, 1)
    assert values["mean_score"] == (ROWS - 1) / ROWS
    [bad] = [row for row in report["rows"] if row["errors"]]
    assert (bad["example_id"], bad["score"], bad["response"]) == ("e4321", 0.0, None)
    assert bad["errors"][0]["kind"] in done.stderr
    assert " ".join(bad["errors"][0]["message"].split())[:60] in told


@pytest.mark.one_python
def test_more_failures_than_allowed_give_exit_code_12_when_nobody_knows_the_size_before(
    context_bench: Run, jsonl: Run
) -> None:
    file = jsonl(rows_with_poison(*range(0, ROWS, 50)))
    done = context_bench(
        "run", "-s", "replay", "-d", file, "--run-file", "r.sqlite", "--format", "none", "-q"
    )
    assert done.code == 12
    assert "200 of 10000 rows failed (2.0 %) and count as wrong." in done.err
    assert "replay, 200 rows: " in done.err
    assert "That is more than the 1 % that --max-failed allows." in done.err


def test_a_run_in_which_no_row_may_fail_ends_with_the_first_that_does_though_nobody_knows_the_size(
    context_bench: Run, jsonl: Run
) -> None:
    file = jsonl(rows_with_poison(20))
    flags = ("--max-failed", "0", "--run-file", "r.sqlite", "--format", "none", "-q")
    done = context_bench("run", "-s", "replay", "-d", file, *flags)
    assert done.code == 12
    assert "Error: 1 of an unknown number of rows have failed, more than the 0 % that" in done.err
    assert "context-bench resume r.sqlite" in done.err
    assert len(context_bench("export", "r.sqlite").out.splitlines()) < 100


@pytest.mark.one_python
def test_a_run_that_cannot_meet_max_failed_any_more_stops_early(
    context_bench: Run, jsonl: Run
) -> None:
    file = jsonl(rows_with_poison(*range(0, ROWS, 5)))
    flags = [
        "-d",
        file,
        "-n",
        str(ROWS),
        "--max-failed",
        "2%",
        "--run-file",
        "r.sqlite",
        "--format",
        "none",
        "-q",
    ]
    done = context_bench("run", "-s", "replay", *flags)
    assert done.code == 12
    assert "201 of 10000 rows have failed" in done.err
    assert "The last one: system: " in done.err
    assert "context-bench resume r.sqlite" in done.err
    known = len(context_bench("export", "r.sqlite").out.splitlines())
    assert 1000 <= known < ROWS // 2
    resumed = context_bench("resume", "r.sqlite", "--max-failed", "60%", "--format", "none", "-q")
    assert resumed.code == 0
    assert "2000 of 10000 rows failed (20.0 %)" in resumed.err


def test_every_kind_of_failure_is_named_once(
    context_bench: Run, jsonl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from context_bench_replay import Replay

    process = Replay.process
    kinds = {1: ValueError, 2: KeyError, 3: OSError, 4: RuntimeError}

    def breaking(self: Any, example: Any) -> Any:
        place = int(example["id"][1:])
        if place % 5 in kinds:
            raise kinds[place % 5](f"two\nlines of {place}")
        return process(self, example)

    monkeypatch.setattr(Replay, "process", breaking)
    file = jsonl(rows_with_poison()[:13])
    done = context_bench(
        "run", "-s", "replay", "-d", file, "--run-file", "r.sqlite", "--format", "none", "-q"
    )
    assert done.code == 12
    lines = [
        line.strip() for line in done.err.splitlines() if "row" in line and "failed" not in line
    ]
    assert lines[:3] == [
        "replay, 3 rows: ValueError: two lines of 1 (explain row r.sqlite 'e1')",
        "replay, 3 rows: KeyError: 'two\\nlines of 2' (explain row r.sqlite 'e2')",
        "replay, 2 rows: OSError: two lines of 3 (explain row r.sqlite 'e3')",
    ]
    assert "and 1 other kind of failure" in done.err


@pytest.mark.parametrize("flags", [(), ("--max-failed", "0")], ids=["a dead system", "max-failed"])
def test_a_run_of_which_every_row_failed_names_its_run_file(
    flags: tuple[str, ...], context_bench: Run, jsonl: Run
) -> None:
    file = jsonl(rows_with_poison(*range(500))[:500])
    done = context_bench("run", "-s", "replay", "-d", file, "-n", "500", "-q", *flags)
    assert done.code == 12
    [path] = Path("runs").iterdir()
    assert f"To go on: context-bench resume {path}" in done.err

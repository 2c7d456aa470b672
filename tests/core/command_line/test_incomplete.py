"""A run that is not complete says so wherever its numbers are shown, and the exit code tells the truth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import RunStoppedError
from context_bench.runs import open_run
from context_bench.store.reader import RunReader
from context_bench.store.runfile import RunFile

SLOW = """
import sys, time
from context_bench import evaluate
class Slow:
    name = "slow"
    def process(self, example):
        time.sleep(0.01 if example["id"] == "e0" else 600)
        return {"response": "Paris"}
examples = [{"id": f"e{n}", "question": "q", "answer": "Paris"} for n in range(20)]
evaluate(Slow(), examples, ["answer-quality"], progress=False, run_file=sys.argv[1])
"""


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The run of which one row of twenty was done when it was killed."""
    if not hasattr(signal, "SIGKILL"):
        pytest.skip("there is no SIGKILL on this platform")
    path = tmp_path / "run.sqlite"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(path)])
    while not path.exists() or not list(RunReader(path).row_ids()):
        time.sleep(0.05)
        assert process.poll() is None
    with open_run(path) as run:
        assert f"still running; wait for process {process.pid}" in run.completeness.sentence
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return path


def test_every_reporter_says_how_much_is_there(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "1 of 20 rows: killed; finish it with evaluate("
    for name in ("table", "markdown"):
        assert execute(["report", str(killed), "--format", name]) == 3
        told = capsys.readouterr()
        assert said in " ".join(told.out.split())
        assert said in told.err
    assert execute(["report", str(killed), "--format", "json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["is_complete"] is False
    assert (told["completeness"]["rows_done"], told["completeness"]["rows_expected"]) == (1, 20)
    assert execute(["export", str(killed)]) == 3
    done = capsys.readouterr()
    assert len(done.out.splitlines()) == 1
    assert said in done.err
    for command in ("report", "export"):
        assert execute([command, str(killed), "--partial"]) == 0
        assert said in capsys.readouterr().err


def test_the_command_that_finishes_a_run_of_the_command_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = RunFile.create(path, "run", "now", {"systems": []}, {})
    store.expect(20)
    store.finish("interrupted", "now")
    store.close()
    with open_run(path) as run:
        assert (
            run.completeness.sentence
            == f"0 of 20 rows: interrupted; finish it with `context-bench resume {path}`."
        )


def test_a_run_that_failed_rows_stopped_at_its_end_says_that_no_row_is_missing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.sqlite"

    def answer(example: dict[str, Any]) -> dict[str, Any]:
        if example["id"] == "9":
            raise ValueError("busy")
        return {"response": "a"}

    rows = [{"id": str(n), "question": "q", "answer": "a"} for n in range(10)]
    with pytest.raises(RunStoppedError):
        evaluate(
            answer,
            rows,
            ["answer-quality"],
            progress=False,
            run_file=path,
            max_failed=0.0,
            max_workers=1,
        )
    with open_run(path) as run:
        said = run.completeness.sentence
    assert said == (
        "10 of 10 rows: stopped; no row is missing, and 1 failed; repeat what failed with "
        f"evaluate(..., run_file={str(path)!r}) and the same arguments."
    )

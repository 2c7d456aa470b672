"""Standard output and standard error that are closed, or that nobody reads any more, do no harm."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.console import echo, echo_err
from context_bench.runs import open_run

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="closes the streams of a process as POSIX does"
)

IN_PYTHON = """
from context_bench import evaluate
class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}
examples = [{"id": str(n), "answer": "yes"} for n in range(3)]
result = evaluate(lambda example: "yes", examples, [One()], run_file="r.sqlite")
open("told", "w").write(str(len(result.rows)))
"""
ROWS = [{"id": str(n), "answer": "yes", "response": "yes"} for n in range(3)]
STREAMS = {1: "stdout", 2: "stderr"}


def started(*arguments: str, number: int, is_closed: bool) -> subprocess.CompletedProcess[str]:
    """Run Python with a stream closed, or with one that is a pipe whose reader has left; the other one is told."""
    command = [sys.executable, *arguments]
    if is_closed:
        command = ["sh", "-c", f'exec "$@" {number}>&-', "sh", *command]
    reader, writer = os.pipe()
    os.close(reader)
    streams = {name: writer if of == number else subprocess.PIPE for of, name in STREAMS.items()}
    try:
        return subprocess.run(command, text=True, check=False, **streams)  # type: ignore[call-overload, no-any-return]
    finally:
        os.close(writer)


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "left"])
@pytest.mark.parametrize("number", STREAMS, ids=STREAMS.values())
class TestStreams:
    def test_a_run_in_python_ends_well(
        self, number: int, is_closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        done = started("-c", IN_PYTHON, number=number, is_closed=is_closed)
        assert (done.returncode, Path("told").read_text()) == (0, "3"), done.stderr
        with open_run("r.sqlite") as run:
            assert run.completeness.is_complete

    def test_a_command_ends_well(
        self,
        number: int,
        is_closed: bool,
        tmp_path: Path,
        jsonl: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("answer_quality", "local", "replay"):
            pytest.importorskip(f"context_bench_{name}")
        monkeypatch.chdir(tmp_path)
        asked = [
            "run",
            "--system",
            "replay",
            "--dataset",
            jsonl(ROWS),
            "--evaluators",
            "answer-quality",
        ]
        done = started(
            "-m",
            "context_bench",
            *asked,
            "--run-file",
            "r.sqlite",
            number=number,
            is_closed=is_closed,
        )
        assert done.returncode == 0, done.stderr
        assert "Error" not in (done.stderr or "")
        with open_run("r.sqlite") as run:
            assert run.completeness.is_complete
        for command in (
            ["report", "r.sqlite"],
            ["plugins", "list"],
            ["systems", "list"],
            ["run", "--help"],
        ):
            done = started("-m", "context_bench", *command, number=number, is_closed=is_closed)
            assert done.returncode == 0, (command, done.stderr)
            assert "Error" not in (done.stderr or "")
            assert number == 1 or done.stdout
        assert (
            started(
                "-m", "context_bench", "systems", "lits", number=2, is_closed=is_closed
            ).returncode
            == 2
        )


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a file that is always full"
)
def test_a_full_disk_behind_standard_output_is_told_in_one_line(
    tmp_path: Path, jsonl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("answer_quality", "local", "replay"):
        pytest.importorskip(f"context_bench_{name}")
    monkeypatch.chdir(tmp_path)
    asked = [
        "run",
        "--system",
        "replay",
        "--dataset",
        jsonl(ROWS),
        "--evaluators",
        "answer-quality",
        "-q",
    ]
    for command in (
        [*asked, "--run-file", "r.sqlite"],
        ["report", "r.sqlite", "--format", "json"],
        ["export", "r.sqlite"],
    ):
        with open("/dev/full", "w") as full:
            python = [sys.executable, "-m", "context_bench", *command]
            done = subprocess.run(
                python, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert (
            done.stderr.splitlines()[-1]
            == "Error: The output cannot be written whole: No space left on device."
        )
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
    with open_run("r.sqlite") as run:
        assert run.completeness.is_complete


def test_what_is_told_besides_may_be_lost_and_a_result_may_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    for name in STREAMS.values():
        monkeypatch.setattr(sys, name, Gone())
    echo_err("nobody hears")
    with pytest.raises(BrokenPipeError):
        echo("a number")


def test_a_report_is_written_where_nobody_reads_the_table_to_its_end(
    jsonl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("context_bench_replay", reason="it replies")
    monkeypatch.chdir(tmp_path)
    rows = jsonl([{"question": "q", "answer": "x", "pred": "x"}])
    words = ["run", "-s", "replay:field=pred", "-d", rows, "-q", "-o", "table.md"]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        subprocess.run(
            [sys.executable, "-m", "context_bench", *words],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert "1.0000" in (tmp_path / "table.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_standard_output_cannot_encode_is_escaped_and_json_stays_json(
    encoding: str, tmp_path: Path, jsonl: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("answer_quality", "local", "replay"):
        pytest.importorskip(f"context_bench_{name}")
    monkeypatch.chdir(tmp_path)
    text = "\u00e4 \u65e5 \U0001f600"
    asked = [
        "run",
        "--system",
        f"{text[:3]}=replay",
        "--dataset",
        jsonl([{"id": text, "response": text, "answer": text}]),
    ]
    table = [*asked, "--evaluators", "answer-quality", "--run-file", "r.sqlite", "-q"]
    for command in (table, ["report", "r.sqlite", "--format", "json"], ["export", "r.sqlite"]):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run(
            [sys.executable, "-m", "context_bench", *command],
            capture_output=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        out = done.stdout.decode(encoding)
        assert "\\u65e5" in out
        if command is not table:
            assert text in json.dumps(json.loads(out), ensure_ascii=False)

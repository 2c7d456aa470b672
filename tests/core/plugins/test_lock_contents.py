"""The lock holds options of evaluators, the code of editable installs and the files of datasets, and drift of each is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from context_bench.cli import execute
from context_bench.plan import lock_record as module

pytest.importorskip("context_bench_local", reason="reads the file")
pytest.importorskip("context_bench_replay", reason="answers")
pytest.importorskip("context_bench_answer_quality", reason="scores")

RUN = ["--system", "replay", "--dataset", "qa=data.jsonl", "--evaluators", "answer-quality"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("Paris")
    return tmp_path


def write(answer: str) -> None:
    row = {"id": "1", "question": "q", "answer": answer, "response": "Paris"}
    Path("data.jsonl").write_text(json.dumps(row) + "\n")


def locked_run(*more: str) -> int:
    return execute(["run", "--locked", *RUN, *more, "--format", "none", "-q"])


def test_an_unchanged_run_matches_its_lock() -> None:
    assert execute(["lock", *RUN]) == 0
    assert locked_run() == 0


def change_gold(patch: pytest.MonkeyPatch) -> None:
    write("Rome")


def change_code(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "_hash_of_sources", lambda folder: "another")


@pytest.mark.parametrize(
    ("change", "words"),
    [(change_gold, "the source of dataset qa"), (change_code, "the source code of the editable")],
    ids=["gold", "code"],
)
def test_what_changed_since_is_drift(
    change: Callable[[pytest.MonkeyPatch], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert execute(["lock", *RUN]) == 0
    locked = json.loads(Path("context-bench.lock").read_text())
    if change is change_code and not locked.get("content"):
        pytest.skip("nothing is an editable install here")
    change(monkeypatch)
    assert locked_run() == 2
    assert words in capsys.readouterr().err


def test_options_of_evaluators_are_locked(capsys: pytest.CaptureFixture[str]) -> None:
    option = ["--set", "evaluators.answer-quality.contains=word"]
    assert execute(["lock", *RUN]) == 0
    assert locked_run(*option) == 2
    assert "context-bench-answer-quality/answer-quality" in capsys.readouterr().err
    assert execute(["lock", *RUN, *option]) == 0
    assert locked_run(*option) == 0
    assert locked_run() == 2

"""Gold stays home: what a system that was named by a spec is shown of an example."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.runner.parts import Slot, Stream
from context_bench.runner.sight import COLUMNS, EVERYTHING, INPUT, gold_sources, shown

ROW = {
    "id": "1",
    "context": "c",
    "question": "q",
    "choices": ["a", "b"],
    "answer": "gold",
    "answers": ["gold"],
    "correct_letter": "B",
    "aliases": ["gold"],
    "explanation": "gold",
    "pred": "said",
}


def slot(sees: str, reads: tuple[str, ...] | None = None) -> Slot:
    return Slot(0, "s", object(), b"", True, reads, sees=sees)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "stream", "names"),
    [
        (slot(INPUT), Stream(0, None, []), {"id", "context", "question", "choices"}),
        (slot(INPUT), Stream(0, None, [], more_inputs=("pred",)), {"id", "context", "question", "choices", "pred"}),
        (slot(INPUT), Stream(0, None, [], more_inputs=("answer",)), {"id", "context", "question", "choices"}),
        (slot(INPUT), Stream(0, None, [], inputs=("context", "explanation")), {"context", "explanation"}),
        (slot(INPUT, ("pred", "answer")), Stream(0, None, []), {"id", "context", "question", "choices", "pred"}),
        (slot(COLUMNS), Stream(0, None, []), {"id", "context", "question", "choices", "explanation", "pred"}),
        (slot(COLUMNS), Stream(0, None, [], gold=("explanation",)), {"id", "context", "question", "choices", "pred"}),
        (slot(EVERYTHING), Stream(0, None, []), set(ROW)),
    ],
)
def test_a_system_is_shown_its_input(of: Slot, stream: Stream, names: set[str]) -> None:
    assert set(shown(of, stream, ROW)) == names


def test_the_source_of_gold_is_gold() -> None:
    assert gold_sources({"answer": "outputs.0", "question": "q", "target": "t"}, ("target",)) == (
        "outputs.0",
        "outputs",
        "t",
    )


ECHO = """
class Echo:
    name = "echo"

    def process(self, example):
        return {"response": " ".join(sorted(map(str, example)))}


class Oracle(Echo):
    reads_gold = True
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"told_{abs(hash(tmp_path))}"  # a process keeps a module of a name
    Path(f"{module}.py").write_text(ECHO)
    monkeypatch.setenv("TOLD", module)
    Path("rows.jsonl").write_text(json.dumps({**ROW, "outputs": ["gold"]}) + "\n")
    return tmp_path


def spec(name: str) -> str:
    return f"python:target={os.environ['TOLD']}:{name},version=1"


def responses(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[list[str], Mapping[str, Any]]:
    assert execute(["-d", "rows.jsonl", "--format", "json", "-q", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    return [row["response"] for row in told["rows"]], told


def test_a_system_named_by_a_spec_is_not_sent_the_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert responses(capsys, "-s", spec("Echo"))[0] == ["choices context id question"]


def test_the_caller_may_let_it_see_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert responses(capsys, "-s", spec("Echo"), "--input", "pred")[0] == ["choices context id pred question"]


def test_the_column_that_gold_is_taken_from_is_not_sent_either(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = responses(capsys, "-s", spec("Echo"), "--field", "answer=outputs.0", "--input", "outputs")
    assert found[0] == ["choices context id question"]


def test_an_oracle_is_shown_everything_and_is_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, told = responses(capsys, "-s", spec("Oracle"))
    assert "answer" in found[0]
    assert told["config"]["reads_gold"] == ["python"]
    assert execute(["-d", "rows.jsonl", "-s", spec("Oracle")]) == 0
    assert "reads gold" in capsys.readouterr().out


def test_an_object_is_given_the_whole_example() -> None:
    seen: list[dict[str, Any]] = []

    def system(example: dict[str, Any]) -> str:
        seen.append(example)
        return "x"

    evaluate(systems=[system], dataset=[ROW])
    assert seen == [ROW]


def test_what_is_not_sent_is_in_no_response_key(folder: Path) -> None:
    assert execute(["-d", "rows.jsonl", "-s", spec("Echo"), "--run-file", "a.sqlite", "-q"]) == 0
    Path("rows.jsonl").write_text(json.dumps({**ROW, "answer": "mended"}) + "\n")
    assert execute(["-d", "rows.jsonl", "-s", spec("Echo"), "--reuse", "a.sqlite", "--run-file", "b.sqlite", "-q"]) == 0
    with closing(sqlite3.connect("b.sqlite")) as store:
        assert store.execute("SELECT reused FROM responses").fetchall() == [(1,)]

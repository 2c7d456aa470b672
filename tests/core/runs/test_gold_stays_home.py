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
from context_bench.run.datasets import COLUMNS, EVERYTHING, INPUT, RunDataset, gold_sources, shown
from context_bench.run.systems import RunSystem

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


def slot(sees: str, reads: tuple[str, ...] | None = None) -> RunSystem:
    return RunSystem(0, "s", object(), b"", True, reads, sees=sees)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "stream", "names"),
    [
        (slot(INPUT), RunDataset(0, None, []), {"id", "context", "question", "choices"}),
        (
            slot(INPUT),
            RunDataset(0, None, [], more_inputs=("pred",)),
            {"id", "context", "question", "choices", "pred"},
        ),
        (
            slot(INPUT),
            RunDataset(0, None, [], more_inputs=("answer",)),
            {"id", "context", "question", "choices"},
        ),
        (
            slot(INPUT),
            RunDataset(0, None, [], inputs=("context", "explanation")),
            {"context", "explanation"},
        ),
        (
            slot(INPUT, ("pred", "answer")),
            RunDataset(0, None, []),
            {"id", "pred"},
        ),
        (
            slot(COLUMNS),
            RunDataset(0, None, []),
            {"id", "context", "question", "choices", "explanation", "pred"},
        ),
        (
            slot(COLUMNS),
            RunDataset(0, None, [], gold=("explanation",)),
            {"id", "context", "question", "choices", "pred"},
        ),
        (slot(EVERYTHING), RunDataset(0, None, []), set(ROW)),
    ],
)
def test_a_system_is_shown_its_input(of: RunSystem, stream: RunDataset, names: set[str]) -> None:
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


def responses(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[list[str], Mapping[str, Any]]:
    assert execute(["-d", "rows.jsonl", "--format", "json", "-q", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    return [row["response"] for row in told["rows"]], told


def test_a_system_named_by_a_spec_is_not_sent_the_answer(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert responses(capsys, "-s", spec("Echo"))[0] == ["choices context id question"]


def test_the_caller_may_let_it_see_more(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert responses(capsys, "-s", spec("Echo"), "--input", "pred")[0] == [
        "choices context id pred question"
    ]


def test_the_column_that_gold_is_taken_from_is_not_sent_either(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = responses(
        capsys, "-s", spec("Echo"), "--field", "answer=outputs.0", "--input", "outputs"
    )
    assert found[0] == ["choices context id question"]


def test_an_oracle_is_shown_everything_and_is_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert (
        execute(
            [
                "-d",
                "rows.jsonl",
                "-s",
                spec("Echo"),
                "--reuse",
                "a.sqlite",
                "--run-file",
                "b.sqlite",
                "-q",
            ]
        )
        == 0
    )
    with closing(sqlite3.connect("b.sqlite")) as store:
        assert store.execute("SELECT reused FROM responses").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("name", "given", "sent"),
    [
        pytest.param(
            "turns",
            [
                {"role": "user", "content": "q", "answer": "gold"},
                {"role": "user", "content": "r", "aliases": ["gold"]},
            ],
            [{"role": "user", "content": "q"}, {"role": "user", "content": "r"}],
            id="the answer of a turn",
        ),
        pytest.param("turns", ["q", "r"], ["q", "r"], id="turns that are texts"),
        pytest.param(
            "choices",
            [{"text": "a", "is_correct": True}, {"text": "b", "is_correct": False}],
            [{"text": "a"}, {"text": "b"}],
            id="the mark of a choice",
        ),
        pytest.param(
            "metadata", {"page": 3, "answer": "gold"}, {"page": 3}, id="metadata that was asked for"
        ),
        pytest.param(
            "notes",
            {"a": [{"b": {"answers": ["gold"], "c": 1}}]},
            {"a": [{"b": {"c": 1}}]},
            id="deep",
        ),
        pytest.param(
            "tools",
            [{"parameters": {"properties": {"answer": {"type": "string"}}}}],
            [{"parameters": {"properties": {"answer": {"type": "string"}}}}],
            id="the schema of a tool",
        ),
        pytest.param(
            "messages",
            [{"role": "tool", "content": {"answer": "of a tool"}}],
            [{"role": "tool", "content": {"answer": "of a tool"}}],
            id="a recorded session",
        ),
        pytest.param("target", "gold", None, id="gold under another name, which the dataset says"),
    ],
)
def test_gold_inside_of_an_input_field_stays_home_too(name: str, given: Any, sent: Any) -> None:
    row = {"id": "1", "question": "q", name: given}
    stream = RunDataset(0, None, [], more_inputs=("metadata", "notes", "target"), gold=("target",))
    before = json.dumps(row)
    assert shown(slot(INPUT), stream, row).get(name) == sent
    assert shown(slot(EVERYTHING), stream, row) == row
    assert json.dumps(row) == before


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        (["answer=record.gold", "context=record.text"], "context id"),
        (["answers=qa.0.gold", "question=qa.0.q"], "id question"),
        (["answer=outputs.0", "context=outputs.1"], "context id"),
        (["answer=record", "question=qa.0.q"], "id question"),
    ],
)
def test_fields_beside_gold_in_one_column_are_sent_without_it(
    fields: list[str], sent: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "id": "1",
        "record": {"text": "c", "gold": "g"},
        "qa": [{"q": "?", "gold": ["g"]}],
        "outputs": ["g", "c"],
    }
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    flags = [part for field in fields for part in ("--field", field)]
    inputs = [part for name in ("record", "qa", "outputs") for part in ("--input", name)]
    other = {"record", "qa", "outputs"} - {
        field.partition("=")[2].partition(".")[0] for field in fields[:1]
    }
    [found] = responses(capsys, "-s", spec("Echo"), *flags, *inputs)[0]
    assert set(found.split()) == {*sent.split(), *other}


@pytest.mark.parametrize("name", ["outputs", "answer", "correct_letter"])
def test_gold_that_is_asked_for_as_an_input_is_told_to_stay_home(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"id": "1", "question": "q", "outputs": ["g"], "note": "n", "correct_letter": "A"}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    asked = ["--field", "answer=outputs.0", "--input", name, "--input", "note"]
    assert execute(["-d", "rows.jsonl", "-s", spec("Echo"), "--format", "json", *asked]) == 0
    told = capsys.readouterr()
    assert set(json.loads(told.out)["rows"][0]["response"].split()) == {"id", "note", "question"}
    assert f"--input {name} shows systems nothing: {name} holds the gold answers of" in " ".join(
        told.err.split()
    )


@pytest.mark.parametrize(
    "fields", [["answer=record.gold", "context=record"], ["turns=qa", "answers=qa.0.gold"]]
)
def test_a_field_that_would_hold_the_answer_is_refused(
    fields: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [part for field in fields for part in ("--field", field)]
    assert execute(["-d", "rows.jsonl", "-q", "-s", spec("Echo"), *flags]) == 2
    assert "would show systems the answer" in capsys.readouterr().err

"""Ratings that were left in the viewer, as judgements of the responses of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("context_bench_validation", reason="context-bench-validation is not installed")

from context_bench import evaluate
from context_bench.cli import execute
from context_bench.errors import ConfigurationError, DatasetError
from context_bench_validation.viewer_notes import notes_of, read_notes, read_rated_run

ANSWERS = {
    "a": ("Paris", "good"),
    "b": ("Rome or Oslo", "bad"),
    "c": ("Madrid", "good"),
    "d": ("Kyoto", "bad"),
    "e": ("Lima", "good"),
    "f": ("Quito", "unsure"),
}


class Exact:
    name = "exact"
    version = "1"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"exact": float(original["answer"] == processed["response"])}


def reply(example: Any) -> str:
    return ANSWERS[example["id"]][0]


def notes(run: Path, *lines: dict[str, Any]) -> Path:
    path = run.with_name(run.name + ".notes.jsonl")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def rating(example: str, value: str, who: str = "ann", **others: Any) -> dict[str, Any]:
    row = {"run": "run.sqlite", "dataset": "towns", "id": example, "repetition": 0}
    return {**row, "rating": value, "note": "", "who": who, **others}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path, reply)


def make_run(folder: Path, *systems: Callable[[Any], str]) -> Path:
    path = folder / "run.sqlite"
    gold = {"a": "Paris", "b": "Rome", "c": "Madrid", "d": "Tokyo", "e": "Lima", "f": "Quito"}
    examples = [
        {"id": name, "dataset": "towns", "question": f"Capital {name}?", "answer": answer}
        for name, answer in gold.items()
    ]
    evaluate(list(systems), examples, [Exact()], progress=False, run_file=path)
    return path


def test_the_last_rating_of_each_person_counts(run: Path) -> None:
    path = notes(
        run,
        rating("a", "bad"),
        rating("a", "good"),
        rating("a", "bad", who="bob"),
        rating("b", "good"),
        rating("b", "unsure"),
        rating("c", "", note="only a note"),
        {"run": "run.sqlite", "tags": ["first"], "who": "ann"},
    )
    judgements = read_rated_run(path, read_notes(path), None)
    [only] = judgements.ratings
    assert (only.item, only.ratings) == ("towns a", {"good": (1.0, 0.0)})
    assert only.answer.response == "Paris"
    assert only.answer.example["answer"] == "Paris"


def test_a_run_with_several_systems_needs_the_label(tmp_path: Path) -> None:
    def other(example: Any) -> str:
        return "No idea"

    run = make_run(tmp_path, reply, other)
    path = notes(run, rating("a", "good"))
    with pytest.raises(ConfigurationError, match="several: reply, other"):
        read_rated_run(path, read_notes(path), None)
    with pytest.raises(ConfigurationError, match="no system 'third'"):
        read_rated_run(path, read_notes(path), "third")
    [rated] = read_rated_run(path, read_notes(path), "other").ratings
    assert rated.answer.response == "No idea"


def test_a_rating_of_a_row_that_is_not_there_is_an_error(run: Path) -> None:
    path = notes(run, rating("z", "good"))
    with pytest.raises(DatasetError, match="rates 'z' of towns"):
        read_rated_run(path, read_notes(path), None)


def test_a_file_without_a_rating_is_an_error(run: Path) -> None:
    with pytest.raises(DatasetError, match="no row that is rated"):
        read_notes(notes(run, rating("a", "unsure")))


def test_a_run_file_leads_to_its_notes() -> None:
    path = Path("folder", "run.sqlite")
    assert notes_of(path) == notes_of(Path("folder", "run.sqlite.notes.jsonl"))
    assert notes_of(Path("folder", "own.jsonl")) is None


@pytest.mark.parametrize("suffix", ["", ".notes.jsonl"])
def test_the_command_compares_with_the_ratings(
    suffix: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(
        "context_bench_answer_quality", reason="the evaluator that the ratings are compared with"
    )
    notes(run, *(rating(name, value) for name, (_, value) in ANSWERS.items()))
    command = ["evaluators", "validate", "answer-quality", "--score", "exact_match"]
    assert execute([*command, "--against", f"{run}{suffix}", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["layout"] == "ratings of the viewer"
    [kappa] = [line for line in printed["lines"] if line["statistic"] == "Cohen's kappa"]
    assert (kappa["dimension"], kappa["evaluator"]["value"]) == ("good", 1.0)
    assert kappa["evaluator"]["rows"] == 5

"""Logs that inspect_ai wrote, as rows of a run: the numbers are those of the log's own results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import context_bench
from context_bench.errors import ConfigurationError, DatasetError
from context_bench_inspect import InspectRecorded, InspectReplay, InspectScorer, inspect_log
from context_bench_inspect.recorded import number_of

DATA = Path(__file__).parent / "data"
CASES = [
    ("capitals", "match"),
    ("capitals", "includes"),
    ("capitals", "f1"),
    ("capitals", "exact"),
    ("capitals", "pattern"),
    ("colours", "choice"),
    ("epochs", "match"),
    ("epochs", "f1"),
]


def own_number(log: str, scorer: str) -> float:
    """The accuracy or mean that inspect_ai computed."""
    results = json.loads((DATA / f"{log}.json").read_text(encoding="utf-8"))["results"]
    entry = next(entry for entry in results["scores"] if entry["name"] == scorer)
    metrics = entry["metrics"]
    return float(metrics["accuracy" if "accuracy" in metrics else "mean"]["value"])


def examples(log: str) -> list[dict[str, Any]]:
    return list(inspect_log(path=DATA / f"{log}.json"))


def by_id(log: str) -> dict[str, dict[str, Any]]:
    return {example["id"]: example for example in examples(log)}


@pytest.mark.parametrize(("log", "scorer"), CASES)
def test_mean_of_recorded_scores_is_the_number_of_the_log(log: str, scorer: str) -> None:
    values = []
    for example in examples(log):
        output = InspectReplay().process(example)
        values.append(InspectRecorded().score(example, output)[f"inspect_{scorer}"])
    assert sum(values) / len(values) == pytest.approx(own_number(log, scorer), abs=1e-12)


def test_run_reports_the_number_of_the_first_scorer(tmp_path: Path) -> None:
    result = context_bench.evaluate(
        systems=["inspect-replay"],
        dataset=f"inspect-log,path={DATA / 'capitals.json'}",
        run_file=tmp_path / "run.sqlite",
    )
    assert result.is_complete
    mean = result.summary["inspect-replay"]["mean_score"]
    assert mean == pytest.approx(own_number("capitals", "match"), abs=1e-12)


def test_example_has_input_target_response_and_usage() -> None:
    example = by_id("capitals")["it"]
    assert example["question"] == "What is the capital of Italy?"
    assert example["answers"] == ["Rome", "Roma"]
    output = InspectReplay().process(example)
    assert output["response"] == "The capital is Rome"
    assert output["usage"] == {"input_tokens": 12, "output_tokens": 4}
    assert 0 < output["latency"] < 60


def test_choices_have_the_letter_of_the_right_one() -> None:
    rows = by_id("colours")
    assert rows["grass"]["choices"] == ["red", "green", "blue"]
    assert rows["grass"]["correct_letter"] == "B"
    assert rows["snow"]["correct_letter"] == "A"
    assert "correct_letter" not in rows["primary"]
    assert rows["primary"]["target_letters"] == ["A", "C"]


def test_epochs_are_rows_with_ids_of_their_own() -> None:
    rows = examples("epochs")
    assert len(rows) == 10
    assert len({row["id"] for row in rows}) == 10
    assert sorted(row["epoch"] for row in rows) == [1] * 5 + [2] * 5


def test_limit_is_kept() -> None:
    assert len(list(inspect_log(path=DATA / "capitals.json", limit=2))) == 2


def changed(tmp_path: Path, **fields: Any) -> Path:
    log = json.loads((DATA / "capitals.json").read_text(encoding="utf-8"))
    log["samples"][0] |= fields
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def test_failed_sample_is_a_failed_row(tmp_path: Path) -> None:
    path = changed(tmp_path, error={"message": "out of memory", "traceback": ""}, scores=None)
    result = context_bench.evaluate(
        systems=["inspect-replay"],
        dataset=f"inspect-log,path={path}",
        run_file=tmp_path / "run.sqlite",
    )
    failures = [str(failure) for row in result.rows for failure in row.errors]
    assert len(failures) == 1
    assert "out of memory" in failures[0]


def test_cached_tokens_are_part_of_the_input(tmp_path: Path) -> None:
    output = {
        "choices": [{"message": {"role": "assistant", "content": "Paris"}, "stop_reason": "stop"}],
        "usage": {"input_tokens": 5, "output_tokens": 1, "input_tokens_cache_read": 7},
    }
    example = next(inspect_log(path=changed(tmp_path, output=output)))
    assert example["usage"] == {"input_tokens": 12, "output_tokens": 1, "cache_read_tokens": 7}


def test_long_texts_and_messages_are_put_back(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": [{"type": "text", "text": "attachment://abc"}]},
    ]
    path = changed(tmp_path, input=messages, attachments={"abc": "Capital of France?"})
    assert next(inspect_log(path=path))["question"] == "Capital of France?"


def test_reasoning_is_not_part_of_the_response(tmp_path: Path) -> None:
    content = [{"type": "reasoning", "reasoning": "Rome?"}, {"type": "text", "text": "Paris"}]
    output = {"choices": [{"message": {"role": "assistant", "content": content}}]}
    assert next(inspect_log(path=changed(tmp_path, output=output)))["response"] == "Paris"


def test_scores_of_other_scorers_are_details() -> None:
    scores = InspectRecorded().score(
        {}, {"recorded_scores": {"own": 3.5, "match": "P", "parts": {"a": 1}, "none": float("nan")}}
    )
    assert scores == {"inspect_recorded": 3.5, "inspect_match": 0.5}
    assert set(scores.details["other_scores"]) == {"own", "parts", "none"}
    assert InspectRecorded().score({}, {"recorded_scores": {"parts": {"a": 1}}}) == {}


@pytest.mark.parametrize(
    ("value", "number"),
    [("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0), ("Yes", 1.0), ("false", 0.0), ("0.25", 0.25)],
)
def test_letters_and_words_are_numbers(value: Any, number: float) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, "good", float("nan"), None])
def test_what_is_no_number_is_unscored(value: Any) -> None:
    assert number_of(value) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"samples": []}', '{"eval": {}, "samples": 3}'])
def test_file_that_is_not_a_log_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match="not a JSON log of inspect_ai"):
        list(inspect_log(path=path))


def test_sample_without_a_target_names_its_number(tmp_path: Path) -> None:
    log = json.loads((DATA / "capitals.json").read_text(encoding="utf-8"))
    del log["samples"][2]["target"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"sample 3.*target"):
        list(inspect_log(path=path))


def test_options_that_cannot_be_right(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        inspect_log(path=tmp_path / "none.json")
    with pytest.raises(ConfigurationError, match="no configurations"):
        inspect_log(path=DATA / "capitals.json", config="x")
    with pytest.raises(ConfigurationError, match="Unknown scorer 'model_graded_qa'"):
        InspectScorer("model_graded_qa")
    with pytest.raises(ConfigurationError, match="NAME=VALUE"):
        InspectScorer("match", args=["numeric"])


def test_row_of_another_dataset_cannot_be_replayed() -> None:
    with pytest.raises(LookupError, match="inspect-log"):
        InspectReplay().process({"id": "1", "question": "?"})

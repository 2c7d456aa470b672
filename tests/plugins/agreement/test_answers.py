"""Which rows lack a gold answer, what stands in for it, and what a run says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.runs import open_run
from context_bench_agreement import ReferenceAnswers

SOURCE = ReferenceAnswers()


@pytest.mark.parametrize(
    ("needs", "fields"),
    [
        ((), []),
        (("answer|answers",), ["answer", "answers"]),
        (("choices", "answer|correct_letter"), ["answer", "correct_letter"]),
        (("answer|context",), []),
        (("question",), []),
        (("answers", "aliases"), ["answers", "aliases"]),
    ],
)
def test_gold_is_what_an_evaluator_needs_beside_the_prompt(
    needs: tuple[str, ...], fields: list[str]
) -> None:
    assert SOURCE.gold_fields(needs) == fields


@pytest.mark.parametrize(
    ("example", "is_lacking"),
    [
        ({}, True),
        ({"answer": None}, True),
        ({"answer": "  ", "answers": ["", []]}, True),
        ({"answers": {"text": []}}, False),
        ({"answer": 0}, False),
        ({"answers": ["", "red"]}, False),
    ],
)
def test_an_answer_is_absent_where_no_field_says_anything(
    example: dict[str, Any], is_lacking: bool
) -> None:
    assert SOURCE.lacks(example, ("answer", "answers")) is is_lacking


def test_the_answer_of_a_response_takes_the_place_of_every_field_of_gold() -> None:
    example = {"id": "a", "question": "q", "answers": [], "aliases": ["x"]}
    assert SOURCE.filled(example, {"response": "<think>blue?</think>red"}) == {
        "id": "a",
        "question": "q",
        "answer": "red",
    }
    assert SOURCE.filled(example, {"response": None}) is None
    assert SOURCE.filled(example, {}) is None


def test_further_answers_are_told_only_where_the_run_does_not_ask_for_them_anyway() -> None:
    assert "one more call for each" in str(SOURCE.notice("direct", 1, None))
    assert "up to 7 more calls" in str(SOURCE.notice("direct", 1, 7))
    assert SOURCE.notice("direct", 2, 7) is None


class Same:
    """An evaluator of the caller's, without a manifest: it needs an answer for all one knows."""

    name = "same"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return (
            {"same": float(original["answer"] == processed["response"])}
            if "answer" in original
            else {}
        )


class Says:
    """A system that says one thing after the other."""

    def __init__(self, name: str, *said: str) -> None:
        self.name, self._said = name, list(said)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        said = self._said.pop(0)
        return {"response": said}


def test_agreement_and_noise_floor_are_two_numbers_of_one_run() -> None:
    pair = [Says("proxy", "red", "blue"), Says("direct", "red", "red", "blue", "green")]
    examples = [{"id": "a", "question": "q"}, {"id": "b", "question": "q"}]
    told: list[str] = []
    result = evaluate(
        pair, examples, [Same()], reference_from="direct", progress=False, on_warning=told.append
    )
    assert result.summary["proxy"]["agreement"] == 1.0
    assert (
        result.summary["proxy"]["agreement_floor"]
        == result.summary["direct"]["agreement_floor"]
        == 0.5
    )
    assert "mean_score" not in result.summary["proxy"]
    assert any("is asked twice" in line for line in told)


def test_the_part_stands_in_plan_lock_and_run_file(
    context_bench: Any, jsonl: Any, tmp_path: Any
) -> None:
    for package in (
        "context_bench_compress",
        "context_bench_local",
        "context_bench_answer_quality",
    ):
        pytest.importorskip(package, reason="it brings what the run takes")
    asked = ["--system", "identity", "--system", "other=identity", "--reference-from", "identity"]
    asked += [
        "--dataset",
        jsonl([{"context": "c", "question": "q", "response": "red"}]),
        "--evaluators",
        "answer-quality",
    ]
    extension = "context-bench-agreement/agreement"
    assert f"extension {extension} " in context_bench("run", *asked, "--dry-run").out
    assert context_bench("lock", *asked).code == 0
    [lock] = [path for path in tmp_path.iterdir() if path.suffix == ".lock"]
    assert json.loads(lock.read_text())["extensions"][extension]["implements"] == ["answer_source"]
    done = context_bench("run", *asked, "--locked", "--run-file", "r.sqlite")
    assert done.code == 3, done.err  # identity replies nothing, so no row has a score
    with open_run(tmp_path / "r.sqlite") as run:
        assert extension in run.provenance["extensions"]

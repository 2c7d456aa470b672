"""Real outputs of models, against the published accuracies."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from context_bench_multiple_choice import MultipleChoiceAccuracy, find_letter
from context_bench_multiple_choice.extraction import FIRST

pytestmark = [pytest.mark.shared, pytest.mark.one_python]

STATEMENT = re.compile(r"answer is \(?([A-J])\)?")


@pytest.fixture(scope="module")
def mmlu_pro(shared_json):
    return shared_json("outputs/mmlu-pro.gemini-1.5-pro-002.jsonl.gz")


@pytest.fixture(scope="module")
def by_default(mmlu_pro):
    """The scores of all records by the default rules."""
    return scored(mmlu_pro, MultipleChoiceAccuracy())


def scored(records, evaluator):
    return [
        evaluator.score(
            {"choices": record["options"], "correct_letter": record["answer"]},
            {"response": record["model_outputs"] or ""},
        )
        for record in records
    ]


def accuracy(scores):
    return sum(score["mc_accuracy"] for score in scores) / len(scores)


def test_parity_reproduces_the_published_mmlu_pro_accuracy_record_by_record(mmlu_pro):
    scores = scored(mmlu_pro, MultipleChoiceAccuracy(parity="mmlu-pro"))
    assert [score.details["letter"] for score in scores] == [record["pred"] for record in mmlu_pro]
    published = sum(record["pred"] == record["answer"] for record in mmlu_pro) / len(mmlu_pro)
    assert accuracy(scores) == published == pytest.approx(0.7025, abs=5e-5)


def test_where_a_response_states_one_letter_the_published_one_is_found(mmlu_pro, by_default):
    pairs = zip(mmlu_pro, by_default)
    clear = [
        pair for pair in pairs if len(set(STATEMENT.findall(pair[0]["model_outputs"] or ""))) == 1
    ]
    agreeing = sum(score.details["letter"] == record["pred"] for record, score in clear)
    published = sum(record["pred"] == record["answer"] for record, _ in clear) / len(clear)
    assert len(clear) == 10_286
    assert agreeing / len(clear) > 0.998
    assert accuracy([score for _, score in clear]) == pytest.approx(published, abs=0.001)


def test_the_default_reproduces_the_published_mmlu_pro_accuracy(mmlu_pro, by_default):
    published = sum(record["pred"] == record["answer"] for record in mmlu_pro) / len(mmlu_pro)
    assert accuracy(by_default) == pytest.approx(published, abs=0.001)
    assert (
        sum(
            score.details["letter"] == record["pred"] for score, record in zip(by_default, mmlu_pro)
        )
        >= 11_980
    )
    assert sum(score.details["letter"] is None for score in by_default) < 50


def test_of_several_answers_the_last_is_right_more_often_than_the_first_that_is_published(
    mmlu_pro, by_default
):
    """Some 1,700 responses are answer sentences for as many questions as the prompt holds, each in a line."""
    scores = list(by_default)
    several = [
        place for place, score in enumerate(scores) if score.details.get("how") == FIRST
    ]  # the others are read alike
    last = scored([mmlu_pro[place] for place in several], MultipleChoiceAccuracy(several="last"))
    for place, score in zip(several, last):
        scores[place] = score
    assert accuracy(scores) == pytest.approx(0.7207, abs=0.001)
    right = Counter()
    for record, score in zip(mmlu_pro, scores):
        stated = STATEMENT.findall(record["model_outputs"] or "")
        if stated and stated[0] != stated[-1]:
            right.update(
                rows=1,
                first=stated[0] == record["answer"],
                last=stated[-1] == record["answer"],
                found=score["mc_accuracy"],
            )
    assert right["rows"] > 500
    assert right["first"] < 0.12 * right["rows"]
    assert right["last"] > 0.45 * right["rows"]
    assert right["found"] >= right["last"]


def test_texts_that_answer_no_question_with_options_name_none(shared_json):
    """Essays, code and sums: "A: 600" is short for "Answer: 600", and "I will do my best" names no option I."""
    outputs = ("alpaca-eval.gpt4.outputs", "alpaca-eval.vicuna-7b.outputs")
    texts = [
        record["output"]
        for name in outputs
        for record in shared_json(f"outputs/{name}.jsonl.gz")[:500]
    ]
    for record in shared_json("outputs/mt-bench.claude-3-opus-20240229.answers.jsonl.gz"):
        texts += record["choices"][0]["turns"]
    solutions = shared_json("outputs/gsm8k.example-model-solutions.jsonl.gz")[:400]
    texts += [max((str(value) for value in _values(record)), key=len) for record in solutions]
    found = [find_letter(text).letter for text in texts]
    assert len(found) == 1_560
    assert sum(letter is not None for letter in found) <= 8


def _values(record):
    return [
        inner
        for value in record.values()
        for inner in (value.values() if isinstance(value, dict) else [value])
    ]


# Accuracy in per cent by exact match after "the answer is", of all 250 (146) responses of code-davinci-002 to each task.
BIG_BENCH_HARD = {
    "date_understanding": (87.2, 63.6),
    "disambiguation_qa": (76.0, 67.2),
    "geometric_shapes": (54.4, 32.0),
    "logical_deduction_five_objects": (54.8, 32.4),
    "logical_deduction_seven_objects": (38.8, 26.0),
    "movie_recommendation": (90.4, 84.8),
    "penguins_in_a_table": (79.5, 66.4),
    "ruin_names": (68.4, 75.2),
    "salient_translation_error_detection": (60.8, 62.0),
    "temporal_sequences": (96.8, 77.6),
    "tracking_shuffled_objects_seven_objects": (85.6, 14.4),
    "tracking_shuffled_objects_three_objects": (78.4, 37.6),
}


@pytest.mark.parametrize("task", BIG_BENCH_HARD)
def test_big_bench_hard_with_and_without_reasoning(shared_json, task):
    for kind, published in zip(("cot", "direct"), BIG_BENCH_HARD[task]):
        outputs = shared_json(f"outputs/bbh-codex-{kind}/{task}.json.gz")["outputs"]
        right = 0
        for output in outputs:
            choices = re.findall(
                r"^\([A-Z]\) ?(.*)$", output["input"].rpartition("Options:")[2], re.MULTILINE
            )
            row = {"choices": choices, "correct_letter": output["target"]}
            scores = MultipleChoiceAccuracy().score(
                row, {"response": output["prediction"].partition("\n\nQ:")[0]}
            )
            right += scores.get("mc_accuracy", 0.0)
        assert round(100 * right / len(outputs), 1) == published


def test_infinitebench_multiple_choice(shared_json):
    records = shared_json("outputs/infinitebench-gpt4/longbook_choice_eng.jsonl.gz")
    evaluator = MultipleChoiceAccuracy()
    right = sum(
        evaluator.score(
            {"correct_letter": record["ground_truth"][1]}, {"response": record["prediction"]}
        )["mc_accuracy"]
        for record in records
    )
    assert round(100 * right / len(records), 2) == 67.25

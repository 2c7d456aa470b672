"""Published numbers come out of the scores that the datasets are wired to, from the recorded outputs of their authors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate

pytestmark = [pytest.mark.shared, pytest.mark.one_python]
LONGBENCH = (
    *(
        "qasper",
        "hotpotqa",
        "2wikimqa",
        "gov_report",
        "trec",
        "passage_retrieval_en",
        "passage_retrieval_zh",
        "lcc",
    ),
    *("narrativeqa", "musique", "qmsum", "dureader", "vcsum"),
)
INFINITEBENCH = {
    "passkey": 100.0,
    "number_string": 100.0,
    "kv_retrieval": 89.0,
    "longbook_qa_eng": 22.44,
    "longdialogue_qa_eng": 8.5,
    "longbook_choice_eng": 67.25,
    "math_find": 60.0,
    "code_run": 23.25,
    "longbook_sum_eng": 14.73,
    "code_debug": 37.06,
}


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


class Recorded:
    """Answers with what was recorded in the example."""

    name = "recorded"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return dict(example["recorded"])


def primary(name: str, examples: list[dict[str, Any]]) -> float:
    """Return the mean of the wired primary, in percent."""
    labelled = [{"dataset": name, "question": "q", **example} for example in examples]
    result = evaluate(systems=[Recorded()], dataset=labelled, evaluators=None, progress=False)
    [values] = result.summary.values()
    return 100 * float(values["mean_score"])


@pytest.mark.parametrize("task", LONGBENCH)
def test_longbench_of_llama2_7b_chat_4k(outputs: Path, task: str) -> None:
    if task in ("dureader", "vcsum", "passage_retrieval_zh"):
        pytest.importorskip("jieba")
    folder = outputs / "longbench-llama2-7b-chat-4k"
    examples = [
        {
            "answers": row["answers"],
            "all_classes": row["all_classes"],
            "task": task,
            "recorded": {"response": row["pred"]},
        }
        for row in records(folder / f"{task}.jsonl.gz")
    ]
    assert (
        round(primary("longbench", examples), 2)
        == json.loads((folder / "result.json").read_text())[task]
    )


@pytest.mark.parametrize("task", INFINITEBENCH)
def test_infinitebench_of_gpt_4(outputs: Path, task: str) -> None:
    examples = [
        {
            "answers": row["ground_truth"]
            if isinstance(row["ground_truth"], list)
            else [row["ground_truth"]],
            "task": task,
            "recorded": {"response": row["prediction"]},
        }
        for row in records(outputs / "infinitebench-gpt4" / f"{task}.jsonl.gz")
    ]
    assert round(primary("infinitebench", examples), 2) == INFINITEBENCH[task]


def test_the_later_rule_for_code_debug_gives_another_figure(outputs: Path) -> None:
    from context_bench_long_context import InfiniteBench

    later = InfiniteBench(code_debug="last-letter")
    scores = [
        later.score(
            {"answers": row["ground_truth"], "task": "code_debug"}, {"response": row["prediction"]}
        )
        for row in records(outputs / "infinitebench-gpt4" / "code_debug.jsonl.gz")
    ]
    assert (
        round(100 * sum(each["infinitebench_score"] for each in scores) / len(scores), 2) == 52.28
    )


@pytest.mark.parametrize(
    ("file", "published"),
    [
        pytest.param(
            "alpaca-eval.vicuna-7b.weighted-gpt4-turbo.jsonl.gz",
            4.1626,
            id="AlpacaEval 2, Vicuna 7B",
        ),
        pytest.param("alpaca-eval.gpt4.v1-annotations.jsonl.gz", 95.2795, id="AlpacaEval 1, GPT-4"),
    ],
)
def test_alpaca_eval_win_rate(outputs: Path, file: str, published: float) -> None:
    examples = [
        {
            "answer": row["output_1"],
            "question": row["instruction"],
            "recorded": {"response": row["output_2"], "preference": row["preference"]},
        }
        for row in records(outputs / file)
    ]
    assert round(primary("alpaca-eval", examples), 4) == published


def test_swe_bench_lite_of_aider_by_the_report_of_the_harness(outputs: Path) -> None:
    """79 of 300; ten issues had no patch, which counts as not resolved."""
    report = str(outputs / "swebench-lite.aider-results.json")
    examples = [
        {
            "id": row["instance_id"],
            "dataset": "swebench-lite",
            "question": "q",
            "recorded": {"response": row["model_patch"]},
        }
        for row in records(outputs / "swebench-lite.aider-predictions.jsonl.gz")
    ]
    from context_bench_agents import SWEBenchResolved

    result = evaluate(
        systems=[Recorded()],
        dataset=examples,
        evaluators=[SWEBenchResolved(report)],
        progress=False,
    )
    scores = [row.scores["resolved"] for row in result.rows]
    assert (len(scores), round(100 * sum(scores) / len(scores), 2)) == (300, 26.33)


@pytest.mark.parametrize("prompting", ["cot", "direct"])
def test_big_bench_hard_of_code_davinci_002(outputs: Path, prompting: str) -> None:
    published = {
        "boolean_expressions": (92.8, 88.4),
        "date_understanding": (87.2, 63.6),
        "disambiguation_qa": (76.0, 67.2),
        "formal_fallacies": (50.4, 52.4),
        "geometric_shapes": (54.4, 32.0),
        "logical_deduction_five_objects": (54.8, 32.4),
        "logical_deduction_seven_objects": (38.8, 26.0),
        "movie_recommendation": (90.4, 84.8),
        "multistep_arithmetic_two": (47.6, 1.2),
        "object_counting": (93.2, 45.2),
        "penguins_in_a_table": (79.5, 66.4),
        "ruin_names": (68.4, 75.2),
        "salient_translation_error_detection": (60.8, 62.0),
        "sports_understanding": (97.6, 72.8),
        "temporal_sequences": (96.8, 77.6),
        "tracking_shuffled_objects_seven_objects": (85.6, 14.4),
        "tracking_shuffled_objects_three_objects": (78.4, 37.6),
        "word_sorting": (40.4, 50.4),
    }
    for task, scores in published.items():
        path = outputs / f"bbh-codex-{prompting}" / f"{task}.json.gz"
        rows = json.loads(gzip.decompress(path.read_bytes()))["outputs"]
        examples = [
            {"answer": row["target"], "recorded": {"response": row["prediction"]}} for row in rows
        ]
        assert (task, round(primary("bbh", examples), 1)) == (task, scores[prompting == "direct"])


@pytest.mark.parametrize(
    "model", ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]
)
def test_gsm8k_verdicts_of_the_authors(outputs: Path, model: str) -> None:
    """``final_number`` gives their ``is_correct`` for every solution; ``math_equiv``, the primary score, too."""
    rows = [
        row for row in records(outputs / "gsm8k.example-model-solutions.jsonl.gz") if model in row
    ]
    examples = [
        {
            "id": number,
            "dataset": "gsm8k",
            "question": row["question"],
            "answer": row["ground_truth"].rpartition("A:")[2].strip().replace(",", ""),
            "recorded": {"response": row[model]["solution"]},
        }
        for number, row in enumerate(rows)
    ]
    result = evaluate(systems=[Recorded()], dataset=examples, evaluators=None, progress=False)
    verdicts = [bool(row[model]["is_correct"]) for row in rows]
    for key in ("final_number", "math_equiv"):
        given = [row.scores[key] == 1.0 for row in result.rows]
        wrong = [
            index for index, (ours, theirs) in enumerate(zip(given, verdicts)) if ours != theirs
        ]
        assert (key, wrong) == (key, [])

"""The evaluator that calls lm-eval: sample for sample what lm-eval logged, and as a run the numbers of its results file."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import context_bench
from context_bench.errors import ConfigurationError
from context_bench_lm_eval import LMEvalCorpus, LMEvalMetrics, LMEvalReplay, lm_eval_samples

RUN = Path(__file__).parents[2] / "plugins" / "lm-eval" / "data" / "run"
RESULTS = next(RUN.glob("results_*.json"))
OWN = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
CASES = [
    ("bridge_capitals", "none"),
    ("bridge_sums", "strict-match"),
    ("bridge_sums", "flexible-extract"),
    ("bridge_sums", "majority"),
    ("bridge_writers", "tidy"),
]


def sample_file(task: str) -> Path:
    return next(RUN.glob(f"samples_{task}_*.jsonl"))


def logged(task: str, filter_name: str) -> list[dict[str, Any]]:
    lines = sample_file(task).read_text(encoding="utf-8").splitlines()
    return [sample for sample in map(json.loads, lines) if sample["filter"] == filter_name]


@pytest.mark.parametrize(("task", "filter_name"), CASES)
def test_every_sample_has_the_filtered_response_and_the_metric_that_was_logged(
    task: str, filter_name: str
) -> None:
    evaluator = LMEvalMetrics(source=RESULTS, task=task, filter=filter_name)
    rows = list(lm_eval_samples(path=sample_file(task), config=filter_name))
    samples = logged(task, filter_name)
    assert len(rows) == len(samples) > 2
    for example, sample in zip(rows, samples):
        scores = evaluator.score(example, LMEvalReplay().process(example))
        assert scores.details["filtered"] == sample["filtered_resps"][0]
        assert scores["lm_eval_exact_match"] == sample["exact_match"]


@pytest.mark.parametrize(("task", "filter_name"), CASES)
def test_run_has_the_number_of_the_results_file(
    task: str, filter_name: str, tmp_path: Path
) -> None:
    evaluator = LMEvalMetrics(source=RESULTS, task=task, filter=filter_name)
    result = context_bench.evaluate(
        systems=["lm-eval-replay"],
        dataset=f"lm-eval-samples:{filter_name},path={sample_file(task)}",
        evaluators=[evaluator],
        score_field="lm_eval_exact_match",
        run_file=tmp_path / "run.sqlite",
    )
    mean = result.summary["lm-eval-replay"]["mean_score"]
    assert mean == pytest.approx(OWN[task][f"exact_match,{filter_name}"], abs=1e-12)


def test_corpus_metrics_are_lm_evals_own_for_a_corpus_of_one_response() -> None:
    import sacrebleu

    evaluator = LMEvalMetrics(source=RESULTS, task="bridge_capitals")
    for example in lm_eval_samples(path=sample_file("bridge_capitals")):
        scores = evaluator.score(example, LMEvalReplay().process(example))
        reference, response = example["answer"], example["response"]
        assert scores["lm_eval_bleu"] == sacrebleu.corpus_bleu([response], [[reference]]).score
        assert scores["lm_eval_chrf"] == sacrebleu.corpus_chrf([response], [[reference]]).score


@pytest.mark.parametrize("scored_by", ["lm-eval-recorded", "lm-eval"])
def test_corpus_has_the_numbers_of_the_results_file(scored_by: str, tmp_path: Path) -> None:
    own = LMEvalMetrics(source=RESULTS, task="bridge_capitals")
    result = context_bench.evaluate(
        systems=["lm-eval-replay"],
        dataset=f"lm-eval-samples,path={sample_file('bridge_capitals')}",
        evaluators=[own] if scored_by == "lm-eval" else ["lm-eval-recorded"],
        metrics=[LMEvalCorpus()],
        score_field="lm_eval_exact_match",
        run_file=tmp_path / "run.sqlite",
    )
    summary = result.summary["lm-eval-replay"]
    for name in ("bleu", "chrf"):
        expected = OWN["bridge_capitals"][f"{name},none"]
        assert summary[f"lm_eval_corpus:{name}"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "items", "expected"),
    [
        ("f1", [[1, 1], [0, 1], [0, 0]], 2 / 3),
        ("mcc", [[1, 1], [0, 0]], 1.0),
        ("perplexity", [-1.0, -3.0], math.exp(2)),
        ("word_perplexity", [[-6.0, 2], [-2.0, 2]], math.exp(2)),
        ("bits_per_byte", [[-math.log(2), 1], [-math.log(2), 1]], 1.0),
        ("ter", [["a b", "a b"], ["a b c d", "a b c"]], 100 / 6),
    ],
)
def test_metric_of_a_corpus(metric: str, items: list[Any], expected: float) -> None:
    rows = [
        SimpleNamespace(details={"lm-eval": {"lm_eval_items": {metric: item}}}, errors={})
        for item in items
    ]
    assert LMEvalCorpus().compute(rows) == {f"lm_eval_corpus:{metric}": pytest.approx(expected)}


def test_mean_of_bleu_is_not_the_bleu_of_the_corpus() -> None:
    evaluator = LMEvalMetrics(source=RESULTS, task="bridge_capitals")
    values = [
        evaluator.score(example, LMEvalReplay().process(example))["lm_eval_bleu"]
        for example in lm_eval_samples(path=sample_file("bridge_capitals"))
    ]
    own = OWN["bridge_capitals"]["bleu,none"]
    assert abs(sum(values) / len(values) - own) > 1


@pytest.mark.parametrize(
    ("options", "answer", "response", "score"),
    [
        ({}, "Paris", "Paris", 1.0),
        ({}, "Paris", "paris", 0.0),
        ({"ignore": ["case"]}, "Paris", "paris", 1.0),
        ({"ignore": ["punctuation"]}, "Paris", "Paris.", 1.0),
        ({"ignore": ["numbers"]}, "Paris", "Paris 7", 0.0),
        ({"regex": r"(\d+)", "group_select": -1}, "7", "3 + 4 = 7", 1.0),
        ({"regex": r"(\d+)"}, "7", "3 + 4 = 7", 0.0),
        ({"regex": r"(\d+)"}, "7", "seven", 0.0),
    ],
)
def test_filters_and_metrics_by_option(
    options: dict[str, Any], answer: str, response: str, score: float
) -> None:
    evaluator = LMEvalMetrics(**options)
    assert evaluator.score({"answer": answer}, {"response": response}) == {
        "lm_eval_exact_match": score
    }


@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "ter"])
def test_every_metric_by_name(metric: str) -> None:
    evaluator = LMEvalMetrics(metrics=[metric])
    same = {"answer": "the cat sat on the mat"}
    scores = evaluator.score(same, {"response": "the cat sat on the mat"})
    assert list(scores) == [evaluator.primary]
    assert scores[evaluator.primary] == pytest.approx(0.0 if metric == "ter" else 100.0)


def test_reasoning_is_scored_as_lm_eval_scores_it() -> None:
    result = context_bench.evaluate(
        systems=[Thinking()],
        dataset=[{"id": "1", "question": "?", "answer": "7"}],
        evaluators=[LMEvalMetrics(regex=r"(\d+)")],
    )
    assert result.rows[0].scores["lm_eval_exact_match"] == 0.0


class Thinking:
    name = "thinking"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "<think>3 or 4?</think>7"}


def test_task_file_is_read_and_nothing_of_it_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    steps = "filter_list: [{name: last, filter: [{function: regex, regex_pattern: '(\\d)', group_select: -1}, {function: take_first}]}]"
    path.write_text(f"task: own\noutput_type: generate_until\n{steps}\n", encoding="utf-8")
    evaluator = LMEvalMetrics(source=path)
    assert evaluator.score({"answer": "7"}, {"response": "3 and 7"})["lm_eval_exact_match"] == 1.0
    path.write_text("task: own\nprocess_results: !function evil.run\n", encoding="utf-8")
    (tmp_path / "evil.py").write_text("raise SystemExit('executed')", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="function of its own"):
        LMEvalMetrics(source=path).score_keys  # noqa: B018 - reading it reads the file


def test_task_that_lm_eval_brings() -> None:
    evaluator = LMEvalMetrics(task="gsm8k", filter="flexible-extract")
    assert evaluator.settings.filter_names == ["strict-match", "flexible-extract"]
    scores = evaluator.score({"answer": "3 + 4 = 7\n#### 7"}, {"response": "So it is $7."})
    assert scores["lm_eval_exact_match"] == 1.0
    with pytest.raises(ConfigurationError, match="no task 'gsm9k'"):
        LMEvalMetrics(task="gsm9k").score_keys  # noqa: B018


def test_conformance_check_calls_the_evaluator() -> None:
    command = ["plugins", "check", "context-bench-lm-eval", "--run"]
    done = subprocess.run(
        [sys.executable, "-m", "context_bench", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""Files that lm-eval wrote, as rows of a run: the numbers are those of its own results file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import context_bench
from context_bench.errors import ConfigurationError, DatasetError
from context_bench_lm_eval import LMEvalCorpus, LMEvalRecorded, LMEvalReplay, lm_eval_samples
from context_bench_lm_eval.task_settings import settings_from_file

RUN = Path(__file__).parent / "data" / "run"
RESULTS = next(RUN.glob("results_*.json"))
OWN = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
CASES = [
    ("bridge_capitals", "none", "exact_match"),
    ("bridge_sums", "strict-match", "exact_match"),
    ("bridge_sums", "flexible-extract", "exact_match"),
    ("bridge_sums", "majority", "exact_match"),
    ("bridge_colours", "none", "acc"),
    ("bridge_colours", "none", "acc_norm"),
    ("bridge_colours", "none", "acc_bytes"),
    ("bridge_writers", "tidy", "exact_match"),
]


def sample_file(task: str) -> Path:
    return next(RUN.glob(f"samples_{task}_*.jsonl"))


def examples(task: str, config: str | None = None) -> list[dict[str, Any]]:
    return list(lm_eval_samples(path=sample_file(task), config=config))


@pytest.mark.parametrize(("task", "filter_name", "metric"), CASES)
def test_mean_of_recorded_metric_is_the_number_of_the_results_file(
    task: str, filter_name: str, metric: str
) -> None:
    values = []
    for example in examples(task, filter_name):
        output = LMEvalReplay().process(example)
        values.append(LMEvalRecorded().score(example, output)[f"lm_eval_{metric}"])
    assert sum(values) / len(values) == OWN[task][f"{metric},{filter_name}"]


def test_run_reports_the_number_of_lm_eval(tmp_path: Path) -> None:
    result = context_bench.evaluate(
        systems=["lm-eval-replay"],
        dataset=f"lm-eval-samples,path={sample_file('bridge_sums')}",
        run_file=tmp_path / "run.sqlite",
    )
    assert result.is_complete
    summary = result.summary["lm-eval-replay"]
    assert summary["mean_score"] == OWN["bridge_sums"]["exact_match,strict-match"]


def test_first_filter_is_the_default() -> None:
    assert {example["filter"] for example in examples("bridge_sums")} == {"strict-match"}
    assert len(examples("bridge_sums")) == 5


def test_generated_example_has_prompt_gold_and_all_responses() -> None:
    example = examples("bridge_sums")[1]
    assert example["id"] == "bridge_sums/1"
    assert example["question"].startswith("Question: A box holds 12 eggs.")
    assert example["answer"] == "3 * 12 = 36\n#### 36"
    assert example["response"] == "Three boxes of 12 hold 36, so 3 are enough."
    assert len(example["responses"]) == 3
    assert example["filtered_response"] == "[invalid]"


def test_filtered_response_is_replayed_on_request() -> None:
    example = examples("bridge_sums")[0]
    assert LMEvalReplay().process(example)["response"] == "3 + 4 = 7, so\n#### 7"
    assert LMEvalReplay(take="filtered").process(example)["response"] == "7"


def test_multiple_choice_example_has_choices_and_the_most_likely_one() -> None:
    example = examples("bridge_colours")[0]
    assert example["choices"] == ["red", "green", "blue", "very dark violet"]
    assert example["correct_letter"] == "B"
    assert example["answers"] == ["green"]
    assert example["response"] == "green"
    rights = [each["response"] in each["answers"] for each in examples("bridge_colours")]
    assert sum(rights) / len(rights) == OWN["bridge_colours"]["acc,none"]


def test_several_references_are_read_from_the_logged_text() -> None:
    example = examples("bridge_writers")[0]
    assert example["lm_eval_target"] == ["Bram Stoker", "Stoker", "Abraham Stoker"]
    assert example["answers"] == example["lm_eval_target"]


def test_corpus_metrics_are_recorded_as_items() -> None:
    [first, *_] = examples("bridge_capitals")
    assert first["recorded_metrics"] == {"exact_match": 1.0}
    items = {"bleu": ["Paris", "Paris"], "chrf": ["Paris", "Paris"]}
    assert first["recorded_items"] == items
    scores = LMEvalRecorded().score(first, LMEvalReplay().process(first))
    assert scores.details == {"lm_eval_items": items}


def test_corpus_with_a_failed_row_has_no_number_and_says_so() -> None:
    rows = [
        SimpleNamespace(details={"lm-eval": {"lm_eval_items": {"bleu": ["a", "a"]}}}, errors={}),
        SimpleNamespace(details={}, errors={"system": "down"}),
    ]
    corpus = LMEvalCorpus()
    assert corpus.compute(rows) == {}
    [note] = corpus.notes({"mine": {}, "other": {"lm_eval_corpus:bleu": 1.0}}, {})
    assert "for all rows of mine: a row failed" in note


def test_folder_gives_the_samples_of_every_task() -> None:
    rows = list(lm_eval_samples(path=RUN))
    assert [row["task"] for row in rows] == (
        ["bridge_capitals"] * 6
        + ["bridge_colours"] * 5
        + ["bridge_sums"] * 5
        + ["bridge_writers"] * 3
    )
    assert len({row["id"] for row in rows}) == 19
    assert len(list(lm_eval_samples(path=RUN, limit=2))) == 2


def test_answer_of_another_system_gets_no_recorded_score() -> None:
    assert LMEvalRecorded().score(examples("bridge_sums")[0], {"response": "7"}) == {}


def test_other_systems_see_neither_gold_nor_recorded_responses(tmp_path: Path) -> None:
    seen: list[set[str]] = []

    class Spy:
        name = "spy"

        def process(self, example: dict[str, Any]) -> dict[str, Any]:
            seen.append(set(example))
            return {"response": "7"}

    context_bench.evaluate(
        systems=[Spy()],
        dataset=f"lm-eval-samples,path={sample_file('bridge_sums')}",
        run_file=tmp_path / "run.sqlite",
    )
    hidden = {"doc", "lm_eval_target", "answer", "answers", "correct_letter"}
    assert seen
    assert not set.union(*seen) & hidden


def copied(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    lines = sample_file("bridge_capitals").read_text(encoding="utf-8").splitlines()
    sample = json.loads(lines[0])
    change(sample)
    path = tmp_path / "samples_changed.jsonl"
    path.write_text("\n".join([json.dumps(sample), *lines[1:]]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "field", ["doc_id", "doc", "arguments", "resps", "filtered_resps", "filter"]
)
def test_line_without_a_field_names_the_line(tmp_path: Path, field: str) -> None:
    path = copied(tmp_path, lambda sample: sample.pop(field))
    with pytest.raises(DatasetError, match=f"line 1: .*'{field}'"):
        list(lm_eval_samples(path=path))


def test_line_that_is_not_json_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "samples_cut.jsonl"
    text = sample_file("bridge_capitals").read_text(encoding="utf-8")
    path.write_text(text[: len(text) - 40], encoding="utf-8")
    with pytest.raises(DatasetError, match="line 6"):
        list(lm_eval_samples(path=path))


def test_target_that_only_looks_like_a_list_stays_a_text(tmp_path: Path) -> None:
    path = copied(tmp_path, lambda sample: sample.update(target="[citation needed]"))
    assert next(lm_eval_samples(path=path))["lm_eval_target"] == "[citation needed]"


def test_prompts_as_choices_of_winogrande(tmp_path: Path) -> None:
    def change(sample: dict[str, Any]) -> None:
        sample["arguments"] = {
            "gen_args_0": {"arg_0": "Ann thanked Tom as Ann", "arg_1": " was helped."},
            "gen_args_1": {"arg_0": "Ann thanked Tom as Tom", "arg_1": " was helped."},
        }
        sample["resps"] = [[["-4.0", "False"]], [["-6.0", "False"]]]
        sample["filtered_resps"] = [["-4.0", "False"], ["-6.0", "False"]]
        sample["target"] = "0"

    example = next(lm_eval_samples(path=copied(tmp_path, change)))
    assert example["question"] == "was helped."
    assert example["choices"] == ["Ann thanked Tom as Ann", "Ann thanked Tom as Tom"]
    assert example["response"] == "Ann thanked Tom as Ann"
    assert example["correct_letter"] == "A"


def test_mutual_information_does_not_double_the_choices(tmp_path: Path) -> None:
    def change(sample: dict[str, Any]) -> None:
        sample["arguments"] = {
            "gen_args_0": {"arg_0": "Grass is", "arg_1": " red"},
            "gen_args_1": {"arg_0": "Grass is", "arg_1": " green"},
            "gen_args_2": {"arg_0": "", "arg_1": " red"},
            "gen_args_3": {"arg_0": "", "arg_1": " green"},
        }
        sample["resps"] = [
            [["-3.0", "False"]],
            [["-2.0", "True"]],
            [["-1.0", "False"]],
            [["-5", "False"]],
        ]
        sample["filtered_resps"] = [values[0] for values in sample["resps"]]
        sample["target"] = "green"

    example = next(lm_eval_samples(path=copied(tmp_path, change)))
    assert example["choices"] == ["red", "green"]
    assert example["response"] == "green"
    assert example["log_likelihoods"] == [-3.0, -2.0]
    assert example["correct_letter"] == "B"


@pytest.mark.parametrize(("is_greedy", "response"), [("True", " Paris"), ("False", "")])
def test_single_continuation_is_the_response_where_it_is_greedy(
    tmp_path: Path, is_greedy: str, response: str
) -> None:
    def change(sample: dict[str, Any]) -> None:
        sample["arguments"] = {"gen_args_0": {"arg_0": "The capital is", "arg_1": " Paris"}}
        sample["resps"] = [[["-1.5", is_greedy]]]
        sample["filtered_resps"] = [["-1.5", is_greedy]]

    assert next(lm_eval_samples(path=copied(tmp_path, change)))["response"] == response


def test_unknown_filter_lists_those_of_the_file() -> None:
    with pytest.raises(DatasetError, match="strict-match, flexible-extract, majority"):
        examples("bridge_sums", "strict")


def test_path_must_exist_and_hold_samples(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        lm_eval_samples(path=tmp_path / "none.jsonl")
    with pytest.raises(ConfigurationError, match="--log_samples"):
        lm_eval_samples(path=tmp_path)
    with pytest.raises(ConfigurationError, match="no splits"):
        lm_eval_samples(path=RUN, split="test")


def test_two_runs_of_a_task_are_not_mixed(tmp_path: Path) -> None:
    text = sample_file("bridge_sums").read_text(encoding="utf-8")
    for day in ("01", "02"):
        name = f"samples_sums_2026-01-{day}T10-00-00.000000.jsonl"
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="several runs of the task sums"):
        lm_eval_samples(path=tmp_path)


def test_row_of_another_dataset_cannot_be_replayed() -> None:
    with pytest.raises(LookupError, match="lm-eval-samples"):
        LMEvalReplay().process({"id": "1", "question": "?"})
    with pytest.raises(ValueError, match="take"):
        LMEvalReplay(take="everything")


def test_settings_of_a_task_are_those_of_the_results_file() -> None:
    settings = settings_from_file(RESULTS, "bridge_sums")
    assert settings.filter_names == ["strict-match", "flexible-extract", "majority"]
    assert settings.score_keys == ("lm_eval_exact_match",)
    assert settings_from_file(RESULTS, "bridge_capitals").filter_names == ["none"]
    assert settings_from_file(RESULTS, "bridge_capitals").score_keys == (
        "lm_eval_exact_match",
        "lm_eval_bleu",
        "lm_eval_chrf",
    )


def test_task_of_likelihoods_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigurationError, match="lm-eval-recorded"):
        settings_from_file(RESULTS, "bridge_colours")
    with pytest.raises(ConfigurationError, match="bridge_capitals, bridge_colours"):
        settings_from_file(RESULTS, "gsm8k")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"process_results": "def f(doc, results): ..."}, "function of its own"),
        ({"metric_list": [{"metric": "bleurt"}]}, "bleurt"),
        ({"metric_list": [{"metric": "exact_match", "hf_evaluate": True}]}, "exact_match"),
        ({"filter_list": [{"name": "x", "filter": [{"function": "custom"}]}]}, "'x'"),
    ],
)
def test_what_a_results_file_cannot_say_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "results.json"
    config = {"task": "own", "output_type": "generate_until", **change}
    path.write_text(json.dumps({"configs": {"own": config}}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        settings_from_file(path, None)

"""``context-bench evaluators validate`` from the front: what it writes for each layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("context_bench_validation", reason="context-bench-validation is not installed")

from context_bench.cli import execute

Records = list[dict[str, Any]]


def line(told: Any, statistic: str, dimension: str = "") -> Any:
    found = [
        one
        for one in told["lines"]
        if (one["statistic"], one["dimension"]) == (statistic, dimension)
    ]
    assert len(found) == 1, [(one["dimension"], one["statistic"]) for one in told["lines"]]
    return found[0]


def test_the_length_of_summaries_agrees_with_experts_who_like_long_ones(
    summeval: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    told = validated("length", "--against", written("summeval.jsonl", summeval))
    assert (told["layout"], told["score"]) == ("SummEval", "length")
    coherence = line(told, "Spearman", "coherence")
    assert coherence["baseline"] is None  # an evaluator is not compared with itself
    assert coherence["evaluator"]["value"] > 0.9
    assert coherence["evaluator"]["low"] < coherence["evaluator"]["value"]
    assert (coherence["evaluator"]["rows"], coherence["evaluator"]["items"]) == (40, 8)
    assert coherence["people"]["value"] > 0.9
    assert line(told, "Spearman", "fluency")["evaluator"]["value"] is None  # all experts say 3
    of_systems = line(told, "Kendall tau-b of 5 systems", "coherence")
    assert of_systems["evaluator"]["value"] == pytest.approx(1)


def test_an_evaluator_is_compared_with_another_one(
    summeval: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    pytest.importorskip("context_bench_rouge", reason="the evaluator is its")
    told = validated(
        "rouge", "--against", written("summeval.jsonl", summeval), "--rating", "relevance"
    )
    assert {one["dimension"] for one in told["lines"]} == {"relevance"}
    found = line(told, "Spearman", "relevance")
    apart = found["evaluator"]["value"] - found["baseline"]["value"]
    assert found["difference"]["value"] == pytest.approx(apart)
    assert told["worst"][0]["dimension"] == "relevance"


def test_several_references_are_given_to_the_evaluator(
    summeval: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    pytest.importorskip("context_bench_rouge", reason="the evaluator is its")
    both = validated("rouge", "--against", written("both.jsonl", summeval))
    for record in summeval:
        record["references"] = record["references"][1:]
    one = validated("rouge", "--against", written("one.jsonl", summeval))
    assert line(both, "Spearman", "coherence") != line(one, "Spearman", "coherence")


def test_the_longer_output_of_llmbar_is_right_three_times_of_four(
    llmbar: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    told = validated("length", "--against", written("dataset.json", llmbar))
    accuracy = line(told, "accuracy")
    assert accuracy["evaluator"]["value"] == pytest.approx(0.75)
    assert accuracy["guess"] == pytest.approx(0.75)  # label 1 is right in 9 of 12
    assert accuracy["people"] is None
    assert [worst["label"] for worst in told["worst"]] == ["4", "8", "12"]
    assert told["worst"][0]["responses"] == [llmbar[3]["output_1"], llmbar[3]["output_2"]]


def test_votes_with_ties_are_counted_in_both_ways(
    mt_bench: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    told = validated("length", "--against", written("votes.json", mt_bench))
    decided = line(told, "accuracy, votes without ties")
    assert (decided["evaluator"]["value"], decided["evaluator"]["rows"]) == (1, 32)
    assert (decided["evaluator"]["items"], decided["people"]["value"]) == (8, 1)
    counted = line(told, "accuracy, ties count")
    assert counted["evaluator"]["value"] == pytest.approx(2 / 3)
    assert counted["people"]["value"] == pytest.approx(1 / 3)  # a-a agree, a-tie twice do not
    assert counted["guess"] == pytest.approx(2 / 3)
    assert line(told, "Cohen's kappa")["evaluator"]["value"] == pytest.approx(0)


def test_records_are_selected(
    mt_bench: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    path = written("votes.json", mt_bench)
    told = validated("length", "--against", path, "--where", "turn=1", "--where", "judge=expert_0")
    assert line(told, "accuracy")["evaluator"]["rows"] == 8
    few = validated("length", "--against", path, "--limit", "3")
    assert line(few, "accuracy, ties count")["evaluator"]["rows"] == 3
    assert line(few, "accuracy, ties count")["evaluator"]["low"] is None


def test_a_tie_of_the_evaluator_counts_as_half(
    llmbar: Records, written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    told = validated("length", "--against", written("dataset.json", llmbar), "--tie-within", "100")
    assert line(told, "accuracy")["evaluator"]["value"] == pytest.approx(0.5)


def test_own_verdicts_of_yes_and_no_have_accuracy_and_kappa(
    written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    pytest.importorskip("context_bench_answer_quality", reason="the evaluator is its")
    rows = ["said,gold,right"]
    for number in range(10):
        rows.append(f"{number},{number},1")
        rows.append(f"{number},{number + 1},{1 if number < 2 else 0}")
    told = validated(
        *("answer-quality", "--score", "exact_match", "--baseline", "none"),
        *("--against", written("own.csv", "\n".join(rows))),
        *("--response", "said", "--rating", "right", "--field", "answer=gold"),
    )
    accuracy = line(told, "accuracy", "right")
    assert accuracy["evaluator"]["value"] == pytest.approx(0.9)
    assert accuracy["guess"] == pytest.approx(0.6)
    kappa = line(told, "Cohen's kappa", "right")
    assert kappa["evaluator"]["value"] == pytest.approx(0.8)


def test_a_judge_that_rates_is_compared_on_the_scale_of_the_people(
    written: Callable[..., str], validated: Callable[..., Any], fake: Any
) -> None:
    pytest.importorskip("context_bench_judge", reason="the evaluator is its")
    metrics = pytest.importorskip("sklearn.metrics")
    ratings = [1, 2, 3, 4, 5, 5, 4, 3]
    records = [
        {"question": "q", "said": f"answer {number}", "good": rating}
        for number, rating in enumerate(ratings)
    ]

    def rated(request: Any) -> str:
        text = str(request["messages"])
        [number] = [number for number in range(8) if f"answer {number}" in text]
        return f"Rating: [[{min(5, ratings[number] + (number == 0))}]]"

    fake.says(rated)
    told = validated(
        *("judge", "--option", f"base_url={fake.url}", "--option", "model=m"),
        *("--against", written("own.jsonl", records), "--scale", "1-5"),
        *("--response", "said", "--rating", "good", "--baseline", "none"),
    )
    weighted = line(told, "weighted kappa", "good")
    assert weighted["evaluator"]["value"] == pytest.approx(
        metrics.cohen_kappa_score(ratings, [2, *ratings[1:]], weights="quadratic")
    )
    assert len(fake.requests) == 8


def test_a_judge_that_compares_sees_the_other_response(
    llmbar: Records, written: Callable[..., str], validated: Callable[..., Any], fake: Any
) -> None:
    pytest.importorskip("context_bench_judge", reason="the evaluator is its")
    fake.says("[[A]]")
    told = validated(
        *("judge", "--option", f"base_url={fake.url}", "--option", "model=m"),
        *("--option", "compare_with=other", "--option", "both_orders=false", "--compares"),
        *("--against", written("dataset.json", llmbar)),
    )
    accuracy = line(told, "accuracy")
    assert accuracy["evaluator"]["value"] == pytest.approx(0.75)  # it always prefers the first
    assert accuracy["difference"]["value"] == pytest.approx(0)
    assert len(fake.requests) == 12
    assert all("is written out" in str(one) and "It is" in str(one) for one in fake.requests)


def test_responses_without_a_score_are_left_out_and_counted(
    written: Callable[..., str], validated: Callable[..., Any]
) -> None:
    pytest.importorskip("context_bench_answer_quality", reason="the evaluator is its")
    records = [
        {"said": f"{number}", "answer": f"{number}" if number < 7 else "", "good": number}
        for number in range(9)
    ]
    told = validated(
        *("answer-quality", "--against", written("own.jsonl", records)),
        *("--response", "said", "--rating", "good"),
    )
    assert line(told, "Spearman", "good")["evaluator"]["rows"] == 7
    assert any("2 responses have no score" in note for note in told["notes"])


def test_equal_responses_are_scored_once(
    mt_bench: Records, written: Callable[..., str], validated: Callable[..., Any], fake: Any
) -> None:
    pytest.importorskip("context_bench_judge", reason="the evaluator is its")
    path = written("votes.json", [record for record in mt_bench if record["turn"] == 1])
    validated("judge", "--option", f"base_url={fake.url}", "--against", path)
    assert len(fake.requests) == 16  # two replies to each of 8 questions, of 24 votes


def test_the_table_shows_the_worst_rows(
    llmbar: Records, written: Callable[..., str], capsys: Any
) -> None:
    path = written("dataset.json", llmbar)
    assert execute(["evaluators", "validate", "length", "--against", path, "--worst", "1"]) == 0
    told = capsys.readouterr().out
    assert "length (length) against dataset.json (LLMBar)" in told
    assert "  4: people a; length b, by 6\n    It is 3\n    Number 3 is written out" in told
    assert "guess" in told


def test_text_of_a_foreign_file_writes_no_control_character(
    llmbar: Records, written: Callable[..., str], capsys: Any
) -> None:
    for record in llmbar:
        record["output_1"] += "\x1b[2J\x07"
    path = written("dataset.json", llmbar)
    assert execute(["evaluators", "validate", "length", "--against", path]) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\x07" not in told


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("lenght",), "lenght"),
        (("length", "--option", "x"), "--option"),
        (("length", "--rating", "beauty"), "beauty"),
        (("length", "--where", "label=7"), "--where"),
        (("length", "--scale", "5-1"), "--scale"),
        (("length", "--score", "width"), "width"),
        (("length", "--baseline", "lenght"), "lenght"),
    ],
)
def test_what_cannot_be_done_is_named(
    arguments: tuple[str, ...],
    named: str,
    llmbar: Records,
    written: Callable[..., str],
    refused: Callable[..., str],
) -> None:
    assert named in refused(*arguments, "--against", written("dataset.json", llmbar))

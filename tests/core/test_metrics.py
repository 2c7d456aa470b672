from __future__ import annotations

import math
from array import array
from typing import Any

import pytest
from attrs import evolve

from context_bench.aggregation import Columns, percentiles
from context_bench.metrics import (
    CompressionRatio,
    CostOfPass,
    Counts,
    Latency,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
    PromptTokens,
    TrueCompression,
)
from context_bench.metrics.registry import weak_baseline
from context_bench.protocols import Metric
from context_bench.records import (
    BaselineRow,
    EvalRow,
    Failure,
    KeyMeaning,
    Usage,
    number_passing,
    passes,
)


def row(
    score: float | None = None,
    *,
    failed: bool = False,
    broken: bool = False,
    worst: float | None = 0.0,
    **values: Any,
) -> EvalRow:
    errors = []
    if failed:
        errors.append(Failure("system", "TimeoutError", "late"))
    if broken:
        errors.append(Failure("evaluator", "ValueError", "bad", evaluator="d/e"))
    return EvalRow(
        system="s",
        example_id="x",
        scores={} if score is None else {"f1": score},
        errors=tuple(errors),
        headline="f1",
        keys={"f1": KeyMeaning("d/e", worst), "other": KeyMeaning("d/o", 0.0)},
        **values,
    )


def test_a_row_is_made_by_hand_in_the_order_of_the_documented_fields() -> None:
    """A row took no ``output_tokens``, and its metadata stood in their place."""
    rows = [
        EvalRow("s", "1", {"f1": 1.0}, 100, 40, {"attempts": 2}, 1.5, "d"),
        EvalRow(system="s", example_id="2", scores={"f1": 0.0}, input_tokens=100, output_tokens=20),
    ]
    assert [row.output_tokens for row in rows] == [40, 20]
    assert (rows[0].metadata, rows[0].latency, rows[0].dataset) == ({"attempts": 2}, 1.5, "d")
    assert evolve(rows[0], latency=2.0).output_tokens == 40
    assert CompressionRatio().compute(rows) == pytest.approx(
        {"compression_ratio": 0.7, "mean_input_tokens": 100, "mean_output_tokens": 30}
    )
    assert CostOfPass(0.7, "f1").compute(rows) == {"cost_of_pass": 60.0, "num_passing": 1}


def test_output_tokens_that_nobody_gives_are_those_of_the_prompt_or_of_the_response() -> None:
    assert EvalRow("s", "1", {}).output_tokens == 0
    assert EvalRow("s", "1", {}, prompt_tokens=7, response_tokens=3).output_tokens == 7
    assert EvalRow("s", "1", {}, response_tokens=3).output_tokens == 3
    assert (EvalRow("s", "1", {}).prompt_tokens, EvalRow("s", "1", {}).context_tokens) == (
        None,
        None,
    )


ALL = [
    Counts,
    MeanScore,
    PassRate,
    CompressionRatio,
    PromptTokens,
    TrueCompression,
    CostOfPass,
    Latency,
    PerDatasetBreakdown,
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_metric_is_a_metric_and_has_nothing_to_say_about_no_rows(kind: Any) -> None:
    metric = kind()
    assert isinstance(metric, Metric)
    assert all(value == 0 for value in metric.compute([]).values())


ROWS = [row(1.0), row(0.7), row(0.2), row(), row(failed=True), row(broken=True)]


def test_failed_rows_count_as_wrong_and_unscored_rows_are_left_out() -> None:
    assert Counts().compute(ROWS) == {
        "num_rows": 6,
        "num_scored": 3,
        "num_unscored": 1,
        "num_failed": 2,
    }
    assert MeanScore().compute(ROWS)["mean_score"] == pytest.approx(1.9 / 5)
    assert PassRate().compute(ROWS)["pass_rate"] == pytest.approx(2 / 5)


def test_counts_and_costs_are_those_of_the_score_that_is_asked_for() -> None:
    """A row with a headline but without that score was counted as scored, and its tokens among those of rows that can pass."""
    failure = Failure("evaluator", "ValueError", "bad", evaluator="d/o")
    spent = {"input_tokens": 10, "output_tokens": 5}
    rows = [
        evolve(row(1.0, **spent), scores={"f1": 1.0, "other": 0.9}),
        evolve(row(1.0, **spent), scores={"other": 0.1}),
        row(1.0, **spent),
        evolve(row(1.0, **spent), errors=(failure,)),
        row(failed=True),
    ]
    assert Counts("other").compute(rows) == {
        "num_rows": 5,
        "num_scored": 2,
        "num_unscored": 1,
        "num_failed": 2,
    }
    assert Counts().compute(rows) == {
        "num_rows": 5,
        "num_scored": 3,
        "num_unscored": 1,
        "num_failed": 1,
    }
    assert MeanScore("other").compute(rows)["mean_score"] == pytest.approx(1.0 / 4)
    assert CostOfPass(0.7, "other").compute(rows) == {"cost_of_pass": 15.0, "num_passing": 1}


def test_a_failed_row_gets_the_worst_value_of_its_score() -> None:
    lower_is_better = [row(0.1, worst=1.0), row(failed=True, worst=1.0)]
    assert MeanScore().compute(lower_is_better)["mean_score"] == pytest.approx(0.55)
    unbounded = [row(0.1, worst=None), row(failed=True, worst=None)]
    assert MeanScore().compute(unbounded)["mean_score"] == pytest.approx(0.1)


LOWER = {"f1": KeyMeaning("d/e", None, "lower")}


@pytest.mark.parametrize(
    ("worst", "better", "passing"),
    [
        (0.0, None, 3),
        (None, "higher", 3),
        (None, "neither", 3),
        (1.0, None, 2),
        (None, "lower", 2),
        (0.0, "lower", 2),
    ],
    ids=[
        "higher",
        "higher, open range",
        "neither",
        "lower",
        "lower, open range",
        "lower, worst is zero",
    ],
)
def test_a_row_passes_on_the_better_side_of_the_threshold_or_at_it(
    worst: float | None, better: str | None, passing: int
) -> None:
    meaning = KeyMeaning("d/e", worst) if better is None else KeyMeaning("d/e", worst, better)
    rows = [evolve(row(score), keys={"f1": meaning}) for score in (0.2, 0.5, 0.9, 1.0)]
    assert PassRate(0.5).compute(rows) == {"pass_rate": passing / 4}
    assert CostOfPass(0.5, "f1").compute(rows)["num_passing"] == passing


def test_each_dataset_passes_by_the_direction_of_its_own_headline() -> None:
    lower = [evolve(row(score, dataset="loss"), keys=LOWER) for score in (0.0, 1.0)]
    rows = [
        lower[0],
        row(1.0, dataset="gain"),
        lower[1],
        row(0.0, dataset="gain"),
        row(0.9, dataset="gain"),
    ]
    assert PassRate(0.5).compute(rows) == {"pass_rate": 3 / 5}


def test_a_baseline_without_an_error_is_not_warned_of() -> None:
    rows = [
        evolve(row(score), system=system, keys=LOWER)
        for system, score in (("direct", 0.0), ("proxy", 2.0))
    ]
    columns = {one.system: Columns.of([one]) for one in rows}
    assert list(weak_baseline(columns, "direct")) == []
    assert list(weak_baseline({**columns, "direct": Columns.of([row(0.0)])}, "direct")) != []


def test_a_broken_evaluator_does_not_spoil_the_scores_of_another() -> None:
    mixed = EvalRow(
        "s", "x", {"other": 0.5}, headline="other", errors=(Failure("evaluator", "E", "", evaluator="d/e"),),
        keys={"f1": KeyMeaning("d/e"), "other": KeyMeaning("d/o")},
    )  # fmt: skip
    assert not mixed.failed
    assert mixed.score == 0.5
    assert mixed.value("f1") == 0.0


@pytest.mark.parametrize(
    ("scores", "has_failed"), [({}, True), ({"other": 0.5}, False)], ids=["no score", "another's"]
)
def test_where_no_score_is_known_to_be_the_headline_a_broken_evaluator_fails_the_rows_that_have_none(
    scores: dict[str, float], has_failed: bool
) -> None:
    broken = EvalRow("s", "x", scores, errors=(Failure("evaluator", "E", "", evaluator="d/e"),))
    assert broken.failed is has_failed
    assert broken.score is None


def test_without_a_scored_row_there_is_no_mean_rather_than_a_zero() -> None:
    assert MeanScore().compute([row(), row()]) == {}
    assert PassRate(0.0).compute([row()]) == {}


def test_compression_counts_what_goes_on_to_the_model_against_what_was_given() -> None:
    rows = [
        row(1.0, input_tokens=100, context_tokens=30, response_tokens=5),
        row(1.0, input_tokens=100, context_tokens=50),
    ]
    assert CompressionRatio().compute(rows) == {
        "compression_ratio": pytest.approx(0.6),
        "mean_input_tokens": 100,
        "mean_output_tokens": 40,
    }
    passed_through = [row(1.0, input_tokens=100, context_tokens=100, response_tokens=20)]
    assert CompressionRatio().compute(passed_through)["compression_ratio"] == 0.0
    assert CompressionRatio().compute([row(1.0, input_tokens=100, response_tokens=5)]) == {}


def test_an_endpoints_count_is_never_held_against_our_own() -> None:
    reported = [row(1.0, input_tokens=100, usage=Usage(110, 5))]
    assert CompressionRatio().compute(reported) == {}
    assert PromptTokens().compute(reported) == {"mean_prompt_tokens": 110}
    assert PromptTokens().compute(
        [row(1.0, usage=Usage(100, 5, 25)), row(1.0, usage=Usage(100, 5))]
    ) == {
        "mean_prompt_tokens": 100,
        "cache_read_share": 0.125,
    }


def test_true_compression_is_what_endpoints_report_against_the_baseline() -> None:
    rows = [
        row(1.0, usage=Usage(50), baseline=BaselineRow(100)),
        row(1.0, usage=Usage(300), baseline=BaselineRow(300)),
        row(1.0, usage=Usage(10), baseline=BaselineRow(None)),
        row(1.0, usage=Usage(10)),
        row(1.0, baseline=BaselineRow(100)),
        row(1.0, usage=Usage(0), baseline=BaselineRow(100)),
        row(failed=True, baseline=BaselineRow(100)),
    ]
    assert TrueCompression().compute(rows) == {
        "tokens_saved": pytest.approx(1 - 350 / 400),
        "tokens_saved_mean": pytest.approx((0.5 + 0.0) / 2),
        "compression_factor": pytest.approx(400 / 350),
        "num_compared": 2,
        "num_uncompared": 5,
    }
    assert [found.tokens_saved for found in rows[:3]] == [0.5, 0.0, None]
    assert TrueCompression().compute([row(1.0, baseline=BaselineRow(5))]) == {
        "num_compared": 0,
        "num_uncompared": 1,
    }
    assert TrueCompression().compute([row(1.0, usage=Usage(10))]) == {}


def test_cost_of_pass_is_tokens_for_each_passing_row_and_infinite_when_none_passes() -> None:
    rows = [
        row(1.0, input_tokens=100, usage=Usage(40, 10), response_tokens=10),
        row(0.0, input_tokens=100, usage=Usage(100, 10), response_tokens=10),
    ]
    assert CostOfPass().compute(rows) == {"cost_of_pass": 160.0, "num_passing": 1}
    counted = row(0.0, input_tokens=100, response_tokens=10)
    assert CostOfPass().compute([*rows, counted]) == {"num_passing": 1}
    assert (
        CostOfPass().compute([row(1.0, input_tokens=100, response_tokens=10), counted])[
            "cost_of_pass"
        ]
        == 220
    )
    assert CostOfPass().compute([row(0.0, input_tokens=1)]) == {
        "cost_of_pass": math.inf,
        "num_passing": 0,
    }


def test_latency_interpolates_and_leaves_failed_rows_out() -> None:
    rows = [row(1.0, latency=float(seconds)) for seconds in range(1, 21)] + [
        row(failed=True, latency=999.0)
    ]
    values = Latency().compute(rows)
    assert values == {
        "latency_mean": 10.5,
        "latency_median": 10.5,
        "latency_p95": pytest.approx(19.05),
        "latency_p99": pytest.approx(19.81),
    }


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([5.0], 0.95, 5.0), ([1.0, 2.0], 0.5, 1.5), ([1.0, 2.0, 3.0], 1.0, 3.0)],
)
def test_percentiles(values: list[float], share: float, expected: float) -> None:
    assert percentiles(array("d", values), [share]) == [expected]


def test_the_breakdown_names_each_dataset_once() -> None:
    rows = [
        row(1.0, dataset="a"),
        row(0.0, dataset="b"),
        row(0.5, dataset="a"),
        row(0.25),
        row(dataset="c"),
    ]
    assert PerDatasetBreakdown().compute(rows) == {
        "dataset:a": 0.75,
        "dataset:b": 0.0,
        "dataset:unknown": 0.25,
    }


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("threshold", [0, 0.5, 1])
def test_scores_are_counted_by_the_rule_that_lets_each_of_them_pass(
    better: str, threshold: float
) -> None:
    scores = [0.0, 0.25, 0.5, 0.5000001, 1.0, 7.0, -1.0]
    assert number_passing(scores, threshold, better) == sum(
        passes(score, threshold, better) for score in scores
    )

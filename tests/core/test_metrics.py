from __future__ import annotations

from array import array
from typing import Any

import pytest
from attrs import evolve

from context_bench.metrics import (
    Counts,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
)
from context_bench.protocols import Metric
from context_bench.records import (
    EvalRow,
    Failure,
    KeyMeaning,
    number_passing,
    passes,
)
from context_bench.results.columns import Columns
from context_bench.results.findings import weak_baseline
from context_bench.results.percentiles import percentiles


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
        primary="f1",
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


def test_counts_are_those_of_the_requested_score() -> None:
    """A row with a primary score but without that score was counted as scored."""
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


def test_each_dataset_passes_by_the_direction_of_its_own_primary() -> None:
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
        "s", "x", {"other": 0.5}, primary="other", errors=(Failure("evaluator", "E", "", evaluator="d/e"),),
        keys={"f1": KeyMeaning("d/e"), "other": KeyMeaning("d/o")},
    )  # fmt: skip
    assert not mixed.failed
    assert mixed.score == 0.5
    assert mixed.value("f1") == 0.0


@pytest.mark.parametrize(
    ("scores", "has_failed"), [({}, True), ({"other": 0.5}, False)], ids=["no score", "another's"]
)
def test_where_no_score_is_known_to_be_the_primary_a_broken_evaluator_fails_the_rows_that_have_none(
    scores: dict[str, float], has_failed: bool
) -> None:
    broken = EvalRow("s", "x", scores, errors=(Failure("evaluator", "E", "", evaluator="d/e"),))
    assert broken.failed is has_failed
    assert broken.score is None


def test_without_a_scored_row_there_is_no_mean_rather_than_a_zero() -> None:
    assert MeanScore().compute([row(), row()]) == {}
    assert PassRate(0.0).compute([row()]) == {}


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

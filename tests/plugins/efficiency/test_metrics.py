"""The values of each metric, computed from rows that are made by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from context_bench import EvalResult, EvalRow
from context_bench.catalog import open_catalog
from context_bench.protocols import Metric
from context_bench.records import BaselineRow, Failure, KeyMeaning, Usage
from context_bench_efficiency import (
    CompressionRatio,
    CostOfPass,
    Latency,
    PromptTokens,
    TimeToFirstToken,
    TrueCompression,
    Waiting,
)

MakeRow = Callable[..., EvalRow]
OF_ONE_SYSTEM = [
    CompressionRatio,
    CostOfPass,
    Latency,
    PromptTokens,
    TimeToFirstToken,
    TrueCompression,
]


def summary(rows: list[EvalRow], *metrics: Any) -> dict[str, Any]:
    return EvalResult(rows, metrics, {}, {}).summary["s"]


@pytest.mark.parametrize("kind", OF_ONE_SYSTEM, ids=lambda kind: kind.__name__)
def test_a_metric_returns_nothing_but_zeros_without_rows(kind: Any) -> None:
    metric = kind()
    assert isinstance(metric, Metric)
    assert all(value == 0 for value in metric.compute([]).values())


def test_the_facade_of_core_finds_every_metric_and_a_run_computes_all_by_default() -> None:
    from context_bench import metrics

    components = [
        component
        for component in open_catalog().of_kind("metrics")
        if component.distribution.name == "context-bench-efficiency"
    ]
    assert len(components) == len(OF_ONE_SYSTEM) + 1
    assert all(component.manifest.default for component in components)
    for kind in (*OF_ONE_SYSTEM, Waiting):
        assert getattr(metrics, kind.__name__) is kind


def test_a_row_takes_its_token_counts_by_position_too() -> None:
    rows = [
        EvalRow("s", "1", {"f1": 1.0}, 100, 40, {"attempts": 2}, 1.5, "d"),
        EvalRow(system="s", example_id="2", scores={"f1": 0.0}, input_tokens=100, output_tokens=20),
    ]
    assert CompressionRatio().compute(rows) == pytest.approx(
        {"compression_ratio": 0.7, "mean_input_tokens": 100, "mean_output_tokens": 30}
    )
    assert CostOfPass(0.7, "f1").compute(rows) == {"cost_of_pass": 60.0, "num_passing": 1}


def test_compression_compares_the_text_that_is_passed_on_with_the_text_of_the_example(
    make_row: MakeRow,
) -> None:
    rows = [
        make_row(1.0, input_tokens=100, context_tokens=30, response_tokens=5),
        make_row(1.0, input_tokens=100, context_tokens=50),
    ]
    assert CompressionRatio().compute(rows) == {
        "compression_ratio": pytest.approx(0.6),
        "mean_input_tokens": 100,
        "mean_output_tokens": 40,
    }
    unchanged = make_row(1.0, input_tokens=100, context_tokens=100, response_tokens=20)
    assert CompressionRatio().compute([unchanged])["compression_ratio"] == 0.0
    only_response = make_row(1.0, input_tokens=100, response_tokens=5)
    assert CompressionRatio().compute([only_response]) == {}


def test_the_count_of_an_endpoint_is_never_compared_with_the_count_of_core(
    make_row: MakeRow,
) -> None:
    reported = [make_row(1.0, input_tokens=100, usage=Usage(110, 5))]
    assert CompressionRatio().compute(reported) == {}
    assert PromptTokens().compute(reported) == {"mean_prompt_tokens": 110}


def test_the_share_read_from_the_cache_is_a_share_of_all_reported_prompt_tokens(
    make_row: MakeRow,
) -> None:
    rows = [make_row(1.0, usage=Usage(100, 5, 25)), make_row(1.0, usage=Usage(100, 5))]
    assert PromptTokens().compute(rows) == {"mean_prompt_tokens": 100, "cache_read_share": 0.125}


def test_true_compression_compares_reported_counts_with_those_of_the_baseline(
    make_row: MakeRow,
) -> None:
    rows = [
        make_row(1.0, usage=Usage(50), baseline=BaselineRow(100)),
        make_row(1.0, usage=Usage(300), baseline=BaselineRow(300)),
        make_row(1.0, usage=Usage(10), baseline=BaselineRow(None)),
        make_row(1.0, usage=Usage(10)),
        make_row(1.0, baseline=BaselineRow(100)),
        make_row(1.0, usage=Usage(0), baseline=BaselineRow(100)),
        make_row(failed=True, baseline=BaselineRow(100)),
    ]
    assert TrueCompression().compute(rows) == {
        "tokens_saved": pytest.approx(1 - 350 / 400),
        "tokens_saved_mean": pytest.approx((0.5 + 0.0) / 2),
        "compression_factor": pytest.approx(400 / 350),
        "num_compared": 2,
        "num_uncompared": 5,
    }
    assert [row.tokens_saved for row in rows[:3]] == [0.5, 0.0, None]


def test_true_compression_counts_what_it_cannot_compare(make_row: MakeRow) -> None:
    without_count = make_row(1.0, baseline=BaselineRow(5))
    assert TrueCompression().compute([without_count]) == {"num_compared": 0, "num_uncompared": 1}
    without_baseline = make_row(1.0, usage=Usage(10))
    assert TrueCompression().compute([without_baseline]) == {}


def test_cost_of_pass_is_tokens_for_each_passing_row_and_infinite_when_no_row_passes(
    make_row: MakeRow,
) -> None:
    reported = [
        make_row(1.0, input_tokens=100, usage=Usage(40, 10), response_tokens=10),
        make_row(0.0, input_tokens=100, usage=Usage(100, 10), response_tokens=10),
    ]
    assert CostOfPass().compute(reported) == {"cost_of_pass": 160.0, "num_passing": 1}
    counted = [
        make_row(score, input_tokens=100, response_tokens=10, context_tokens=None)
        for score in (1.0, 0.0)
    ]
    assert CostOfPass().compute(counted) == {"cost_of_pass": 220.0, "num_passing": 1}
    assert CostOfPass().compute([*reported, counted[1]]) == {"num_passing": 1}
    assert CostOfPass().compute([make_row(0.0, input_tokens=1)]) == {
        "cost_of_pass": math.inf,
        "num_passing": 0,
    }


def test_cost_of_pass_counts_the_tokens_of_rows_with_the_requested_score(
    make_row: MakeRow,
) -> None:
    tokens = {"input_tokens": 10, "output_tokens": 5}
    failure = Failure("evaluator", "ValueError", "bad", evaluator="d/o")
    rows = [
        evolve(make_row(1.0, **tokens), scores={"f1": 1.0, "other": 0.9}),
        evolve(make_row(1.0, **tokens), scores={"other": 0.1}),
        make_row(1.0, **tokens),
        evolve(make_row(1.0, **tokens), errors=(failure,)),
        make_row(failed=True),
    ]
    assert CostOfPass(0.7, "other").compute(rows) == {"cost_of_pass": 15.0, "num_passing": 1}


@pytest.mark.parametrize(
    ("better", "passing"), [("higher", 3), ("neither", 3), ("lower", 2)], ids=str
)
def test_a_row_passes_on_the_better_side_of_the_threshold(
    make_row: MakeRow, better: str, passing: int
) -> None:
    keys = {"f1": KeyMeaning("d/e", None, better)}
    rows = [evolve(make_row(score), keys=keys) for score in (0.2, 0.5, 0.9, 1.0)]
    assert CostOfPass(0.5, "f1").compute(rows)["num_passing"] == passing


def test_latency_interpolates_and_leaves_failed_rows_out(make_row: MakeRow) -> None:
    rows = [make_row(1.0, latency=float(seconds)) for seconds in range(1, 21)]
    rows.append(make_row(failed=True, latency=999.0))
    assert Latency().compute(rows) == {
        "latency_mean": 10.5,
        "latency_median": 10.5,
        "latency_p95": pytest.approx(19.05),
        "latency_p99": pytest.approx(19.81),
    }


def test_latency_is_split_where_the_time_of_the_system_is_known(make_row: MakeRow) -> None:
    rows = [make_row(1.0, latency=3.0, system_latency=1.0), make_row(1.0, latency=9.0)]
    values = Latency().compute(rows)
    assert values["system_latency_median"] == values["system_latency_p95"] == 1.0
    assert values["model_latency_median"] == values["model_latency_p95"] == 2.0


def test_the_first_token_is_of_the_rows_where_it_is_measured(make_row: MakeRow) -> None:
    rows = [make_row(1.0, metadata={"ttft": seconds}) for seconds in (0.1, 0.3)]
    assert TimeToFirstToken().compute([*rows, make_row(1.0)])["first_token_median"] == 0.2


def test_waiting_is_compared_only_where_a_system_waited_or_repeated_a_call(
    make_row: MakeRow,
) -> None:
    waited = make_row(
        1.0, latency=0.02, attempts=3, metadata={"waiting": 2.0, "attempt_latency": 0.02}
    )
    values = summary([waited, waited], Waiting())
    assert (values["waiting"], values["retries"]) == (4.0, 4)
    assert values["rows_per_minute"] == pytest.approx(60 / 2.02)
    assert (
        not {"waiting", "retries", "rows_per_minute"} & summary([make_row(1.0)], Waiting()).keys()
    )

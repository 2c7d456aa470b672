"""Ranks in quality and cost, and in speed."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from context_bench import EvalResult, EvalRow, Metric, evaluate
from context_bench.catalog import Catalog, open_catalog
from context_bench.errors import MetricError
from context_bench.metrics import MeanScore
from context_bench.results.reading import read_result
from context_bench_compare import ParetoRank, SpeedRank
from context_bench_efficiency import CostOfPass, Latency, Waiting

POINTS = {
    name: {"mean_score": q, "cost_of_pass": c}
    for name, q, c in [("a", 0.9, 10), ("b", 0.8, 20), ("c", 0.7, 30), ("d", 0.75, 5)]
}
BOTH = {"pareto_rank", "speed_rank"}


class Same:
    name = "same"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"same": float(processed["response"] == original["answer"])}


class Proxy:
    def __init__(self, name: str, *tokens: int) -> None:
        self.name, self._tokens = name, tokens

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        told = dict(zip(("prompt_tokens", "completion_tokens"), self._tokens))
        return {"response": "a", **({"usage": told} if told else {})}


def run(*systems: Proxy, **options: Any) -> EvalResult:
    examples = [{"id": str(number), "question": "two words", "answer": "a"} for number in range(4)]
    return evaluate(list(systems), examples, [Same()], progress=False, **options)


def several(labels: list[str], derived: list[str] | None = None) -> EvalResult:
    """A result in which the first systems are better, dearer and slower than those behind them."""
    rows = [
        EvalRow(
            label,
            str(row),
            {"f1": 1.0 - number / 100},
            100 - number,
            latency=1.0 - number / 100,
            primary="f1",
        )
        for number, label in enumerate(labels)
        for row in range(2)
    ]
    metrics = [MeanScore(), CostOfPass(), Latency(), ParetoRank(), SpeedRank()]
    return EvalResult(rows, metrics, {}, {"systems": labels, "derived": derived or []})


@pytest.mark.parametrize("method", ["dominators", "front"])
@pytest.mark.parametrize("field", ["mean_score", "cost_of_pass"])
def test_what_is_no_number_has_no_rank(field: str, method: str) -> None:
    """Nothing dominates NaN, so it stood on the front."""
    summary = {**POINTS, "e": {"mean_score": 0.1, "cost_of_pass": 99, field: math.nan}}
    ranks = ParetoRank.rank_systems(summary, method=method)
    assert ranks == ParetoRank.rank_systems(POINTS, method=method)


def test_pareto_ranks_by_dominators_and_by_fronts() -> None:
    assert ParetoRank.rank_systems(POINTS) == {"a": 1, "b": 2, "c": 4, "d": 1}
    assert ParetoRank.rank_systems(POINTS, method="front") == {"a": 1, "b": 2, "c": 3, "d": 1}
    for unranked in ({}, {"mean_score": 1.0, "cost_of_pass": None}):
        assert ParetoRank.rank_systems({**POINTS, "e": unranked}).keys() == POINTS.keys()
    twins = {"x": POINTS["a"], "y": POINTS["a"]}
    assert ParetoRank.rank_systems(twins, method="front") == {"x": 1, "y": 1}
    odd = {"a": POINTS["b"], "odd": {"mean_score": math.nan, "cost_of_pass": 20}, "b": POINTS["a"]}
    assert ParetoRank.rank_systems(odd, method="front") == {"a": 2, "b": 1}
    with pytest.raises(MetricError, match="'dominators' or 'front'"):
        ParetoRank.rank_systems(POINTS, method="best")


def test_a_rank_of_one_system_is_none() -> None:
    assert isinstance(ParetoRank(), Metric)
    assert ParetoRank().compute([]) == {}
    assert not BOTH & set(several(["alone"]).summary["alone"])


def test_counts_of_one_source_are_ranked_and_those_of_two_are_not() -> None:
    honest, greedy, silent = Proxy("honest", 40, 7), Proxy("greedy", 80, 7), Proxy("silent")
    assert [values["pareto_rank"] for values in run(honest, greedy).summary.values()] == [1, 2]
    mixed = run(
        honest, silent
    ).summary  # of two identical proxies the one that drops usage would look cheaper
    assert [values["cost_of_pass"] for values in mixed.values()] == [47, 3]
    assert not any("pareto_rank" in values for values in mixed.values())


def test_a_system_that_answered_nothing_takes_no_rank_from_the_others() -> None:
    """It has no tokens of any source, so that nothing is mixed; it was counted as a source of its own."""
    columns = {
        "good": SimpleNamespace(
            summary={"mean_score": 1.0, "cost_of_pass": 9.0},
            sources={"cost_of_pass": ("words", 1.0)},
        ),
        "dear": SimpleNamespace(
            summary={"mean_score": 1.0, "cost_of_pass": 99.0},
            sources={"cost_of_pass": ("words", 1.0)},
        ),
        "down": SimpleNamespace(summary={"mean_score": 0.0, "cost_of_pass": math.inf}, sources={}),
    }
    for one in columns.values():
        one.is_derived, one.unranked, one.lower = False, frozenset(), frozenset()
    ranks = ParetoRank().compare(columns)
    assert {label: values["pareto_rank"] for label, values in ranks.items()} == {
        "good": 1,
        "dear": 2,
        "down": 3,
    }


def test_speed_is_ranked_by_latency_and_waiting() -> None:
    rows = [
        evolve(row, latency=latency, metadata={**row.metadata, "waiting": waiting})
        for label, latency, waiting in (("waits", 0.02, 2.0), ("honest", 0.03, 0.0))
        for row in run(Proxy(label)).rows
    ]
    summary = EvalResult(
        rows, [Latency(), Waiting(), SpeedRank()], {}, {"systems": ["waits", "honest"]}
    ).summary
    assert [values["speed_rank"] for values in summary.values()] == [
        1,
        1,
    ]  # one answers sooner, one waits less
    assert [values["speed_rank"] for values in several(["slow", "fast"]).summary.values()] == [2, 1]


def test_what_is_derived_from_a_system_is_not_ranked() -> None:
    labels = ["a", "a at random", "b"]
    assert set(several(labels).summary["a at random"]) >= BOTH
    summary = several(labels, ["a at random"]).summary
    assert {label for label, values in summary.items() if BOTH & set(values)} == {"a", "b"}
    assert (summary["a"]["speed_rank"], summary["b"]["speed_rank"]) == (2, 1)


def test_an_object_has_the_heading_that_the_manifest_gives() -> None:
    [pareto, speed] = [metric.values for metric in several(["a", "b"]).metrics[-2:]]
    assert pareto["pareto_rank"].heading == "rank"
    assert (speed["speed_rank"].heading, speed["speed_rank"].detail) == (
        "rank by p50 and waiting",
        True,
    )


def test_the_facade_of_core_finds_the_ranks() -> None:
    from context_bench import metrics

    assert (metrics.ParetoRank, metrics.SpeedRank) == (ParetoRank, SpeedRank)


def test_a_run_file_says_the_same_with_the_package_and_without_it(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    found = run(Proxy("honest", 40, 7), Proxy("greedy", 80, 7), run_file=path)
    everything = open_catalog()
    again = read_result(path, catalog=everything)
    assert json.loads(again.to_json())["summary"] == json.loads(found.to_json())["summary"]
    assert again.warnings == ()
    rest = Catalog([one for one in everything if one.distribution.name != "context-bench-compare"])
    recalled = read_result(path, catalog=rest)
    assert json.loads(recalled.to_json())["summary"] == json.loads(found.to_json())["summary"]
    [pareto] = [
        metric.values["pareto_rank"]
        for metric in recalled.metrics
        if "pareto_rank" in metric.values
    ]
    assert (pareto.heading, pareto.order) == ("rank", 120)
    lost = ("mean_interval", "samples", "pareto_rank", "speed_rank")
    assert len(recalled.warnings) == len(lost)
    for name in lost:
        [warning] = [one for one in recalled.warnings if f" {name} " in one]
        assert re.search(r"install .*context.bench.compare", warning)

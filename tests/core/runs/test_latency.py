from __future__ import annotations

from collections.abc import Callable
from time import sleep
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.results.reading import read_result
from context_bench.run.systems import Chain

pytest.importorskip(
    "context_bench_answer_quality", reason="these rows are scored by the answer-quality plugin"
)

Make = Callable[..., Any]


def run(system: Any, **options: Any) -> EvalResult:
    examples = [{"id": "1", "context": "one two", "question": "q", "answer": "one"}]
    return evaluate(system, examples, ["answer-quality"], progress=False, **options)


def test_a_chain_parts_the_seconds_of_its_transformer_from_those_of_its_reader(
    make_system: Make,
) -> None:
    def shorten(example: dict[str, Any]) -> dict[str, Any]:
        sleep(0.05)
        return {"context": "one"}

    def read(example: dict[str, Any]) -> dict[str, Any]:
        assert "latency" not in example
        return {"response": example["context"], "latency": 2.0}

    [row] = run(Chain([make_system("short", shorten), make_system("reader", read)])).rows
    assert row.system_latency is not None
    assert row.system_latency >= 0.05
    assert row.latency == pytest.approx(row.system_latency + 2.0)
    assert row.output == {"context": "one", "response": "one"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"headers": {"X-Kompact-Latency-Ms": "12.5"}}, 0.0125),
        ({"headers": {"x-kompact-latency-ms": "9000"}}, 1.0),
        ({"headers": {"x-kompact-latency-ms": "soon"}}, None),
        ({"headers": {"x-kompact-latency-ms": "-3"}}, None),
        ({"headers": {"x-other": "12"}}, None),
        ({"headers": {"x-kompact-latency-ms": "12"}, "turn_responses": ["a", "b"]}, None),
        ({"system_latency": 0.25, "headers": {"x-kompact-latency-ms": "12"}}, 0.25),
        ({}, None),
    ],
    ids=[
        "header",
        "longer than the call",
        "no number",
        "negative",
        "another",
        "conversation",
        "told",
        "nothing",
    ],
)
def test_a_proxys_own_time_is_what_it_declares(
    make_system: Make, output: Any, expected: float | None
) -> None:
    system = make_system("proxy", lambda example: {"response": "one", "latency": 1.0, **output})
    system.latency_headers = ("X-Kompact-Latency-Ms",)
    [row] = run(system).rows
    assert row.system_latency == expected
    assert "system_latency" not in row.output


def test_a_system_names_the_headers_of_its_proxy(make_system: Make) -> None:
    said = {
        "response": "one",
        "latency": 1.0,
        "headers": {"x-mine-ms": "500", "x-kompact-latency-ms": "1"},
    }
    [row] = run(make_system("proxy", lambda example: said, latency_headers=("X-Mine-Ms",))).rows
    assert row.system_latency == 0.5


def test_the_split_is_in_the_summary_where_it_is_known(make_system: Make, tmp_path: Any) -> None:
    pytest.importorskip("context_bench_efficiency", reason="latency is its metric")
    path = tmp_path / "run.sqlite"
    split = make_system(
        "split", lambda example: {"response": "one", "latency": 3.0, "system_latency": 1.0}
    )
    summary = run([split, make_system("plain", lambda example: "one")], run_file=path).summary
    assert {key: value for key, value in summary["split"].items() if "_latency_" in key} == {
        "system_latency_median": 1.0,
        "system_latency_p95": 1.0,
        "model_latency_median": 2.0,
        "model_latency_p95": 2.0,
    }
    assert not any("_latency_" in key for key in summary["plain"])
    assert read_result(path).summary == summary

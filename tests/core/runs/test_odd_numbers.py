"""Numbers that systems and evaluators give and that nobody expects: none ends a run, and none is shown for what it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.errors import MetricError
from context_bench.records import Usage, flatten, row_to_dict

Make = Callable[..., Any]
EXAMPLES = [{"id": 1, "context": "a b c", "question": "q", "answer": "x"}]


def result_of(make_system: Make, evaluator: Any, output: dict[str, Any]) -> EvalResult:
    return evaluate(
        [make_system("s", lambda example: {"response": "x", **output})],
        EXAMPLES,
        [evaluator],
        progress=False,
    )


@pytest.mark.parametrize(
    "score",
    [
        -0.0,
        Decimal("-0"),
        Fraction(1, 3),
        Decimal("0.3"),
        True,
        5e-324,
        -2.5,
        1e290,
        2**60,
        0.1 + 0.2,
    ],
)
def test_every_finite_score_is_read_back_as_it_was_given(
    score: Any, echo: Any, make_evaluator: Make
) -> None:
    result = evaluate(
        [echo],
        EXAMPLES,
        [make_evaluator("v", lambda original, processed: {"v": score})],
        progress=False,
    )
    (row,) = result.rows
    assert row.scores["v"] == float(score)
    assert math.copysign(1, row.scores["v"]) == (1 if score == 0 else math.copysign(1, score))
    assert result.summary[row.system]["mean_score"] == float(score)


@pytest.mark.parametrize(
    "score", [1e291, -1e308, 10**400, math.inf, Decimal("NaN"), Decimal("sNaN"), "1", [1.0], 1j]
)
def test_what_no_mean_can_be_taken_of_is_a_failure_of_its_evaluator(
    score: Any, echo: Any, make_evaluator: Make
) -> None:
    """The sum of two such scores would have no finite value, and would have ended the report."""
    examples = [{**EXAMPLES[0], "id": number} for number in range(3)]
    evaluator = make_evaluator(
        "v", lambda original, processed: {"v": score if original["id"] else 1.0}
    )
    result = evaluate([echo], examples, [evaluator], progress=False)
    assert [bool(row.errors) for row in result.rows] == [False, True, True]
    assert result.summary["echo"]["mean_score"] == 1 / 3
    assert result.to_json()
    assert str(result)


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cache_read_tokens", "cost"])
@pytest.mark.parametrize(
    "count", [-1, -0.5, 2**53 + 1, 10**30, -(10**30), 1e300, math.inf, math.nan, "12", True, [1]]
)
def test_what_is_no_count_is_unknown(field: str, count: Any, same: Any, make_system: Make) -> None:
    assert getattr(Usage.read({"usage": {field: count, "reasoning_tokens": 1}}), field) is None
    (row,) = result_of(make_system, same, {"usage": {field: count}}).rows
    assert not row.errors
    assert row.reported_tokens is row.cost is None
    assert row.response_tokens == 1  # counted by core


@pytest.mark.parametrize("field", ["latency", "system_latency", "attempts", "ttft"])
@pytest.mark.parametrize(
    "value", [-0.0, 0, -1, 10**30, 1e308, math.inf, math.nan, "12", True, [1], None]
)
def test_no_measurement_of_a_system_ends_a_run(
    field: str, value: Any, same: Any, make_system: Make
) -> None:
    result = result_of(make_system, same, {field: value})
    (row,) = result.rows
    assert not row.errors
    assert 0 <= row.latency < math.inf
    assert result.to_json()
    assert str(result)


def test_a_cost_of_minus_nothing_is_nothing(same: Any, make_system: Make) -> None:
    (row,) = result_of(make_system, same, {"usage": {"cost": -0.0}}).rows
    assert row.cost == 0


def test_numbers_of_numpy_are_numbers(same: Any, make_system: Make) -> None:
    numpy = pytest.importorskip("numpy")
    usage = {
        "input_tokens": numpy.int64(7),
        "output_tokens": numpy.int32(3),
        "cost": numpy.float32(0.5),
    }
    (row,) = result_of(make_system, same, {"usage": usage, "latency": numpy.float32(1.5)}).rows
    assert (row.reported_tokens, row.prompt_tokens, row.response_tokens, row.cost, row.latency) == (
        7,
        7,
        3,
        0.5,
        1.5,
    )


def test_a_column_that_is_called_as_a_field_of_json_holds_its_value(
    same: Any, make_system: Make
) -> None:
    """A transformer whose model reports nothing, and an endpoint that reports."""
    for output in ({"context": "a b"}, {"usage": {"input_tokens": 9, "output_tokens": 4}}):
        (row,) = result_of(make_system, same, output).rows
        flat, nested = dict(flatten(row)), row_to_dict(row)
        shared = flat.keys() & nested.keys()
        assert {name: flat[name] for name in shared} == {name: nested[name] for name in shared}
        assert {"prompt_tokens", "reported_tokens", "response_tokens"} <= shared


@pytest.mark.parametrize(
    "values",
    [
        {"n": "1"},
        {5: 1.0},
        {"n": [1]},
        {"n": 10**400},
        {"n": b"1"},
        {"n": 1j},
        {None: 1.0},
        {"n": {"m": 1}},
    ],
    ids=str,
)
def test_a_value_of_a_metric_that_is_no_number_is_told_with_the_name_of_the_metric(
    values: Any, echo: Any, same: Any
) -> None:
    class Odd:
        name = "odd"

        def compute(self, rows: Any) -> Any:
            return values

    with pytest.raises(
        MetricError, match=r"The metric odd returned .*, which is not a number for a key"
    ):
        evaluate([echo], EXAMPLES, [same], metrics=[Odd()], progress=False)


@pytest.mark.parametrize(
    "value",
    [None, 1, 2**70, True, 0.5, -0.0, math.nan, math.inf, -math.inf, Fraction(1, 3)],
    ids=str,
)
def test_every_number_of_a_metric_is_shown(value: Any, echo: Any, same: Any) -> None:
    class Odd:
        name = "odd"

        def compute(self, rows: Any) -> Any:
            return {"n": value}

    result = evaluate([echo], EXAMPLES, [same], metrics=[Odd()], progress=False)
    assert str(result)
    assert result.to_json()

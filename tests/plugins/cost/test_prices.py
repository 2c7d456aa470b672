from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench.errors import ConfigurationError
from context_bench.records import BaselineRow, EvalRow, Failure, Usage
from context_bench.results.columns import Columns
from context_bench_cost import Cost, Price, PriceOfPass, Prices, read_prices
from context_bench_cost.budget import Budget

FULL = Price(input=2.0, output=8.0, cache_read=0.5, cache_write=2.5, reasoning=4.0)
COUNTS = st.integers(0, 1_000_000)


@pytest.mark.parametrize(
    ("price", "usage", "expected"),
    [
        (FULL, Usage(1_000_000, 1_000_000), 10.0),
        (
            FULL,
            Usage(1_000_000, 0, cache_read_tokens=400_000, cache_write_tokens=100_000),
            1.0 + 0.2 + 0.25,
        ),
        (FULL, Usage(0, 1_000_000, reasoning_tokens=250_000), 6.0 + 1.0),
        (Price(2.0, 8.0), Usage(1_000_000, 0, cache_read_tokens=400_000), 2.0),
        (Price(2.0, 8.0), Usage(0, 1_000_000, reasoning_tokens=250_000), 8.0),
        (FULL, Usage(1_000_000, None), None),
        (FULL, Usage(None, 10), None),
    ],
    ids=[
        "plain",
        "cached",
        "reasoning",
        "cache unpriced",
        "reasoning unpriced",
        "no output",
        "no input",
    ],
)
def test_a_response_costs_what_its_tokens_cost(
    price: Price, usage: Usage, expected: float | None
) -> None:
    assert price.of(usage) == (None if expected is None else pytest.approx(expected))


def test_a_reported_cost_wins_unless_it_is_in_another_currency() -> None:
    usage = Usage(1_000_000, 0, cost=0.75)
    assert Prices({"m": FULL}).bill(usage, ["m"]) == (0.75, "reported")
    assert Prices().bill(usage, [None]) == (0.75, "reported")
    assert Prices({"m": FULL}, "EUR").bill(usage, ["m"]) == (2.0, "prices")
    assert Prices({}, "EUR").bill(usage, ["m"]) == (None, None)
    assert Prices({"m": FULL}).bill(None, ["m"]) == (None, None)
    assert Prices({"m-2026": FULL}).bill(Usage(1_000_000, 0), ["m", "m-2026"]) == (2.0, "prices")


def test_a_table_is_read_as_it_is_written() -> None:
    table = {
        "currency": "EUR",
        "date": "2026-11-01",
        "m": {"input": 1, "output": 2.5, "cache_read": 0.1},
    }
    prices = read_prices(table, "prices")
    assert read_prices(prices.to_dict(), "prices") == prices
    with pytest.raises(ConfigurationError, match="must be a table"):
        read_prices([1], "prices")


@given(COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_response_costs_less_than_cached_or_more_than_at_most(
    uncached: int, read: int, written: int, output: int, reasoning: int
) -> None:
    usage = Usage(uncached + read + written, output, read, written, min(reasoning, output))
    cost = FULL.of(usage)
    assert cost is not None
    assert 0 <= cost <= FULL.at_most(uncached + read + written, output) + 1e-9
    split = (
        FULL.of(Usage(uncached, output, 0, 0, min(reasoning, output))),
        FULL.of(Usage(read, 0, read)),
        FULL.of(Usage(written, 0, 0, written)),
    )
    assert cost == pytest.approx(sum(part for part in split if part is not None))


def row(
    cost: float | None, baseline: float | None = None, score: float = 1.0, **values: Any
) -> EvalRow:
    beside = None if baseline is None else BaselineRow(None, baseline)
    return EvalRow("s", "x", {"f1": score}, primary="f1", cost=cost, baseline=beside, **values)


def computed(metric: Any, rows: list[EvalRow]) -> dict[str, float]:
    return dict(metric.compute_columns(Columns.of(rows, ("score",))))


def test_money_is_summed_over_the_rows_that_have_a_cost() -> None:
    rows = [row(1.0, 2.0), row(3.0, 2.0, 0.0), row(None, 5.0), row(4.0)]
    assert computed(Cost(), rows) == {
        "cost": 8.0,
        "mean_cost": 8 / 3,
        "cost_saved": 0.0,
        "num_unpriced": 1,
    }
    assert "price_of_pass" not in computed(PriceOfPass(), rows)
    assert computed(PriceOfPass(), rows[:2])["price_of_pass"] == 4.0
    assert computed(PriceOfPass(), rows[1:2])["price_of_pass"] == math.inf
    assert computed(Cost(), [row(None)]) == {}


def test_reused_rows_cost_nothing_now_and_are_shown_apart() -> None:
    rows = [row(1.0, 4.0), row(3.0, 4.0, reused=True)]
    assert computed(Cost(), rows) == {
        "cost": 1.0,
        "would_cost": 3.0,
        "mean_cost": 2.0,
        "cost_saved": 0.5,  # a system is compared by all that its rows take
        "num_unpriced": 0,
    }
    assert computed(Cost(), rows[1:])["cost"] == 0.0


def test_turns_that_were_answered_before_a_conversation_failed_are_in_the_cost() -> None:
    failed = row(0.5, errors=(Failure("system", "ConnectionError", "refused"),))
    assert computed(Cost(), [failed, row(2.0)])["cost"] == 2.5
    assert computed(Cost(), [failed]) == {"cost": 0.5, "num_unpriced": 0}


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=30))
def test_what_is_saved_is_one_minus_the_ratio_of_the_sums(costs: list[tuple[float, float]]) -> None:
    found = computed(Cost(), [row(ours, theirs) for ours, theirs in costs])
    ours, theirs = math.fsum(a for a, _ in costs), math.fsum(b for _, b in costs)
    assert found["cost"] == ours
    assert found["cost_saved"] == pytest.approx(1 - ours / theirs)


def test_expected_calls_are_held_together_and_learn_from_what_they_cost() -> None:
    budget = Budget(10.0)
    assert budget.enter(4.0)
    assert budget.enter(4.0)  # 8 with a quarter of headroom is all there is
    assert budget.enter(1.0) is False
    budget.leave(2.0, True, 4.0)  # cheaper than expected: no headroom is needed any more
    assert budget.enter(4.0)
    budget.leave(4.0, True, 4.0)
    budget.leave(4.0, True, 4.0)
    assert budget.spent == 10.0
    assert budget.enter(0.1) is None


def test_calls_of_both_kinds_share_one_budget() -> None:
    budget = Budget(10.0)
    assert budget.enter()
    budget.leave(3.0, True)
    assert budget.enter()  # taken to cost 3 as well
    assert budget.enter(3.0)
    assert budget.enter(3.0) is False
    budget.leave(None, False)
    assert budget.enter(2.0)

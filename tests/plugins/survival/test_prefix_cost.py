"""The cached prefix that a compressor gives up, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench_survival import PrefixCost


def messages(*contents: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content} for content in contents]


BEFORE = messages("a b c d", "e f g h", "i j")
EXAMPLE = {"id": "s", "messages": BEFORE, "region": [1, 2]}


def test_an_untouched_prefix_costs_what_it_cost() -> None:
    assert PrefixCost().score(EXAMPLE, {"messages": BEFORE}) == {
        "prefix_kept": 1.0,
        "next_call_price": 1.0,
        "later_call_price": 1.0,
    }


def test_everything_behind_the_first_changed_byte_is_written_anew() -> None:
    found = PrefixCost(read=0.1, write=1.25).score(
        EXAMPLE, {"messages": messages("a b c d", "e f", "i j")}
    )
    assert found["prefix_kept"] == pytest.approx(0.6)  # a b c d e f, of ten tokens
    assert found["next_call_price"] == pytest.approx((6 * 0.1 + 2 * 1.25) / (10 * 0.1))
    assert found["later_call_price"] == pytest.approx(0.8)
    assert found["calls_to_pay_back"] == pytest.approx((3.1 - 1.0) / (1.0 - 0.8))


def test_dropping_only_the_end_pays_at_once_and_growing_never() -> None:
    cut = PrefixCost().score(EXAMPLE, {"messages": messages("a b c d", "e f g h")})
    assert (cut["prefix_kept"], cut["next_call_price"], cut["calls_to_pay_back"]) == (
        pytest.approx(0.8),
        pytest.approx(0.8),
        0.0,
    )
    grown = PrefixCost().score(EXAMPLE, {"messages": messages("x a b c d", "e f g h", "i j")})
    assert grown["prefix_kept"] == 0.0
    assert grown["next_call_price"] == pytest.approx(11 * 1.25 / 1.0)
    assert "calls_to_pay_back" not in grown


def test_a_region_that_is_one_text_is_compared_as_one() -> None:
    assert PrefixCost().score(EXAMPLE, {"context": "e f g h"})["prefix_kept"] == 1.0
    assert PrefixCost().score(EXAMPLE, {"context": "e f"})["prefix_kept"] == pytest.approx(0.6)


def test_a_plain_text_has_no_prefix_and_prices_are_checked() -> None:
    assert PrefixCost().score({"context": "a"}, {"context": "b"}) == {}
    with pytest.raises(ValueError, match="read must be above 0"):
        PrefixCost(read=0)

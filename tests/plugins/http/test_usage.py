"""Token counts are consistent or unknown, and never lower than the server's own sums show."""

from __future__ import annotations

from typing import Any

import pytest

from context_bench_http.usage import RawUsage, add_usage, checked_usage, latest_usage

CASES: dict[str, tuple[RawUsage, dict[str, Any], str | None]] = {
    "plain": (RawUsage(40, 2, total_tokens=42), {"input_tokens": 40, "output_tokens": 2}, None),
    "zeros beside a reply": (RawUsage(0, 0, total_tokens=0), {}, "0 prompt tokens"),
    "zero prompt": (RawUsage(0, 7), {"output_tokens": 7}, "0 prompt tokens"),
    "zero completion": (RawUsage(7, 0), {"input_tokens": 7}, "0 completion tokens"),
    "negative": (RawUsage(-3, 7), {"output_tokens": 7}, "-3 as input_tokens"),
    "fractional": (RawUsage(3.5, 7), {"output_tokens": 7}, "3.5 as input_tokens"),
    "whole as a float": (RawUsage(40.0, 2.0), {"input_tokens": 40, "output_tokens": 2}, None),
    "infinite": (RawUsage(float("inf"), 2), {"output_tokens": 2}, "inf as input_tokens"),
    "reasoning outside": (
        RawUsage(10, 5, reasoning_tokens=30, total_tokens=45),
        {"input_tokens": 10, "output_tokens": 35, "reasoning_tokens": 30},
        None,
    ),
    "reasoning outside, and no sum that shows it": (
        RawUsage(10, 5, reasoning_tokens=30),
        {"input_tokens": 10},
        "30 reasoning tokens in a completion of 5",
    ),
    "cache outside": (
        RawUsage(10, 5, cache_read_tokens=90, total_tokens=105),
        {"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 90},
        None,
    ),
    "cache and reasoning outside": (
        RawUsage(10, 5, 90, reasoning_tokens=20, total_tokens=125),
        {
            "input_tokens": 100,
            "output_tokens": 25,
            "cache_read_tokens": 90,
            "reasoning_tokens": 20,
        },
        None,
    ),
    "cache above the prompt": (
        RawUsage(10, 5, cache_read_tokens=90),
        {"output_tokens": 5},
        "90 cached tokens in a prompt of 10",
    ),
    "cache above the prompt, and reasoning outside": (
        RawUsage(10, 5, cache_read_tokens=90, reasoning_tokens=20, total_tokens=35),
        {"output_tokens": 25, "reasoning_tokens": 20},
        "90 cached tokens in a prompt of 10",
    ),
    "cache above the prompt, and reasoning above the completion": (
        RawUsage(10, 5, cache_read_tokens=90, reasoning_tokens=30),
        {},
        "90 cached tokens in a prompt of 10",
    ),
    "cache beside the prompt by the interface": (
        RawUsage(10, 5, cache_read_tokens=90, cache_write_tokens=3, cache_is_beside_input=True),
        {
            "input_tokens": 103,
            "output_tokens": 5,
            "cache_read_tokens": 90,
            "cache_write_tokens": 3,
        },
        None,
    ),
    "a sum that nothing explains": (
        RawUsage(10, 5, total_tokens=60),
        {},
        "10 prompt tokens, 5 completion tokens and 60 tokens in all",
    ),
    "a cost": (
        RawUsage(10, 5, cost=0.25),
        {"input_tokens": 10, "output_tokens": 5, "cost": 0.25},
        None,
    ),
    "a cost of nothing": (
        RawUsage(10, 5, cost=0),
        {"input_tokens": 10, "output_tokens": 5, "cost": 0},
        None,
    ),
    "a cost of nothing beside zeros": (RawUsage(0, 0, cost=0), {}, "0 prompt tokens"),
    "a negative cost": (RawUsage(10, 5, cost=-1), {"input_tokens": 10, "output_tokens": 5}, None),
    "nothing": (RawUsage(), {}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_counts_are_consistent_or_unknown(case: str) -> None:
    raw, counts, problem = CASES[case]
    usage = checked_usage(raw, has_text=True)
    assert usage.counts == counts
    assert (usage.problem is None) == (problem is None)
    assert (problem or "") in (usage.problem or "")


def test_an_empty_reply_may_have_no_completion_tokens() -> None:
    assert checked_usage(RawUsage(10, 0), has_text=False).counts["output_tokens"] == 0


@pytest.mark.parametrize(
    ("earlier", "later", "latest"),
    [
        ({"a": 40}, {"a": 0}, {"a": 40}),
        ({"a": 40}, {"a": None, "b": 2}, {"a": 40, "b": 2}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"d": {"c": 5}}, {"d": {"c": 0, "e": 1}}, {"d": {"c": 5, "e": 1}}),
        (None, {"a": 0}, {"a": 0}),
    ],
)
def test_a_later_zero_replaces_no_count(earlier: Any, later: Any, latest: Any) -> None:
    assert latest_usage(earlier, later) == latest


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    usages = [{"input_tokens": 3, "output_tokens": 1, "cost": 0.1}, {"output_tokens": 2}]
    assert add_usage(usages) == {"output_tokens": 3}

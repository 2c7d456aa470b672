"""The draws of the random control: those of ``random.shuffle``, and what fits of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_bench_controls.choosing import chosen, shares, shuffled
from context_bench_controls.units import Region, Unit


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 5000])
@pytest.mark.parametrize("seed", [0, 7, "0:s1"])
def test_a_draw_is_the_one_of_shuffle(count: int, seed: int | str) -> None:
    expected = list(range(count))
    random.Random(seed).shuffle(expected)
    assert shuffled(count, random.Random(seed)) == expected


def region_of(sizes: list[int], calls: list[int]) -> Region:
    units = [
        Unit(0, size, None if call < 0 else call, False, "")
        for size, call in zip(sizes, calls, strict=True)
    ]
    holders = [frozenset({number}) for number in range(len(sizes))]
    return Region(units, sum(sizes), holders, [bool(number % 2) for number in range(len(sizes))])


def filled(region: Region, order: list[int], tokens: int) -> set[int]:
    """Return what fits, tried one by one."""
    kept: set[int] = set()
    for number in order:
        needs = {number} if region.calls[number] < 0 else {number, region.calls[number]}
        if sum(region.sizes[one] for one in kept | needs) <= tokens:
            kept |= needs
    return kept


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=30),
    st.integers(0, 120),
    st.integers(0, 5),
)
def test_a_random_control_keeps_what_fits_in_the_order_of_its_draw(
    told: list[tuple[int, bool]], tokens: int, seed: int
) -> None:
    sizes = [size for size, _ in told]
    calls = [0 if is_result and number else -1 for number, (_, is_result) in enumerate(told)]
    region = region_of(sizes, calls)
    expected = filled(region, shuffled(len(sizes), random.Random(seed)), tokens)
    assert chosen(region, "random", tokens, seed) == expected


def test_shares_are_of_what_was_needed_and_of_all() -> None:
    region = region_of([1, 1, 1, 1], [-1] * 4)
    assert shares(region, frozenset({0, 1, 2})) == {"needed": 0.5, "all": 0.75}
    assert shares(region_of([], []), frozenset()) == {"needed": None, "all": None}


def test_cleared_results_are_emptied_as_wholes_the_oldest_first_and_all_calls_stay() -> None:
    calls = [
        Unit(2 * number, 2, None, False, f"call {number}", f"c{number}") for number in range(3)
    ]
    units: list[Unit] = []
    for number, call in enumerate(calls):
        units.append(call)
        place = len(units) - 1
        units += [Unit(2 * number + 1, 5, place, True, f"line {line}") for line in range(2)]
    region = Region(units, sum(unit.tokens for unit in units), (), ())
    called = {0, 3, 6}
    assert chosen(region, "clear-results", region.tokens) == frozenset(range(9))
    assert chosen(region, "clear-results", region.tokens - 1) == called | {4, 5, 7, 8}
    assert chosen(region, "clear-results", 6 + 10 + 9) == called | {7, 8}
    assert chosen(region, "clear-results", 6 + 9) == called
    assert chosen(region, "clear-results", 4) == {3, 6}

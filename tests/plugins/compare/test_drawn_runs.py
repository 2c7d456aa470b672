"""Drawn runs are tested as the test itself would, and have the difference that was asked."""

from __future__ import annotations

import numpy as np
import pytest

from context_bench_compare.differences import difference_p_value, difference_test
from context_bench_compare.drawn_runs import Differences, Units
from context_bench_compare.intervals import Floats, Interval
from context_bench_compare.paired_passes import lower_end_is_above, mid_p, passes_interval
from context_bench_compare.sign_flip import chance_of_more, chances_of_more

CLUSTERS = np.arange(60) // 5


def passes(draw: np.random.Generator) -> Floats:
    """Return flips of 60 rows in clusters of five."""
    together = np.repeat(draw.choice([1.0, -1.0, 0.0], 12, p=[0.2, 0.2, 0.6]), 5)
    return np.where(draw.random(60) < 0.6, together, 0.0)


def graded(draw: np.random.Generator) -> Floats:
    """Return graded differences of 60 rows, of which a part are ties, and some a pass for a fail."""
    values = np.where(draw.random(60) < 0.4, 0.0, draw.normal(0, 0.2, 60))
    return np.where(draw.random(60) < 0.1, draw.choice([-1.0, 1.0], 60), values)


@pytest.mark.parametrize("drawn", [passes, graded])
def test_drawn_runs_have_the_difference_that_was_asked(drawn: object) -> None:
    own = drawn(np.random.default_rng(1))  # type: ignore[operator]
    runs = Differences.of(own, CLUSTERS, None).runs(0.15, 12, 4000)
    assert isinstance(runs.units, Units)
    means = runs.units.sums.sum(axis=1) / runs.units.sizes.sum(axis=1)
    assert means.mean() == pytest.approx(0.15, abs=0.01)


def test_drawn_rows_of_a_cluster_hang_together_as_much_as_they_were_seen_to() -> None:
    generator = np.random.default_rng(2)
    numbers = np.arange(2000) // 5
    together = np.repeat(generator.choice([1.0, -1.0, 0.0], 400, p=[0.1, 0.1, 0.8]), 5)
    alone = generator.choice([1.0, -1.0, 0.0], 2000, p=[0.1, 0.1, 0.8])
    for shared in (0.0, 0.5, 1.0):
        own = np.where(generator.random(2000) < shared, together, alone)
        runs = Differences.of(own, numbers, None).runs(0.0, 400, 200)
        assert isinstance(runs.units, Units)
        variance = float(np.square(runs.units.sums).mean())
        assert variance == pytest.approx(5 * 0.2 * (1 + 4 * shared**2), rel=0.2)


def test_rows_that_do_not_differ_stay_as_they_are() -> None:
    own = np.where(np.arange(60) % 4, 0.0, np.random.default_rng(4).normal(0, 0.2, 60))
    runs = Differences.of(own, None, None).runs(0.05, 60, 200)
    assert isinstance(runs.units, Units)
    assert (runs.units.sums != 0).mean() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("drawn", [passes, graded])
def test_what_is_found_in_a_drawn_run_is_what_the_test_finds(drawn: object) -> None:
    """The rows of clusters are taken by the normal distribution, so a few runs near the limit are judged otherwise."""
    generator, agreed = np.random.default_rng(3), 0
    for _ in range(60):
        own = drawn(generator) + 0.0  # type: ignore[operator]
        own[:20] = np.abs(own[:20])
        sums = own.reshape(12, 5).sum(axis=1)
        whole = Units(sums[None], np.full((1, 12), 5.0), are_passes=drawn is passes)
        by_rows = difference_p_value(own) < 0.05
        found = bool(whole.finds(0.025)[0]) and by_rows
        agreed += found == (difference_p_value(own, CLUSTERS) < 0.05 and own.sum() > 0)
    assert agreed >= 58


@pytest.mark.parametrize(("improved", "regressed"), [(0, 0), (3, 1), (1, 6), (12, 4), (9, 9)])
@pytest.mark.parametrize("margin", [0.01, 0.05, 0.1, 0.2])
def test_the_end_of_an_interval_is_known_without_a_search(
    improved: int, regressed: int, margin: float
) -> None:
    p_value = mid_p(improved, regressed)
    low, _ = passes_interval(improved, regressed, 60, p_value, 0.95)
    assert lower_end_is_above(-margin, improved, regressed, 60, 0.95) == (low > -margin)
    own = np.repeat([1.0, -1.0, 0.0], [improved, regressed, 60 - improved - regressed])
    found = difference_test(own).interval
    assert isinstance(found, Interval)
    assert found.low == pytest.approx(low)


@pytest.mark.parametrize("are_passes", [False, True])
@pytest.mark.parametrize("count", [6, 10, 40])
def test_many_samples_at_once_have_the_chances_of_each(count: int, are_passes: bool) -> None:
    draw = np.random.default_rng(5)
    sums = draw.integers(-2, 3, (30, count)) * (1.0 if are_passes else draw.random(count))
    expected = [chance_of_more(row, are_passes) for row in sums]
    assert chances_of_more(sums, are_passes=are_passes) == pytest.approx(expected, abs=0.005)
    assert chances_of_more(np.zeros((1, count))) == [1.0]

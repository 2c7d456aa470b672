"""Statistics of agreement, against scipy, scikit-learn, and what intervals promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_bench_validation.statistics import (
    CORRELATION,
    MAXIMUM_GROUPS,
    SHARE,
    estimate,
    kappa,
    kendall,
    mean_within,
    spearman,
)

TWO_SIDES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=40)


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])


@settings(max_examples=25, deadline=None)
@given(TWO_SIDES)
def test_rank_correlations_are_those_of_scipy_with_ties(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = sides(pairs)
    if len(set(first.tolist())) < 2 or len(set(second.tolist())) < 2:
        assert np.isnan(spearman(first, second))
        assert np.isnan(kendall(first, second))
        return
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert kendall(first, second) == pytest.approx(by_pairs(first, second))


def by_pairs(first: np.ndarray, second: np.ndarray) -> float:
    """Return Kendall's tau-b by its definition over all pairs."""
    upper = np.triu_indices(len(first), 1)
    left = np.sign(np.subtract.outer(first, first))[upper]
    right = np.sign(np.subtract.outer(second, second))[upper]
    return float((left * right).sum() / np.sqrt((left != 0).sum() * (right != 0).sum()))


@settings(max_examples=25, deadline=None)
@given(TWO_SIDES)
@pytest.mark.parametrize("weights", ["none", "quadratic"])
def test_kappa_is_that_of_scikit_learn(weights: str, pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = sides(pairs)
    if len({*first.tolist(), *second.tolist()}) < 2:
        assert np.isnan(kappa(first, second, categories=5, weights=weights))
        return
    expected = metrics.cohen_kappa_score(
        first, second, labels=range(5), weights=None if weights == "none" else weights
    )
    assert kappa(first, second, categories=5, weights=weights) == pytest.approx(expected)


def test_kappa_of_two_doctors() -> None:
    """Of 50 patients both say yes to 20 and no to 15: agreement 0.7, by chance 0.5, kappa 0.4."""
    first = np.array([1] * 25 + [0] * 25)
    second = np.array([1] * 20 + [0] * 5 + [1] * 10 + [0] * 15)
    assert kappa(first, second, categories=2) == pytest.approx(0.4)


def test_the_interval_of_a_mean_is_students() -> None:
    """The jackknife of a mean is the usual standard error: with one row an item and far from the bounds both agree."""
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(5).normal(0, 0.1, 200)
    found = estimate(lambda rows: float(values[rows].mean()), np.arange(200), CORRELATION)
    reach = stats.t.ppf(0.975, 199) * values.std(ddof=1) / np.sqrt(200)
    assert found.low == pytest.approx(values.mean() - reach, abs=2e-4)
    assert found.high == pytest.approx(values.mean() + reach, abs=2e-4)


def test_copies_of_rows_make_no_interval_narrower() -> None:
    rng = np.random.default_rng(7)
    first = rng.normal(size=30)
    second = first + rng.normal(size=30)
    once = estimate(lambda rows: spearman(first[rows], second[rows]), np.arange(30), CORRELATION)
    left = np.repeat(first, 5)
    right = np.repeat(second, 5)
    units = np.repeat(np.arange(30), 5)
    copied = estimate(lambda rows: spearman(left[rows], right[rows]), units, CORRELATION)
    assert once.low is not None
    assert copied.low is not None
    assert (copied.rows, copied.units) == (150, 30)
    assert copied.low == pytest.approx(once.low, abs=0.01)
    assert copied.high == pytest.approx(once.high, abs=0.01)
    naive = estimate(lambda rows: spearman(left[rows], right[rows]), np.arange(150), CORRELATION)
    assert naive.high - naive.low < 0.6 * (copied.high - copied.low)


@pytest.mark.parametrize("statistic", ["spearman", "kappa"])
def test_intervals_of_dependent_rows_hold_the_truth_as_often_as_they_say(statistic: str) -> None:
    rng = np.random.default_rng(11)
    units = np.repeat(np.arange(25), 4)
    truth = {"spearman": 0.4887, "kappa": 0.5223}[statistic]  # of 400,000 rows made as below
    hits = 0
    for _ in range(200):
        first, second = dependent_rows(rng, units, statistic)
        found = estimate(
            lambda rows: (
                spearman(first[rows], second[rows])  # noqa: B023 - called at once
                if statistic == "spearman"
                else kappa(first[rows], second[rows], categories=2)  # noqa: B023
            ),
            units,
            CORRELATION,
        )
        hits += found.low is not None and found.low <= truth <= found.high
    assert 0.9 <= hits / 200 <= 0.995


def dependent_rows(
    rng: np.random.Generator, units: np.ndarray, statistic: str
) -> tuple[np.ndarray, np.ndarray]:
    count = len(units)
    first = 0.7 * rng.normal(size=units.max() + 1)[units] + rng.normal(size=count)
    shared = rng.normal(size=units.max() + 1)[units]
    if statistic == "spearman":
        return first, np.round(0.7 * shared + 0.6 * first + rng.normal(size=count))
    is_yes = (first > 0).astype(int)
    return is_yes, is_yes ^ (rng.normal(size=count) + shared < -1).astype(int)


def test_an_accuracy_of_one_is_not_certain() -> None:
    agreed = np.ones(40)
    found = estimate(lambda rows: float(agreed[rows].mean()), np.repeat(np.arange(10), 4), SHARE)
    assert found.value == 1
    assert found.low is not None
    assert 0.6 < found.low < 0.8
    assert found.high == pytest.approx(1)


def test_few_items_have_no_interval_and_no_rows_no_value() -> None:
    values = np.array([0.1, 0.5, 0.9, 0.4])
    found = estimate(lambda rows: float(values[rows].mean()), np.arange(4), SHARE)
    assert (found.value, found.low, found.high) == (pytest.approx(0.475), None, None)
    empty = estimate(lambda rows: 1 / 0, np.array([], dtype=np.int64), SHARE)
    assert (empty.value, empty.low, empty.rows) == (None, None, 0)


def test_many_items_are_left_out_in_groups() -> None:
    values = np.random.default_rng(3).uniform(size=3000)
    calls = []

    def mean(rows: np.ndarray) -> float:
        calls.append(len(rows))
        return float(values[rows].mean())

    found = estimate(mean, np.arange(3000), SHARE)
    assert len(calls) == MAXIMUM_GROUPS + 1
    reach = 1.96 * values.std() / np.sqrt(3000)
    assert found.low is not None
    assert found.high - found.low == pytest.approx(2 * reach, rel=0.15)


def test_items_without_a_rank_are_counted() -> None:
    first = np.array([1, 2, 3, 1, 1, 1, 5.0])
    second = np.array([1, 2, 3, 3, 2, 1, 5.0])
    units = np.array([0, 0, 0, 1, 1, 1, 2])
    within, undefined = mean_within(spearman, first, second, units)
    assert (within.tolist(), undefined) == ([pytest.approx(1.0)], 2)

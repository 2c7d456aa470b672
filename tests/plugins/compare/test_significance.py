"""Paired tests and power: equal to the references, and true to their error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from context_bench_compare.intervals import Interval, TooFew, difference_interval
from context_bench_compare.power import (
    detectable_difference,
    imagined_by,
    reach_of,
    rows_for_margin,
    standard_error,
)
from context_bench_compare.sequential import bounds, spent
from context_bench_compare.significance import holm, mcnemar, paired_p_value, sign_flip


@pytest.mark.parametrize(("improved", "regressed"), [(0, 0), (1, 0), (1, 8), (10, 10), (55, 32), (300, 200)])
def test_mcnemar_is_the_exact_binomial_test(improved: int, regressed: int) -> None:
    flips = improved + regressed
    tail = stats.binom.cdf(min(improved, regressed), flips, 0.5)
    assert mcnemar(improved, regressed) == pytest.approx(min(1.0, 2 * tail), abs=1e-9)


def test_few_differences_are_flipped_in_every_way() -> None:
    differences = np.array([0.1, 0.4, -0.2, 0.3, 0.25, 0.0, 0.6])
    reference = stats.permutation_test(
        (differences,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert sign_flip(differences) == pytest.approx(reference.pvalue, abs=1e-9)


def test_many_differences_are_sampled_the_same_way_each_time() -> None:
    differences = np.random.default_rng(0).normal(0.05, 0.3, 300)
    reference = stats.ttest_1samp(differences, 0).pvalue
    assert sign_flip(differences) == sign_flip(differences)
    assert sign_flip(differences) == pytest.approx(reference, abs=0.02)


def test_equal_rows_differ_by_chance() -> None:
    assert sign_flip(np.zeros(50)) == 1.0
    assert paired_p_value(np.zeros(50)) == (1.0, "McNemar, exact")


@pytest.mark.one_python
@pytest.mark.parametrize("clusters", [10, 40])
def test_clusters_raise_no_false_alarms(clusters: int) -> None:
    generator = np.random.default_rng(clusters)
    numbers = np.repeat(np.arange(clusters), 8)
    alarms, naive = 0, 0
    repeats = 400
    for _ in range(repeats):
        shared = generator.normal(0, 0.4, clusters)[numbers]
        differences = np.sign(np.round(shared + generator.normal(0, 0.4, len(numbers))))
        alarms += paired_p_value(differences, numbers)[0] < 0.05
        naive += paired_p_value(differences)[0] < 0.05
    assert alarms / repeats <= 0.06 + 0.022
    assert naive > 2 * alarms  # without the clusters the test would alarm far more often


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03], [0.5], [0.001, 0.001, 0.2, 0.04], []])
def test_holm_is_the_step_down_method(p_values: list[float]) -> None:
    order = sorted(p_values)
    expected = [
        max(min(1.0, (len(order) - rank) * one) for rank, one in enumerate(order[: order.index(p) + 1]))
        for p in p_values
    ]
    assert holm(p_values) == pytest.approx(expected, abs=1e-12)


def test_what_a_run_can_show_is_found_that_often() -> None:
    generator = np.random.default_rng(5)
    smallest = detectable_difference(0.4 / np.sqrt(200))
    found = sum(stats.ttest_1samp(generator.normal(smallest, 0.4, 200), 0).pvalue < 0.05 for _ in range(500))
    assert found / 500 == pytest.approx(0.8, abs=0.06)


def test_so_many_rows_show_a_margin_that_often() -> None:
    generator = np.random.default_rng(6)
    rows = rows_for_margin(0.4, 0.05)
    shown = 0
    for _ in range(400):
        differences = generator.normal(0, 0.4, rows)
        shown += differences.mean() - 1.959964 * standard_error(differences) > -0.05
    assert shown / 400 == pytest.approx(0.8, abs=0.07)
    with pytest.raises(ValueError, match="expected to miss"):
        rows_for_margin(0.4, 0.05, difference=-0.05)


PUBLISHED = {4: [4.333, 2.963, 2.359, 2.014], 5: [4.877, 3.357, 2.680, 2.290, 2.031]}  # Lan and DeMets, alpha 0.05


@pytest.mark.parametrize("looks", PUBLISHED)
def test_bounds_of_the_sequential_design_are_the_published_ones(looks: int) -> None:
    assert bounds([look / looks for look in range(1, looks + 1)]) == pytest.approx(PUBLISHED[looks], abs=2e-3)


def test_the_whole_error_is_spent_at_the_end() -> None:
    assert spent(1.0, 0.05) == pytest.approx(0.05)
    assert spent(0.0, 0.05) == 0.0
    assert bounds([1.0]) == pytest.approx([1.959964], abs=1e-5)


def test_looking_often_finds_no_more_than_looking_once() -> None:
    generator = np.random.default_rng(8)
    shares = [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    limits = np.array(bounds(shares))
    rows = [int(share * 1000) for share in shares]
    sums = np.cumsum(generator.normal(0, 1, (4000, 1000)), axis=1)[:, [row - 1 for row in rows]]
    stopped = (np.abs(sums / np.sqrt(rows)) >= limits).any(axis=1).mean()
    assert stopped <= 0.055 + 0.007


@pytest.mark.parametrize("shares", [[], [0.5, 0.5], [0.5, 0.2], [0.0, 1.0], [0.5, 1.2]])
def test_looks_that_do_not_rise_are_refused(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="rising"):
        bounds(shares)


@pytest.mark.parametrize(("rows", "down"), [(20, 1), (100, 2), (100, 5), (200, 20)])
def test_what_a_run_with_few_flips_could_show_is_found_that_often(rows: int, down: int) -> None:
    """By the exact power of McNemar's test; a standard error of two flips told half of what it takes."""
    found = np.repeat([-1.0, 0.0], [down, rows - down])
    reach = reach_of(found, None, difference_interval(found))
    shown, share = reach.shows(), down / rows
    differing = max(shown, share)
    power = 0.0
    for flips in range(rows + 1):
        chance = stats.binom.pmf(flips, rows, differing)
        fewer = np.arange(flips + 1)
        significant = np.array([mcnemar(flips - one, one) < 0.05 for one in fewer])
        power += chance * stats.binom.pmf(fewer, flips, (1 - shown / differing) / 2)[significant].sum()
    assert power == pytest.approx(0.8, abs=0.08)


def test_a_run_in_which_no_row_differs_does_not_claim_to_show_every_difference() -> None:
    reach = reach_of(np.zeros(50), None, difference_interval(np.zeros(50)))
    assert 1 - stats.binom.cdf(5, 50, reach.shows()) == pytest.approx(0.8)


@pytest.mark.parametrize("spread", [0.01, 0.15])
def test_the_rows_planned_from_graded_scores_show_the_margin_as_often(spread: float) -> None:
    generator = np.random.default_rng(3)
    pilot = generator.normal(0, spread, 100)
    interval = difference_interval(pilot)
    deviation = standard_error(pilot) * 10
    rows = rows_for_margin(deviation, 0.05, imagined=imagined_by(interval, pilot, None))
    found = [difference_interval(generator.normal(0, spread, rows)) for _ in range(200)]
    assert sum(one.low >= -0.05 for one in found if isinstance(one, Interval)) / 200 >= 0.8 - 0.09


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.2])
def test_the_rows_planned_from_a_pilot_without_a_difference_show_the_margin(margin: float) -> None:
    rows = rows_for_margin(0.0, margin)
    found = difference_interval(np.zeros(rows))
    assert isinstance(found, Interval)
    assert -margin <= found.low
    fewer = difference_interval(np.zeros(max(2, rows * 9 // 10)))
    assert isinstance(fewer, TooFew) or fewer.low < -margin

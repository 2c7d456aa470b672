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
from context_bench_compare.significance import holm, mcnemar, paired_p_value


@pytest.mark.parametrize(
    ("improved", "regressed"), [(0, 0), (1, 0), (1, 8), (10, 10), (55, 32), (300, 200)]
)
def test_mcnemar_is_the_exact_binomial_test(improved: int, regressed: int) -> None:
    flips = improved + regressed
    tail = stats.binom.cdf(min(improved, regressed), flips, 0.5)
    assert mcnemar(improved, regressed) == pytest.approx(min(1.0, 2 * tail), abs=1e-9)


SIGNED = {
    "one way": lambda generator, rows: generator.uniform(0, 0.4, rows),
    "both ways": lambda generator, rows: generator.uniform(-0.4, 0.6, rows),
    "few": lambda generator, rows: np.where(generator.random(rows) < 0.1, 0.5, 0.0),
    "a rare loss": lambda generator, rows: np.where(generator.random(rows) < 0.05, -0.9, 0.1),
    "seconds": lambda generator, rows: (
        generator.lognormal(0, 1, rows) - generator.lognormal(0, 0.5, rows)
    ),
}


@pytest.mark.parametrize("shape", SIGNED)
@pytest.mark.parametrize("clusters", [None, 5, 7, 20])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_p_value_of_graded_differences_agrees_with_their_interval(
    shape: str, clusters: int | None, confidence: float
) -> None:
    generator = np.random.default_rng(4)
    for rows in (20, 40, 80, 160, 640) * 3:
        numbers = None if clusters is None else np.arange(rows) % clusters
        differences = SIGNED[shape](generator, rows)
        measured = 20.0 if shape == "seconds" else None
        found = difference_interval(differences, numbers, confidence, measured)
        p_value, test = paired_p_value(differences, numbers, measured)
        assert isinstance(found, Interval)
        assert test == "Gaffke"
        assert (p_value < 1 - confidence) == (found.low > 0 or found.high < 0)


@pytest.mark.parametrize("rows", [6, 30, 300])
def test_the_p_value_of_graded_differences_is_that_of_weights_drawn_at_random(rows: int) -> None:
    generator = np.random.default_rng(rows)
    differences = generator.choice([-0.4, 0.0, 0.2, 0.5], rows, p=[0.1, 0.3, 0.3, 0.3])
    drawn = generator.dirichlet(np.ones(rows + 1), 40_000) @ np.r_[differences, -1]
    assert paired_p_value(differences)[0] == pytest.approx(2 * (drawn < 0).mean(), abs=0.02)
    assert paired_p_value(-differences)[0] == pytest.approx(paired_p_value(differences)[0])


SKEWED = {
    "a rare large loss": lambda generator, rows: np.where(
        generator.random(rows) < 0.05, -0.95, 0.05
    ),
    "a rare large gain": lambda generator, rows: np.where(generator.random(rows) < 0.1, 0.9, -0.1),
    "a long tail": lambda generator, rows: (
        np.minimum(1, generator.exponential(0.2, rows)) - 0.2 * (1 - np.exp(-5))
    ),
}


@pytest.mark.one_python
@pytest.mark.parametrize("shape", SKEWED)
@pytest.mark.parametrize("rows", [20, 60])
def test_equal_systems_whose_differences_are_skewed_raise_no_false_alarms(
    shape: str, rows: int
) -> None:
    """A sign-flip test, which supposes symmetry, alarmed in up to 9.5 of 100."""
    generator = np.random.default_rng(rows)
    alarms = sum(paired_p_value(SKEWED[shape](generator, rows))[0] < 0.05 for _ in range(1000))
    assert alarms / 1000 <= 0.05 + 0.014


def test_no_p_value_lies_below_what_the_rows_that_differ_can_show() -> None:
    numbers = np.repeat(np.arange(8), 5)
    for differences in (
        np.repeat(np.linspace(0.5, 1, 8), 5),
        np.repeat(np.linspace(100, 101, 8), 5),
    ):
        assert paired_p_value(differences, numbers)[0] > 2.0**-7


@pytest.mark.parametrize("units", [2, 5, 8, 30])
@pytest.mark.parametrize("zeros", [0, 3, 40])
def test_rows_that_differ_by_the_same_have_the_p_value_of_their_signs(
    units: int, zeros: int
) -> None:
    tokens, signs = np.r_[np.full(units, 250.0), np.zeros(zeros)], 2.0 ** (1 - units)
    assert signs <= paired_p_value(tokens, measured=250.0)[0] < 1.06 * signs
    assert signs <= paired_p_value(tokens, measured=900.0)[0]


RARELY_APART = {
    "seconds of rows": lambda draw, units: (
        np.where(draw.random(units) < 0.04, 30.0, 0.0) * draw.choice([-1, 1], units)
        + draw.normal(0, 0.4, units)
    ),
    "scores of clusters": lambda draw, units: np.clip(
        np.where(draw.random(units) < 0.1, 0.8, 0.0) * draw.choice([-1, 1], units)
        + draw.normal(0, 0.03, units),
        -1,
        1,
    ),
}


@pytest.mark.one_python
@pytest.mark.parametrize("what", RARELY_APART)
@pytest.mark.parametrize("units", [20, 40])
def test_equal_systems_that_rarely_part_by_much_raise_no_false_alarms(
    what: str, units: int
) -> None:
    """With nothing imagined on the other side of zero 12 to 20 of 100 runs told a difference."""
    draw, alarms = np.random.default_rng(units), 0
    for _ in range(500):
        apart = RARELY_APART[what](draw, units)
        pairs = (
            (apart, None, 31.0)
            if what.startswith("seconds")
            else (np.repeat(apart, 2), np.arange(2 * units) // 2)
        )
        alarms += paired_p_value(*pairs)[0] < 0.05
    assert alarms / 500 <= 0.05 + 0.02


def test_tokens_that_differ_by_one_are_no_passes_and_fails() -> None:
    differences = np.r_[np.ones(15), np.zeros(45)]
    assert paired_p_value(differences, measured=900.0)[1] == "Gaffke"
    assert paired_p_value(differences, np.arange(60))[1] == "McNemar, exact"


def test_equal_rows_differ_by_chance() -> None:
    assert paired_p_value(np.zeros(50), np.arange(50) // 5) == (1.0, "Gaffke")
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
        max(
            min(1.0, (len(order) - rank) * one)
            for rank, one in enumerate(order[: order.index(p) + 1])
        )
        for p in p_values
    ]
    assert holm(p_values) == pytest.approx(expected, abs=1e-12)


def test_what_a_run_can_show_is_found_that_often() -> None:
    generator = np.random.default_rng(5)
    smallest = detectable_difference(0.4 / np.sqrt(200))
    found = sum(
        stats.ttest_1samp(generator.normal(smallest, 0.4, 200), 0).pvalue < 0.05 for _ in range(500)
    )
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


PUBLISHED = {
    4: [4.333, 2.963, 2.359, 2.014],
    5: [4.877, 3.357, 2.680, 2.290, 2.031],
}  # Lan and DeMets, alpha 0.05


@pytest.mark.parametrize("looks", PUBLISHED)
def test_bounds_of_the_sequential_design_are_the_published_ones(looks: int) -> None:
    assert bounds([look / looks for look in range(1, looks + 1)]) == pytest.approx(
        PUBLISHED[looks], abs=2e-3
    )


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
        power += (
            chance * stats.binom.pmf(fewer, flips, (1 - shown / differing) / 2)[significant].sum()
        )
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

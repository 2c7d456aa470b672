"""The test of a difference: equal to scipy's, in agreement with its interval, and never surer by dependence."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

from context_bench_compare.differences import (
    OF_PASSES,
    OF_SCORES,
    difference_p_value,
    difference_test,
    guaranteed_difference,
    rarest_seen,
)
from context_bench_compare.intervals import Clusters, Floats, Interval, TooFew
from context_bench_compare.paired_passes import mid_p, passes_interval, tango_score
from context_bench_compare.sign_flip import chance_of_more, chances_of_more, flip_p_value


@pytest.mark.parametrize(
    ("improved", "regressed"), [(0, 0), (1, 0), (1, 8), (10, 10), (55, 32), (300, 200), (0, 900)]
)
def test_mcnemar_is_the_binomial_test_less_half_of_what_was_seen(
    improved: int, regressed: int
) -> None:
    flips, fewer = improved + regressed, min(improved, regressed)
    exact = 2 * stats.binom.cdf(fewer, flips, 0.5) - stats.binom.pmf(fewer, flips, 0.5)
    assert mid_p(improved, regressed) == pytest.approx(min(1.0, exact), rel=1e-9)
    assert mid_p(improved, regressed) == mid_p(regressed, improved)


@pytest.mark.parametrize("units", [6, 8, 10])
@pytest.mark.parametrize("effect", [0.0, 0.1, 0.5])
def test_few_units_get_the_permutation_test_of_scipy(units: int, effect: float) -> None:
    values = np.random.default_rng(units).normal(effect, 0.3, units)
    reference = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert flip_p_value(values) == pytest.approx(reference.pvalue, abs=1e-12)


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("units", [6, 8, 10])
def test_few_clusters_of_passes_get_scipys_permutations_and_count_equal_sums_by_half(
    units: int, size: int
) -> None:
    draw = np.random.default_rng(10 * units + size)
    numbers = np.repeat(np.arange(units), size)
    for _ in range(10):
        rows = draw.choice([-1.0, 0.0, 1.0], units * size, p=[0.15, 0.4, 0.45])
        sums = np.bincount(numbers, weights=rows)
        reference = stats.permutation_test(
            (sums,),
            np.sum,
            permutation_type="samples",
            n_resamples=np.inf,
            alternative="greater",
        )
        signs = np.array(list(product((-1.0, 1.0), repeat=units)))
        equal = float(np.isclose(signs @ sums, sums.sum()).mean())
        above = float(reference.pvalue) - equal / 2
        assert chance_of_more(sums, are_passes=True) == pytest.approx(above, abs=1e-12)
        expected = min(1.0, 2 * min(above, 1 - above))
        by_row = mid_p(int((rows > 0).sum()), int((rows < 0).sum()))
        signs_alone = mid_p(int((sums > 0).sum()), int((sums < 0).sum()))
        if np.count_nonzero(sums) < 6:
            expected = max(expected, signs_alone)
        assert difference_p_value(rows, numbers) == pytest.approx(max(expected, by_row))


@pytest.mark.parametrize(("units", "size"), [(20, 5), (12, 5), (30, 2)])
def test_clusters_of_passes_find_nearly_as_much_as_t_of_their_means(units: int, size: int) -> None:
    draw = np.random.default_rng(units)
    numbers = np.repeat(np.arange(units), size)
    ours, by_t, alarms = 0, 0, 0
    runs = 800
    for _ in range(runs):
        equal = draw.choice([-1.0, 0.0, 1.0], units * size, p=[0.09, 0.82, 0.09])
        alarms += difference_p_value(equal, numbers) < 0.05
        rows = draw.choice([-1.0, 0.0, 1.0], units * size, p=[0.01, 0.82, 0.17])
        means = rows.reshape(units, size).mean(axis=1)
        ours += difference_p_value(rows, numbers) < 0.05
        by_t += bool(np.ptp(means)) and stats.ttest_1samp(means, 0.0).pvalue < 0.05
    assert alarms <= 0.06 * runs
    assert ours >= 0.9 * by_t


@pytest.mark.parametrize("units", [15, 40, 200])
@pytest.mark.parametrize("shape", ["normal", "one large", "heavy tails", "ties"])
def test_more_units_get_what_random_signs_give(units: int, shape: str) -> None:
    draw = np.random.default_rng(units)
    values = draw.normal(0.05, 0.3, units)
    if shape == "one large":
        values[0] = 20.0
    if shape == "heavy tails":
        values = 0.1 + 0.3 * draw.standard_t(2, units)
    if shape == "ties":
        values = np.where(draw.random(units) < 0.6, 0.0, values)
    signs = draw.choice([-1.0, 1.0], (40_000, units))
    drawn = np.abs(signs @ values) >= abs(values.sum()) - 1e-9
    assert flip_p_value(values) == pytest.approx(drawn.mean(), abs=0.012)


def test_many_samples_at_once_get_what_each_of_them_gets() -> None:
    samples = np.random.default_rng(0).normal(0.05, 0.2, (50, 80))
    each = [chances_of_more(one[None, :])[0] for one in samples]
    assert chances_of_more(samples) == pytest.approx(each)
    one_sided = np.array([flip_p_value(one) for one in samples]) / 2
    at_once = chances_of_more(samples)
    assert np.minimum(at_once, 1 - at_once) == pytest.approx(one_sided, abs=0.004)


@pytest.mark.parametrize(("improved", "regressed", "rows"), [(9, 3, 50), (0, 7, 50), (30, 12, 400)])
def test_the_interval_of_passes_is_where_tangos_score_is_the_quantile(
    improved: int, regressed: int, rows: int
) -> None:
    """The score by maximizing the likelihood of the flips under each difference, as the paper defines it."""
    for difference in (-0.3, -0.05, 0.04, 0.2):
        rates = np.linspace(max(0.0, -difference), (1 - difference) / 2, 400_001)[1:-1]
        likelihood = (rows - improved - regressed) * np.log1p(-2 * rates - difference)
        likelihood += improved * np.log(rates + difference) + regressed * np.log(rates)
        rate = rates[likelihood.argmax()]
        error = np.sqrt(rows * (2 * rate + difference - difference**2))
        expected = (improved - regressed - rows * difference) / error
        assert tango_score(improved, regressed, rows, difference) == pytest.approx(
            expected, rel=1e-3
        )
    low, high = passes_interval(improved, regressed, rows, mid_p(improved, regressed), 0.95)
    far = high if improved > regressed else low
    assert abs(tango_score(improved, regressed, rows, far)) == pytest.approx(1.959964, rel=1e-6)


Shape = Callable[[np.random.Generator, int], Floats]

SHAPES: dict[str, Shape] = {
    "passes": lambda draw, rows: draw.choice([-1.0, 0.0, 1.0], rows, p=[0.05, 0.75, 0.2]),
    "few passes": lambda draw, rows: draw.choice([-1.0, 0.0, 1.0], rows, p=[0.01, 0.93, 0.06]),
    "graded": lambda draw, rows: draw.normal(0.08, 0.3, rows),
    "all gain": lambda draw, rows: draw.uniform(0, 0.4, rows),
    "ties": lambda draw, rows: np.where(draw.random(rows) < 0.1, 0.5, 0.0),
    "a rare loss": lambda draw, rows: np.where(draw.random(rows) < 0.05, -0.9, 0.1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("clusters", [None, 7, 20])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_interval_leaves_out_zero_where_the_test_rejects(
    shape: str, clusters: int | None, confidence: float
) -> None:
    draw = np.random.default_rng(4)
    for rows in (10, 20, 40, 80, 160) * 3:
        numbers = None if clusters is None else np.arange(rows) % clusters
        found = difference_test(SHAPES[shape](draw, rows), numbers, confidence)
        if confidence == 0.999 and isinstance(found.interval, TooFew):
            assert "11 are needed" in found.interval.reason
            continue
        assert isinstance(found.interval, Interval)
        leaves_out = found.interval.low > 0 or found.interval.high < 0
        assert (found.p_value < 1 - confidence) == leaves_out


@pytest.mark.parametrize("shape", SHAPES)
def test_clusters_of_any_size_keep_the_order_of_the_answers(shape: str) -> None:
    """Sizes differ, answers are repeated, signs are turned: the p-value alone is that of the whole test."""
    draw = np.random.default_rng(8)
    for rows in (15, 31, 64, 110):
        values = SHAPES[shape](draw, rows)
        numbers = draw.integers(0, max(7, rows // 4), rows)
        alone, found = difference_test(values), difference_test(values, numbers)
        assert difference_p_value(values, numbers) == pytest.approx(found.p_value)
        assert found.p_value >= alone.p_value
        times = np.repeat(np.arange(rows), 2)
        twice = difference_test(np.repeat(values, 2), np.repeat(numbers, 2), examples=times)
        turned = difference_test(-values, numbers)
        for same in (twice, turned):
            assert same.p_value == pytest.approx(found.p_value)
            assert same.test == found.test


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_hang_together_never_make_a_difference_surer(shape: str) -> None:
    draw = np.random.default_rng(5)
    for rows in (24, 60, 120) * 4:
        values = SHAPES[shape](draw, rows)
        examples, clusters = np.arange(rows) // 2, np.arange(rows) // 4
        alone = difference_test(values)
        pairs = difference_test(values, examples, examples=examples)
        both = difference_test(values, clusters, examples=examples)
        assert alone.p_value <= pairs.p_value <= both.p_value
        for wider, narrower in ((pairs, alone), (both, pairs)):
            assert isinstance(wider.interval, Interval)
            assert isinstance(narrower.interval, Interval)
            assert wider.interval.low <= narrower.interval.low
            assert wider.interval.high >= narrower.interval.high
        bounds = [guaranteed_difference(values, one) for one in (None, examples, clusters)]
        ends = [(one.low, one.high) for one in bounds if isinstance(one, Interval)]
        assert [low for low, _ in ends] == sorted((low for low, _ in ends), reverse=True)
        assert [high for _, high in ends] == sorted(high for _, high in ends)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_answer_that_is_repeated_changes_nothing(shape: str) -> None:
    values = SHAPES[shape](np.random.default_rng(6), 60)
    times = np.repeat(np.arange(60), 3)
    once, thrice = (
        difference_test(values),
        difference_test(np.repeat(values, 3), times, examples=times),
    )
    assert thrice.p_value == pytest.approx(once.p_value)
    assert thrice.test == once.test
    assert isinstance(once.interval, Interval)
    assert isinstance(thrice.interval, Interval)
    assert (thrice.interval.low, thrice.interval.high) == pytest.approx(
        (once.interval.low, once.interval.high), abs=1e-9
    )


def test_a_gain_on_every_row_takes_six_rows_to_be_seen() -> None:
    assert difference_test(np.full(6, 0.02)).p_value == 2.0**-5
    assert difference_test(np.full(5, 0.02)).interval == TooFew("5 rows, 6 are needed")
    assert difference_test(np.full(100, 0.02), np.arange(100) // 2).p_value < 1e-9


def test_the_guarantee_holds_what_the_test_does_and_a_loss_that_nobody_saw() -> None:
    tested = difference_test(np.full(100, 0.02)).interval
    bound = guaranteed_difference(np.full(100, 0.02))
    assert isinstance(tested, Interval)
    assert isinstance(bound, Interval)
    assert bound.low < -0.01 < 0.0 < tested.low
    chance = 1 / rarest_seen(100)
    assert (1 - chance) ** 100 <= 0.025 < (1 - 1 / (rarest_seen(100) + 1)) ** 100


@pytest.mark.parametrize(
    ("values", "clusters", "name"),
    [
        (np.r_[np.ones(15), np.zeros(45)], np.arange(60), OF_PASSES),
        (np.r_[np.ones(15), np.zeros(45)], np.arange(60) // 2, OF_SCORES),
        (np.r_[np.full(15, 0.5), np.zeros(45)], None, OF_SCORES),
    ],
)
def test_passes_and_fails_of_single_rows_get_mcnemars_test(
    values: Floats, clusters: Clusters | None, name: str
) -> None:
    assert difference_test(values, clusters).test == name


def test_equal_rows_differ_by_chance() -> None:
    assert difference_test(np.zeros(50), np.arange(50) // 5).p_value == 1.0
    found = difference_test(np.zeros(50)).interval
    assert isinstance(found, Interval)
    assert found.low == pytest.approx(-found.high)
    assert found.high > 0.05


EQUAL: dict[str, tuple[Shape, float]] = {
    "passes .5": (lambda draw, rows: draw.choice([-1.0, 0.0, 1.0], rows, p=[0.25, 0.5, 0.25]), 0.4),
    "passes .98": (
        lambda draw, rows: draw.choice([-1.0, 0.0, 1.0], rows, p=[0.02, 0.96, 0.02]),
        0.0,
    ),
    "graded": (lambda draw, rows: draw.normal(0, 0.05, rows), 0.8),
    "ties": (
        lambda draw, rows: np.where(draw.random(rows) < 0.8, 0, draw.normal(0, 0.2, rows)),
        0.0,
    ),
    "1 in 20 lost": (
        lambda draw, rows: np.where(
            draw.random(rows) < 0.1, draw.choice([-1.0, 1.0], rows), draw.normal(0, 0.02, rows)
        ),
        0.0,
    ),
    "heavy tails": (lambda draw, rows: draw.standard_t(3, rows) * 0.1, 0.0),
}


@pytest.mark.one_python
@pytest.mark.parametrize("kind", EQUAL)
@pytest.mark.parametrize(("rows", "size"), [(10, 1), (60, 1), (100, 10), (200, 5)])
def test_equal_systems_alarm_in_six_of_a_hundred_runs_at_most(
    kind: str, rows: int, size: int
) -> None:
    """A part of tests/benchmarks/bench_statistics.py; each half of a cluster's rows is what the whole cluster is."""
    drawn, _ = EQUAL[kind]
    draw = np.random.default_rng([rows, size])
    numbers = np.arange(rows) // size if size > 1 else None
    alarms = 0
    for _ in range(500):
        values = drawn(draw, rows)
        if size > 1:
            together = np.repeat(drawn(draw, rows // size), size)
            values = np.where(draw.random(rows) < 0.7, together, values)
        alarms += difference_p_value(values, numbers) < 0.05
    assert alarms / 500 <= 0.06 + 0.02  # two standard errors of so few runs

"""Intervals: equal to the references on fixed cases, and true to their confidence over a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from context_bench_compare.bounded_means import bounded_mean
from context_bench_compare.differences import difference_test, guaranteed_difference
from context_bench_compare.intervals import (
    Interval,
    TooFew,
    mean_interval,
    percentile_interval,
    wilson,
)
from context_bench_compare.ratio_intervals import ratio_interval, unbounded_mean_interval


@pytest.mark.parametrize(
    ("passes", "rows"), [(0, 20), (1, 20), (16, 20), (49, 50), (500, 1000), (2000, 2000)]
)
def test_rates_get_the_interval_that_scipy_gives(passes: int, rows: int) -> None:
    found = mean_interval(np.r_[np.ones(passes), np.zeros(rows - passes)])
    reference = stats.binomtest(passes, rows).proportion_ci(0.95, method="wilson")
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), abs=1e-9)


def test_one_row_a_cluster_is_nearly_the_interval_without_clusters() -> None:
    values = np.r_[np.ones(320), np.zeros(80)]
    alone, clustered = mean_interval(values), mean_interval(values, np.arange(400))
    assert isinstance(alone, Interval)
    assert isinstance(clustered, Interval)
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high), abs=2e-3)


def test_equal_rows_of_a_cluster_count_once() -> None:
    clusters = np.repeat(np.arange(100), 10)
    values = np.repeat(np.r_[np.ones(70), np.zeros(30)], 10)
    found = mean_interval(values, clusters)
    low, high = wilson(0.7, 100, 1.984)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01)


@pytest.mark.parametrize(("size", "told"), [(0, "0 rows"), (1, "1 row"), (19, "19 rows")])
def test_few_rows_get_no_interval(size: int, told: str) -> None:
    assert mean_interval(np.ones(size)) == TooFew(f"{told}, 20 are needed")


def test_few_clusters_get_no_interval() -> None:
    clusters = np.repeat(np.arange(4), 100)
    assert mean_interval(np.ones(400), clusters) == TooFew("4 clusters, 5 are needed")


def test_values_outside_of_zero_to_one_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_interval(np.full(30, 2.0))


RATES = [0.5, 0.8, 0.9, 0.95, 0.98]
REPEATS = 200
SLACK = 0.039  # two and a half standard errors of a coverage of 0.95 over so many repeats


def coverage(draws: list[tuple[np.ndarray, np.ndarray | None]], truth: float) -> float:
    found = [mean_interval(values, clusters) for values, clusters in draws]
    given = [one for one in found if isinstance(one, Interval)]
    assert len(given) == len(found)
    return sum(one.low <= truth <= one.high for one in given) / len(given)


@pytest.mark.parametrize("rows", [20, 50, 200, 2000])
@pytest.mark.parametrize("rate", RATES)
def test_intervals_of_rates_hold_what_they_promise(rows: int, rate: float) -> None:
    passes = np.arange(rows + 1)
    shares = stats.binom.pmf(passes, rows, rate)
    ends = [wilson(count / rows, rows, stats.norm.ppf(0.975)) for count in passes]
    covered = sum(share for share, (low, high) in zip(shares, ends) if low <= rate <= high)
    assert covered >= 0.92


@pytest.mark.parametrize("clusters", [5, 10, 20, 50, 200])
@pytest.mark.parametrize("correlation", [0.1, 0.5])
@pytest.mark.one_python
def test_intervals_of_clustered_rates_hold_what_they_promise(
    clusters: int, correlation: float
) -> None:
    generator = np.random.default_rng(clusters)
    numbers = np.repeat(np.arange(clusters), 10)
    strength = 1 / correlation - 1
    found = []
    for rate in RATES:
        chances = generator.beta(rate * strength, (1 - rate) * strength, (REPEATS, clusters))
        draws = [
            ((generator.random(len(numbers)) < row[numbers]).astype(float), numbers)
            for row in chances
        ]
        found.append(coverage(draws, rate))
    assert min(found) >= 0.92 - SLACK
    assert np.mean(found) >= 0.94


GRADED = {
    "rarely nothing": (
        lambda generator, size: np.where(
            generator.random(size) < 0.05, 0.0, 1 - 0.05 * generator.random(size)
        ),
        0.95 * 0.975,
    ),
    "u-shaped": (lambda generator, size: generator.beta(0.5, 0.5, size), 0.5),
    "high": (lambda generator, size: generator.beta(9, 1, size), 0.9),
    "mostly one": (
        lambda generator, size: np.where(generator.random(size) < 0.9, 1.0, generator.random(size)),
        0.95,
    ),
}


@pytest.mark.parametrize("shape", GRADED)
@pytest.mark.parametrize("rows", [20, 100, 1000])
def test_intervals_of_graded_scores_hold_what_they_promise(shape: str, rows: int) -> None:
    draw, truth = GRADED[shape]
    generator = np.random.default_rng(rows)
    assert coverage([(draw(generator, rows), None) for _ in range(REPEATS)], truth) >= 0.92 - SLACK


@pytest.mark.parametrize(("up", "down"), [(0.02, 0.02), (0.1, 0.1), (0.2, 0.05), (0.05, 0.01)])
@pytest.mark.parametrize("clusters", [None, 8, 50])
def test_intervals_of_differences_hold_what_they_promise(
    up: float, down: float, clusters: int | None
) -> None:
    generator = np.random.default_rng(7)
    rows = 400
    numbers = None if clusters is None else np.sort(generator.integers(0, clusters, rows))
    covered = 0
    for _ in range(REPEATS):
        passed = generator.random(rows) < 0.8
        chance = generator.random(rows)
        after = np.where(passed, chance >= down, chance < up)
        found = guaranteed_difference(after.astype(float) - passed, numbers)
        assert isinstance(found, Interval)
        covered += found.low <= 0.2 * up - 0.8 * down <= found.high
    assert covered / REPEATS >= 0.92 - SLACK


@pytest.mark.parametrize("rows", [20, 50, 100])
@pytest.mark.parametrize(
    ("up", "down"), [(0, 0.02), (0, 0.039), (0, 0.1), (0, 0.3), (0.01, 0.05), (0.05, 0.05)]
)
def test_intervals_of_flips_hold_what_they_promise_also_where_all_go_one_way(
    rows: int, up: float, down: float
) -> None:
    """Over every outcome with its probability; half a row in each direction held 0.039 in 86 of 100 runs of 50 rows."""
    held = missed = 0.0
    for improved in range(rows + 1 if up else 1):
        for regressed in range(rows + 1 - improved):
            same = rows - improved - regressed
            chance = stats.multinomial.pmf(
                [improved, regressed, same], rows, [up, down, 1 - up - down]
            )
            if chance > 1e-7:
                found = difference_test(
                    np.repeat([1.0, -1.0, 0.0], [improved, regressed, same])
                ).interval
                assert isinstance(found, Interval)
                held += chance * (found.low <= up - down <= found.high)
                missed += chance * (found.low > up - down)
    assert held >= 0.93
    assert missed <= 0.03  # a gate on max-drop is met by mistake no more often


def test_clusters_without_a_difference_tell_what_one_row_of_each_tells() -> None:
    found = guaranteed_difference(np.zeros(400), np.repeat(np.arange(40), 10))
    exact = stats.binomtest(0, 40).proportion_ci(0.95, method="exact")
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((-exact.high, exact.high), rel=0.02)


LOSSES = {
    "the same everywhere": lambda generator, size: -0.8 + generator.normal(0, 0.02, size),
    "most of the score": lambda generator, size: (
        generator.choice([0, 0.25, 0.5], size, p=[0.6, 0.3, 0.1]) - 1
    ),
    "a little, rarely": lambda generator, size: np.where(
        generator.random(size) < 0.1, -generator.random(size), 0.0
    ),
    "noise": lambda generator, size: generator.normal(0, 0.15, size),
    "steps, rarely": lambda generator, size: np.where(generator.random(size) < 0.05, -0.5, 0.0),
    "a little, and all rarely": lambda generator, size: np.where(
        generator.random(size) < 0.05, -1.0, generator.normal(0, 0.02, size)
    ),
    "two sizes": lambda generator, size: generator.choice(
        [-1.0, -0.1, 0.0], size, p=[0.03, 0.27, 0.7]
    ),
    "thirds": lambda generator, size: generator.choice(
        [-1, -2 / 3, 1 / 3, 0], size, p=[0.05, 0.1, 0.05, 0.8]
    ),
    "skewed": lambda generator, size: -generator.beta(0.1, 0.9, size),
}


@pytest.mark.parametrize("shape", LOSSES)
@pytest.mark.parametrize("rows", [20, 50, 200])
def test_intervals_of_graded_differences_hold_what_they_promise_and_are_no_wider(
    shape: str, rows: int
) -> None:
    generator = np.random.default_rng(rows)
    truth = LOSSES[shape](np.random.default_rng(0), 10**6).mean()
    covered, beside, wider = 0, np.zeros(2), []
    for _ in range(REPEATS):
        drawn = LOSSES[shape](generator, rows)
        found = guaranteed_difference(drawn)
        assert isinstance(found, Interval)
        assert -1 <= found.low <= found.high <= 1
        covered += found.low <= truth <= found.high
        beside += (found.low > truth, found.high < truth)
        student = stats.t.ppf(0.975, rows - 1) * drawn.std(ddof=1) / np.sqrt(rows)
        wider.append((found.high - found.low) / 2 - student)
    assert covered / REPEATS >= 0.92 - SLACK
    assert beside.max() / REPEATS <= 0.025 + 0.02
    assert np.mean(wider) <= 3.7 / rows  # of so few rows none shows what one in forty runs hides


def whole_clusters(generator: np.random.Generator, numbers: np.ndarray) -> np.ndarray:
    return -0.5 * (generator.random(numbers.max() + 1) < 0.1)[numbers]


def together(
    up: float, down: float, correlation: float
) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    def drawn(generator: np.random.Generator, numbers: np.ndarray) -> np.ndarray:
        strength, count = 1 / correlation - 1, numbers.max() + 1
        ups, downs = (
            generator.beta(rate * strength, (1 - rate) * strength, count)[numbers]
            for rate in (up, down)
        )
        chance = generator.random(len(numbers))
        return np.where(chance < downs, -1.0, (chance > 1 - ups).astype(float))

    return drawn


OF_CLUSTERS = {
    "few flips, all one way": (together(1e-9, 0.1, 0.1), -0.1),
    "rare flips that come together": (together(1e-9, 0.05, 0.5), -0.05),
    "flips both ways": (together(0.2, 0.05, 0.1), 0.15),
    "whole clusters": (whole_clusters, -0.05),
    "noise": (lambda generator, numbers: generator.normal(0, 0.1, numbers.max() + 1)[numbers], 0.0),
}

SIZES = {
    "ten each": lambda generator, count: np.full(count, 10),
    "a few each": lambda generator, count: 1 + generator.geometric(0.2, count),
    "some very large": lambda generator, count: np.minimum(
        200, 1 + np.floor(2 * generator.pareto(1.2, count))
    ).astype(int),
}


@pytest.mark.parametrize("shape", OF_CLUSTERS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("clusters", [8, 20, 60])
def test_intervals_of_differences_in_clusters_of_any_size_hold_what_they_promise_on_both_sides(
    shape: str, sizes: str, clusters: int
) -> None:
    """Half a row in each direction missed on one side in 22 of 100 runs of 60 clusters, some of them very large."""
    draw, truth = OF_CLUSTERS[shape]
    generator = np.random.default_rng(clusters)
    beside, runs = np.zeros(2), 0
    while runs < 200:
        numbers = np.repeat(np.arange(clusters), SIZES[sizes](generator, clusters))
        found = guaranteed_difference(draw(generator, numbers), numbers)
        if isinstance(found, Interval):
            beside += (found.low > truth, found.high < truth)
            runs += 1
    assert beside.max() / runs <= 0.025 + 0.03


def test_no_small_difference_makes_an_interval_of_graded_scores_narrow() -> None:
    """Fifty equal rows do not rule out a loss of one row in twenty; neither do they with a difference of a thousandth."""
    equal, nearly = (guaranteed_difference(np.r_[np.zeros(49), last]) for last in (0.0, 0.001))
    assert isinstance(equal, Interval)
    assert isinstance(nearly, Interval)
    assert nearly.low == pytest.approx(equal.low, rel=0.1)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_intervals_of_measures_do_not_depend_on_the_unit(unit: float) -> None:
    values = np.random.default_rng(4).gamma(2.0, 1.0, (2, 60))
    first, second = (
        guaranteed_difference(one * (values[0] - values[1]), measured=one * values.max())
        for one in (1.0, unit)
    )
    assert isinstance(first, Interval)
    assert isinstance(second, Interval)
    assert (second.low, second.high) == pytest.approx((unit * first.low, unit * first.high))


@pytest.mark.parametrize(("passes", "rows"), [(0, 30), (3, 25), (20, 20), (40, 1000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
def test_the_bounded_mean_of_passes_is_the_exact_interval_of_scipy(
    passes: int, rows: int, confidence: float
) -> None:
    found = bounded_mean(
        np.r_[np.ones(passes), np.zeros(rows - passes)], None, 0.0, 1.0, confidence
    )
    exact = stats.binomtest(passes, rows).proportion_ci(confidence, method="exact")
    assert found == pytest.approx((exact.low, exact.high), rel=0.06, abs=1e-12)


@pytest.mark.parametrize("rows", [6, 30, 300])
def test_the_bounded_mean_is_that_of_weights_drawn_at_random(rows: int) -> None:
    generator = np.random.default_rng(rows)
    values = generator.choice([-1.0, -0.3, 0.0, 0.2], rows, p=[0.05, 0.25, 0.6, 0.1])
    weights = generator.dirichlet(np.ones(rows + 1), 40_000)
    ends = (
        np.quantile(weights @ np.r_[values, -1], 0.025),
        np.quantile(weights @ np.r_[values, 1], 0.975),
    )
    assert bounded_mean(values, None, -1.0, 1.0, 0.95) == pytest.approx(
        ends, abs=0.02 * (ends[1] - ends[0])
    )


def test_no_flip_at_all_still_leaves_a_width() -> None:
    found = guaranteed_difference(np.zeros(100))
    assert isinstance(found, Interval)
    assert found.low < -0.015 < 0.015 < found.high


GENERATOR = np.random.default_rng(7)
LATENCIES = GENERATOR.gamma(2.0, 1.0, 300)


PAIRED = LATENCIES * GENERATOR.normal(1.1, 0.2, 300)


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("columns", [(LATENCIES,), (LATENCIES, PAIRED)], ids=len)
def test_a_percentile_of_clusters_of_one_row_is_that_of_rows(
    columns: tuple[np.ndarray, ...], share: float
) -> None:
    alone, clustered = (
        percentile_interval(columns, share, clusters) for clusters in (None, np.arange(300))
    )
    assert isinstance(alone, Interval)
    assert isinstance(clustered, Interval)
    assert (clustered.low, clustered.high) == (alone.low, alone.high)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_a_percentile_lies_where_the_share_below_a_rank_is_beta_distributed(
    share: float, confidence: float
) -> None:
    """Less than a row from the order statistics that the binomial distribution names, which promise more than they say."""
    values = np.random.default_rng(11).permutation(2000).astype(float)
    found = percentile_interval((values,), share, confidence=confidence)
    tail = (1 - confidence) / 2
    assert isinstance(found, Interval)
    low, high = found.low + 1, found.high + 1
    assert stats.beta.sf(share, low, 2001 - low) == pytest.approx(tail, rel=1e-4)
    assert stats.beta.cdf(share, high, 2001 - high) == pytest.approx(tail, rel=1e-4)
    assert abs(found.low - (stats.binom.ppf(tail, 2000, share) - 1)) <= 1
    assert abs(found.high - stats.binom.ppf(1 - tail, 2000, share)) <= 1
    assert found.method == "order statistics"


@pytest.mark.parametrize(("share", "least"), [(0.5, 20), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_a_percentile_beyond_all_rows_has_no_interval(share: float, least: int) -> None:
    """With fewer rows the slowest of all is so often faster than the percentile that it bounds nothing."""
    values = np.arange(least, dtype=float)
    for columns, clusters in (
        ((values,), None),
        ((values, -values), None),
        ((values,), np.arange(least)),
    ):
        fewer = [column[1:] for column in columns], None if clusters is None else clusters[1:]
        found = percentile_interval(columns, share, clusters)
        assert isinstance(found, Interval)
        assert found.high <= values.max() or len(columns) == 2
        told = percentile_interval(tuple(fewer[0]), share, fewer[1])
        if isinstance(told, Interval):
            assert (len(columns), clusters) == (1, None)
            assert (told.high, told.rows_for_both) == (np.inf, least)
        else:
            assert told == TooFew(f"{least - 1} rows, {least} are needed")
    assert least == 20 or (share**least <= 0.025 < share ** (least - 1))


@pytest.mark.parametrize("rows", [20, 40, 71])
def test_of_few_rows_the_end_that_a_percentile_has_holds_what_it_promises(rows: int) -> None:
    truth = float(np.exp(stats.norm.ppf(0.95)))
    draws = np.random.default_rng(rows).lognormal(0, 1, (2000, rows))
    found = [percentile_interval((values,), 0.95) for values in draws]
    assert all(isinstance(one, Interval) and one.high == np.inf for one in found)
    assert (
        sum(one.low > truth for one in found if isinstance(one, Interval)) / 2000 <= 0.025 + 0.009
    )


@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("rows", [72, 150, 600])
def test_intervals_of_percentiles_hold_what_they_promise(share: float, rows: int) -> None:
    truth = float(np.exp(stats.norm.ppf(share)))
    draws = np.random.default_rng(rows).lognormal(0, 1, (REPEATS, rows))
    found = [percentile_interval((values,), share) for values in draws]
    assert all(isinstance(one, Interval) for one in found)
    held = sum(one.low <= truth <= one.high for one in found if isinstance(one, Interval))
    assert held / REPEATS == pytest.approx(0.95, abs=0.02 + SLACK)


@pytest.mark.one_python
@pytest.mark.parametrize("share", [0.5, 0.95])
@pytest.mark.parametrize("rows", [80])
@pytest.mark.parametrize("size", [1, 4])
def test_intervals_between_percentiles_hold_what_they_promise(
    share: float, rows: int, size: int
) -> None:
    """Of seconds on the same rows, whose lengths rows and documents have in common."""
    draw, held = np.random.default_rng(rows), 0
    numbers = np.repeat(np.arange(rows), size)
    z = stats.norm.ppf(share)
    truth = float(np.exp(z) - 1.2 * np.exp(z))
    for _ in range(80):
        joint = draw.normal(0, 0.7, rows)[numbers]
        apart = np.sqrt(1 - 0.7**2)
        ours, theirs = (np.exp(joint + apart * draw.normal(0, 1, rows * size)) for _ in "ab")
        found = percentile_interval((ours, 1.2 * theirs), share, None if size == 1 else numbers)
        assert isinstance(found, Interval)
        held += found.low <= truth <= found.high
    assert held / 80 >= 0.93 - 0.06


def test_what_parts_percentiles_of_many_rows_is_the_same_by_bootstrap_and_by_order_statistics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = np.random.default_rng(12)
    joint = draw.normal(0, 0.8, 2000)
    columns = tuple(np.exp(joint + 0.6 * draw.normal(0, 1, 2000)) for _ in "ab")
    drawn = percentile_interval(columns, 0.9)
    monkeypatch.setattr("context_bench_compare.intervals._MOST_DRAWN", 1000)
    ranked = percentile_interval(columns, 0.9)
    assert isinstance(drawn, Interval)
    assert isinstance(ranked, Interval)
    assert (drawn.method, ranked.method) == ("bootstrap of both", "order statistics of both")
    assert (drawn.low, drawn.high) == pytest.approx((ranked.low, ranked.high), abs=0.1)


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_rows_of_a_cluster_that_are_slow_together_widen_the_interval_of_a_percentile(
    share: float,
) -> None:
    clusters = np.repeat(np.arange(100), 10)
    values = np.repeat(LATENCIES[:100], 10)
    alone, clustered = (percentile_interval((values,), share, one) for one in (None, clusters))
    of_each = percentile_interval((LATENCIES[:100],), share)
    assert isinstance(alone, Interval)
    assert isinstance(clustered, Interval)
    assert isinstance(of_each, Interval)
    assert clustered.high - clustered.low > 1.5 * (alone.high - alone.low)
    assert clustered.high - clustered.low == pytest.approx(of_each.high - of_each.low, rel=0.35)


SKEWED = {
    "even clusters": lambda generator, numbers: generator.normal(5, 1, numbers.max() + 1)[numbers],
    "skewed clusters": lambda generator, numbers: generator.lognormal(1, 0.5, numbers.max() + 1)[
        numbers
    ],
}


@pytest.mark.parametrize("shape", SKEWED)
@pytest.mark.parametrize("clusters", [10, 30])
def test_the_bootstrap_of_few_clusters_holds_what_it_promises(shape: str, clusters: int) -> None:
    generator, numbers = np.random.default_rng(clusters), np.repeat(np.arange(clusters), 8)
    truth = 5.0 if shape == "even clusters" else float(np.exp(1 + 0.5**2 / 2))
    held = 0
    for _ in range(REPEATS):
        values = SKEWED[shape](generator, numbers) + generator.normal(0, 1, len(numbers))
        found = ratio_interval((values, np.ones(len(values))), numbers, draws=600)
        assert isinstance(found, Interval)
        held += found.low <= truth <= found.high
    assert held / REPEATS >= 0.92 - SLACK


def test_fewer_clusters_than_ten_get_no_bootstrap() -> None:
    values, numbers = np.random.default_rng(0).normal(5, 1, 90), np.arange(90) % 9
    found = ratio_interval((values, np.ones(90)), numbers)
    assert found == TooFew("9 clusters, 10 are needed")


def test_a_drawn_cluster_counts_with_all_of_its_rows() -> None:
    """Against a plain bootstrap that puts the rows of the drawn clusters behind each other."""
    sizes = np.r_[np.repeat([1, 3, 8], 10)]
    clusters = np.repeat(np.arange(30), sizes)
    values = GENERATOR.gamma(2.0, 1.0, len(clusters)) + clusters % 5
    found = percentile_interval((values,), 0.8, clusters)
    places = np.random.default_rng(3).integers(0, 30, (4000, 30))
    drawn = [
        np.quantile(np.concatenate([values[clusters == one] for one in own]), 0.8)
        for own in places[:1000]
    ]
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.quantile(drawn, (0.025, 0.975))), rel=0.12
    )


@pytest.mark.parametrize(
    ("values", "clusters", "reason"),
    [
        (LATENCIES[:80], np.arange(80) % 71, "71 clusters, 72 are needed"),
        (
            np.r_[np.ones(290), LATENCIES[:10]],
            np.r_[np.arange(290) % 80, [90] * 10],
            "1 cluster differs from the most",
        ),
        (LATENCIES[:71], np.arange(71), "71 rows, 72 are needed"),
    ],
    ids=["few clusters", "all that differ hang together", "few rows"],
)
def test_few_clusters_get_no_interval_of_a_percentile(
    values: np.ndarray, clusters: np.ndarray, reason: str
) -> None:
    found = percentile_interval((values,), 0.95, clusters)
    assert isinstance(found, TooFew)
    assert reason in found.reason


def one_in_twenty(generator: np.random.Generator, rows: int) -> np.ndarray:
    return np.where(generator.random(rows) < 0.05, 30.0, 1.0) * generator.lognormal(0, 0.3, rows)


@pytest.mark.parametrize("rows", [20, 40, 71, 72, 150])
def test_no_interval_of_a_mean_of_seconds_ends_below_what_a_slow_row_in_twenty_makes_of_it(
    rows: int,
) -> None:
    """Of 20 rows the upper end missed in 36 of 100 runs, as many as hold no slow row."""
    truth, generator = float(np.exp(0.3**2 / 2) * (0.95 + 0.05 * 30)), np.random.default_rng(rows)
    found = [unbounded_mean_interval(one_in_twenty(generator, rows)) for _ in range(200)]
    told = [one for one in found if isinstance(one, Interval)]
    assert len(told) == 200
    assert sum(one.high < truth for one in told) / 200 <= 0.05 + 0.03
    assert sum(one.low > truth for one in told) / 200 <= 0.025 + 0.03
    assert all(np.isinf(one.high) and one.rows_for_both == 72 for one in told) or rows >= 72


def test_the_end_of_a_mean_that_few_rows_leave_open_is_where_rows_can_be_far_off() -> None:
    values = np.random.default_rng(1).lognormal(0, 1, 60)
    up, down, both = (unbounded_mean_interval(one) for one in (values, -values, values - 1))
    clustered = unbounded_mean_interval(values, np.arange(60) // 2)
    assert isinstance(up, Interval)
    assert isinstance(down, Interval)
    assert isinstance(clustered, Interval)
    assert (up.high, down.low, clustered.high) == (np.inf, -np.inf, np.inf)
    assert (up.rows_for_both, clustered.rows_for_both) == (72, 144)
    assert both == TooFew("60 rows, 72 are needed")
    assert unbounded_mean_interval(values - 1, np.arange(60) // 2) == TooFew(
        "60 rows, 144 are needed"
    )
    assert isinstance(unbounded_mean_interval(np.tile(values, 2) - 1), Interval)


@pytest.mark.parametrize(("open_end", "ends"), [("low", (True, False)), ("high", (False, True))])
def test_few_measured_differences_leave_open_the_end_that_would_meet_a_gate(
    open_end: str, ends: tuple[bool, bool]
) -> None:
    values = np.random.default_rng(1).normal(0.1, 1, 71)
    found = guaranteed_difference(values, None, 0.95, 5.0, open_end=open_end)
    whole = guaranteed_difference(values, None, 0.95, 5.0)
    assert isinstance(found, Interval)
    assert isinstance(whole, Interval)
    assert (np.isinf(found.low), np.isinf(found.high)) == ends
    assert {found.low, found.high} & {whole.low, whole.high}
    assert found.rows_for_both == 72
    more = np.append(values, 0.0)
    assert guaranteed_difference(more, None, 0.95, 5.0, open_end=open_end) == guaranteed_difference(
        more, None, 0.95, 5.0
    )


def lengths(draw: np.random.Generator, rows: int, spread: float = 1.0) -> tuple[np.ndarray, ...]:
    """Return tokens out and in of two systems of lognormal lengths."""
    given = draw.lognormal(6, spread, rows)
    return (given * draw.beta(2, 5, rows), given, given * draw.beta(4, 5, rows), given)


def costs(draw: np.random.Generator, rows: int, spread: float = 1.0) -> tuple[np.ndarray, ...]:
    """Return cost and passes of two systems."""
    found = []
    for price, rate in ((1.0, 0.6), (1.2, 0.7)):
        found.append(price * draw.lognormal(0, spread, rows))
        found.append((draw.random(rows) < rate).astype(float))
    return tuple(found)


Drawn = Callable[[np.random.Generator, int, float], tuple[np.ndarray, ...]]

SKEWED_SUMS: dict[str, tuple[Drawn, Callable[[float], float]]] = {
    "a ratio of lengths": (
        lambda draw, rows, spread: lengths(draw, rows, spread)[:2],
        lambda spread: 2 / 7,
    ),
    "what parts two ratios": (lengths, lambda spread: 2 / 7 - 4 / 9),
    "a ratio of independent sums": (
        lambda draw, rows, spread: tuple(draw.lognormal(0, spread, (2, rows))),
        lambda spread: 1.0,
    ),
    "what parts costs of a pass": (
        costs,
        lambda spread: float(np.exp(spread**2 / 2)) * (1 / 0.6 - 1.2 / 0.7),
    ),
    "seconds": (
        lambda draw, rows, spread: (draw.lognormal(0, spread, rows), np.ones(rows)),
        lambda spread: float(np.exp(spread**2 / 2)),
    ),
}


@pytest.mark.one_python
@pytest.mark.parametrize("what", SKEWED_SUMS)
@pytest.mark.parametrize(("rows", "spread"), [(50, 0.5), (50, 1.0), (50, 1.5), (200, 1.0)])
def test_intervals_of_skewed_sums_hold_what_they_promise(
    what: str, rows: int, spread: float
) -> None:
    drawn, truth = SKEWED_SUMS[what]
    draw, held = np.random.default_rng(rows), 0
    for _ in range(300):
        found = ratio_interval(drawn(draw, rows, spread), draws=250)
        assert isinstance(found, Interval)
        held += found.low <= truth(spread) <= found.high
    least = 0.93 if spread < 1.5 else 0.9  # of so few such rows none may be as large as some are
    assert least - 0.025 <= held / 300 <= 0.97 + 0.02


def test_a_ratio_that_is_the_same_in_every_row_has_no_interval() -> None:
    given = np.random.default_rng(0).lognormal(6, 1, 80)
    found = ratio_interval((0.3 * given, given))
    assert found == TooFew("0 rows differ, 5 are needed")
    one_sided = ratio_interval((given * np.linspace(0.2, 0.5, 80), given, 0.3 * given, given))
    assert isinstance(one_sided, Interval)
    alone = ratio_interval((given * np.linspace(0.2, 0.5, 80), given))
    assert isinstance(alone, Interval)
    assert (one_sided.low, one_sided.high) == pytest.approx((alone.low - 0.3, alone.high - 0.3))

"""Intervals of ratios of sums, and of means of values without a bound, by the studentized bootstrap.

Tokens, seconds and money are skewed: a few rows hold much of the sum. The distance of a bootstrap sample's ratio from the one
that was seen is divided by the sample's own standard error (Efron 1982; Hall 1992), so that samples that lack the large rows, and
have a small ratio and a small error, push the upper end out. The error of what was seen counts a row that holds a large part of
the denominator by more than its share, half as much more as the jackknife does.

What samples of few rows draw is too much alike, the more so the fewer rows hold most of the variance. So the ends are moved out
as Student's quantile is from the normal one, with the degrees of freedom that the fourth moment of the rows leaves
(Satterthwaite 1946), two thirds of the way: so much the bootstrap leaves to be done, by the measurements in
``docs/reference/statistics.md``.

What parts two ratios has the intervals of both, put together by what they have in common. The bootstrap of the difference alone
takes two skewed ratios for one that is not, and is too narrow.
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen

from context_bench_compare import normal
from context_bench_compare.intervals import (
    MINIMUM_DISTINCT,
    MINIMUM_DRAWN,
    Clusters,
    Estimate,
    Floats,
    Interval,
    TooFew,
    cluster_sums,
    counted,
    ends_apart,
    open_ended,
    rows_for_far_off,
    too_few,
)

DRAWS = 1000
"""Bootstrap samples."""

_BLOCK = 2_000_000
_MOST = 0.5
_LEAST_DEGREES = 2.0
_OF_THE_WAY = 2 / 3


def ratio_interval(
    columns: tuple[Floats, ...],
    clusters: Clusters | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Interval | TooFew:
    """Return the interval of a ratio of sums, or of what parts two of them.

    Args:
        columns: Numerator and denominator, or those of one system and then of the other, each of shape (rows,).
        clusters: Number of the cluster of each row; whole clusters are drawn then.
        confidence: Share of such intervals that hold the true value.
        seed: Seed of the draws: equal seeds give equal intervals.
        draws: Bootstrap samples.
    """
    missing = too_few(len(columns[0]), clusters, least_clusters=MINIMUM_DRAWN)
    if missing is not None:
        return missing
    columns = tuple(cluster_sums(column, clusters) for column in columns)
    parts = [_Parts.of(*columns[start : start + 2]) for start in range(0, len(columns), 2)]
    moved = parts[0].moved - parts[1].moved if len(parts) == 2 else parts[0].moved
    rounding = 1e-12 * sum(abs(one.value) for one in parts) / len(moved)
    distinct = int((np.abs(moved) > rounding).sum())
    if distinct < MINIMUM_DISTINCT:
        return TooFew(f"{counted(distinct, 'row')} differ, {MINIMUM_DISTINCT} are needed")
    found = [one.interval(confidence, seed, draws) for one in parts]
    estimates = [one for one in found if isinstance(one, Estimate)]
    if len(estimates) < len(found):
        return TooFew("most bootstrap samples have no value")
    ends = (estimates[0].low, estimates[0].high)
    if len(estimates) == 2:
        ends = ends_apart(*estimates)
    unit = "rows" if clusters is None else "clusters"
    method = f"studentized bootstrap of {len(moved)} {unit}"
    return Interval(ends[0], ends[1], method, confidence)


def mean_of_any_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the interval of the mean of values of any size, one a row, shape (rows,)."""
    return ratio_interval((values, np.ones(len(values))), clusters, confidence)


def unbounded_mean_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the interval of the mean of values without a bound, such as seconds.

    Rows that are far off the others, one in twenty of them, are missing from so few rows that the bootstrap knows nothing of
    them: of 20 rows it would end below the mean in 36 of 100 runs. So the end towards which such rows can lie is infinite
    below as many rows, or clusters, as show one of them but for the error of that end: 72 at a confidence of 0.95. Values of
    which none is below zero have such rows above, values of which none is above zero below, and others on both sides.

    Args:
        values: One value a row, shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        confidence: Share of such intervals that hold the true mean.
    """
    found = mean_of_any_interval(values, clusters, confidence)
    needed = rows_for_far_off(len(values), clusters, confidence)
    if isinstance(found, TooFew) or not needed:
        return found
    is_above, is_below = bool((values > 0).any()), bool((values < 0).any())
    if is_above and is_below:
        return TooFew(f"{counted(len(values), 'row')}, {needed} are needed")
    return open_ended(found, "low" if is_below else "high", needed)


@frozen(eq=False)
class _Parts:
    """A ratio of sums, and what makes it.

    Attributes:
        above, below: Numerator and denominator of each unit, shape (units,).
        value: The ratio.
        moved: By how much each unit moves it, shape (units,).
    """

    above: Floats
    below: Floats
    value: float
    moved: Floats

    @classmethod
    def of(cls, above: Floats, below: Floats) -> _Parts:
        values, moved = _ratios(above[None], below[None])
        return cls(above, below, float(values[0]), moved[0])

    def interval(self, confidence: float, seed: int, draws: int) -> Estimate | None:
        """Return the ratio with its interval; None where most bootstrap samples have no value."""
        count = len(self.moved)
        if float(np.abs(self.moved).max()) <= 1e-12 * abs(self.value) / count:  # each row has it
            return Estimate(self.value, self.value, self.value, self.moved)
        draw = np.random.default_rng(seed)
        found = []
        block = max(1, _BLOCK // count)
        for start in range(0, draws, block):
            places = draw.integers(0, count, (min(block, draws - start), count))
            values, moved = _ratios(self.above[places], self.below[places])
            with np.errstate(divide="ignore", invalid="ignore"):
                found.append((values - self.value) / _error(moved))
        distances = np.concatenate(found)
        distances = distances[np.isfinite(distances)]
        if len(distances) < draws // 2:
            return None
        tail = (1 - confidence) / 2
        high, low = np.quantile(distances, (tail, 1 - tail)) * self._moved_out(tail)
        return Estimate(self.value, float(self.value - low), float(self.value - high), self.moved)

    def _moved_out(self, tail: float) -> float:
        """Return the standard error, times by how much the ends of the bootstrap are moved out."""
        count = len(self.moved)
        part = np.minimum(self.below / self.below.sum(), _MOST)
        error = float(_error((self.moved / np.sqrt(1 - part))[None])[0])
        apart = self.moved - self.moved.mean()
        fourth = float((apart**4).sum()) / float((apart**2).sum()) ** 2
        degrees = max(_LEAST_DEGREES, 2 / max(fourth - 1 / count, 2 / count))
        student = normal.student_quantile(1 - tail, degrees) / normal.quantile(1 - tail)
        return float(error * math.sqrt(count / (count - 1)) * student**_OF_THE_WAY)


def _ratios(above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return ratios of sums, shape (draws,), and what each unit moves them by, shape (draws, units)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = below.sum(axis=-1)
        ratios = above.sum(axis=-1) / total
        moved = (above - ratios[:, None] * below) / total[:, None]
    return np.asarray(ratios), np.asarray(moved)


def _error(moved: Floats) -> Floats:
    count = moved.shape[-1]
    return np.asarray(np.sqrt(np.square(moved).sum(axis=-1) * count / (count - 1)))

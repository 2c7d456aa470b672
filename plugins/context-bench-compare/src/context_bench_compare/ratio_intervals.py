"""Intervals of ratios of sums, and of means of values without a bound, by the studentized bootstrap.

Tokens, seconds and money are skewed: a few rows hold much of the sum. The distance of a bootstrap sample's ratio from the one
that was seen is divided by the sample's own standard error (Efron 1982; Hall 1992), so that samples that lack the large rows, and
have a small ratio and a small error, push the upper end out. The error of what was seen is that of the jackknife, which counts a
row that holds a large part of the denominator by more than its share.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from context_bench_compare import normal
from context_bench_compare.intervals import (
    MINIMUM_DISTINCT,
    MINIMUM_DRAWN,
    Clusters,
    Floats,
    Interval,
    TooFew,
    cluster_sums,
    counted,
    open_ended,
    rows_for_far_off,
    too_few,
)

DRAWS = 1000
"""Bootstrap samples."""

_BLOCK = 2_000_000
_MOST = 0.5


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
    count = len(columns[0])
    seen, apart = _linear(columns, by_leverage=True)
    error = _error(apart)
    distinct = int((np.abs(apart[0]) > 1e-12 * max(1e-300, float(np.abs(apart).max()))).sum())
    if distinct < MINIMUM_DISTINCT:
        return TooFew(f"{counted(distinct, 'row')} differ, {MINIMUM_DISTINCT} are needed")
    draw, found = np.random.default_rng(seed), []
    block = max(1, _BLOCK // count)
    for start in range(0, draws, block):
        places = draw.integers(0, count, (min(block, draws - start), count))
        ratios, linear = _linear(tuple(column[places] for column in columns), by_leverage=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append((ratios - seen[0]) / _error(linear))
    ratios = np.concatenate(found)
    ratios = ratios[np.isfinite(ratios)]
    if len(ratios) < draws // 2:
        return TooFew("most bootstrap samples have no value")
    tail = (1 - confidence) / 2
    moved_out = normal.student_quantile(1 - tail, count - 1) / normal.quantile(1 - tail)
    moved_out *= math.sqrt(count / (count - 1)) * float(error[0])
    high, low = np.quantile(ratios, (tail, 1 - tail)) * moved_out
    unit = "rows" if clusters is None else "clusters"
    return Interval(
        float(seen[0] - low),
        float(seen[0] - high),
        f"studentized bootstrap of {count} {unit}",
        confidence,
    )


def mean_of_any_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the interval of the mean of values of any size, one a row, shape (rows,)."""
    return ratio_interval((values, np.ones(len(values))), clusters, confidence)


def unbounded_mean_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the BCa bootstrap interval of the mean of values without a bound, such as seconds.

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


def _linear(columns: tuple[NDArray[np.float64], ...], by_leverage: bool) -> tuple[Floats, Floats]:
    """Return the ratio, or what parts two, shape (draws,), and what each unit moves it by, shape (draws, units)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, apart = _of_ratio(columns[0], columns[1], by_leverage)
        if len(columns) == 4:
            other, their_apart = _of_ratio(columns[2], columns[3], by_leverage)
            ratio, apart = ratio - other, apart - their_apart
    return ratio, apart


def _of_ratio(above: Floats, below: Floats, by_leverage: bool) -> tuple[Floats, Floats]:
    above, below = np.atleast_2d(above), np.atleast_2d(below)
    total = below.sum(axis=-1)
    ratio = above.sum(axis=-1) / total
    apart = (above - ratio[:, None] * below) / total[:, None]
    if by_leverage:
        apart = apart / (1 - np.minimum(below / total[:, None], _MOST))
    return np.asarray(ratio), np.asarray(apart)


def _error(apart: Floats) -> Floats:
    count = apart.shape[-1]
    return np.asarray(np.sqrt(np.square(apart).sum(axis=-1) * count / (count - 1)))

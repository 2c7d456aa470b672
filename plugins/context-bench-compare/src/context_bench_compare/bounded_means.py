"""Intervals of means of bounded values, which hold what they promise whatever the distribution.

What a sample does not show is put into it: one imagined row at the lowest value that there can be for the lower end, and one at
the highest for the upper end. Each end is the quantile of the mean when the rows, the imagined one among them, are weighted at
random (Gaffke 2005, Mathematical Methods of Statistics 14, 451-467; the weights are those of Rubin's Bayesian bootstrap, 1981).
Of passes and fails that is Clopper and Pearson's interval. So twenty rows that differ by a little do not rule out that one row in
twenty is lost, as Student's interval would.

Rows that hang together are weighted by whole clusters, a ratio of sums. The imagined cluster has as many rows as that of a row
drawn at random, and lies at the bound as an imagined row does: twenty clusters rule out no more than twenty rows. Where nobody
knows the bounds, as of seconds, the imagined row lies beyond the others by what so many that differ may have left unseen.

Of differences such an imagined one lies at least as far on the other side of zero as one that was seen and is drawn by its
size: of two systems that are equal, the rare row that parts them shows on one side first.

The chance that the weighted mean lies below a value is that of a sum of exponential variables to be negative; it is found by
Barndorff-Nielsen's saddlepoint formula (1991), without drawing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from context_bench_compare import normal

Floats = NDArray[np.float64]

_STEPS = 60


def bounded_mean(
    sums: Floats,
    sizes: Floats | None,
    low: float,
    high: float,
    confidence: float,
    is_reached: bool = True,
) -> tuple[float, float]:
    """Return the two ends of the interval of a mean.

    >>> [round(end, 3) for end in bounded_mean(np.r_[np.ones(16), np.zeros(4)], None, 0.0, 1.0, 0.95)]
    [0.563, 0.943]

    Args:
        sums: The values, shape (rows,), or their sums over clusters, shape (clusters,).
        sizes: Rows of each cluster, shape (clusters,); None when every row stands alone.
        low, high: The least and the largest value that there can be.
        confidence: Share of such intervals that hold the true mean.
        is_reached: Whether a row, or a whole cluster, may lie at these bounds, whatever the others are; else what was not seen
            lies beyond the others by what so many that differ may have left unseen.
    """
    worst, best, weights = _imagined(sums, sizes, low, high, is_reached)
    quantile = normal.quantile((1 + confidence) / 2)
    lower = _end(np.append(sums, worst), weights, quantile)
    turned = np.append(sums, best)
    upper = -_end(np.negative(turned, out=turned), weights, quantile)
    return max(low, lower), min(high, upper)


def rules_out(sums: Floats, sizes: Floats, mean: float, low: float, confidence: float) -> bool:
    """Return whether the lower end of :func:`bounded_mean` lies above a mean, which takes less time than the end itself.

    Args:
        sums, sizes, low, confidence: As for :func:`bounded_mean`.
        mean: Above ``low``.
    """
    worst, _, weights = _imagined(sums, sizes, low, -low, is_reached=True)
    terms = np.append(sums, worst) - mean * weights
    if terms.max() <= 0:
        return False
    return _distance(terms, 0.0)[0] < -normal.quantile((1 + confidence) / 2)


def _imagined(
    sums: Floats, sizes: Floats | None, low: float, high: float, is_reached: bool
) -> tuple[float, float, Floats]:
    """Return the sum of the worst row, or cluster, that was not seen, that of the best, and the weights with theirs."""
    if sizes is None:
        means, size, weights = sums, 1.0, np.broadcast_to(1.0, len(sums) + 1)
    else:
        means, size = sums / sizes, float(np.square(sizes).sum() / sizes.sum())
        weights = np.append(sizes, size)
    least, most = float(means.min()), float(means.max())
    beyond = 1.0 if is_reached else _unseen(means)
    worst, best = least - (least - low) * beyond, most + (high - most) * beyond
    worst, best = worst * size, best * size
    if low < 0 < high and sums.any():
        opposite = float(np.square(sums).sum() / np.abs(sums).sum())
        worst, best = min(worst, -opposite), max(best, opposite)
    return worst, best, weights


def _unseen(means: Floats) -> float:
    """Return how far towards the bound what was not seen may lie: all the way where no mean differs from the others."""
    _, counts = np.unique(means, return_counts=True)
    return 2.0 / (2.0 + len(means) - int(counts.max()))


def _end(sums: Floats, weights: Floats, quantile: float) -> float:
    """Return the value that the weighted mean stays below with the chance that a normal variable stays below ``-quantile``."""
    mean = float(sums.sum() / weights.sum())
    low, high = float((sums / weights).min()), mean
    spread = math.sqrt(float(np.square(sums - mean * weights).sum())) / float(weights.sum())
    if high - low <= 1e-14 * max(abs(low), abs(high)) or spread <= 0:
        return low
    value, slope = max((low + high) / 2, mean - quantile * spread), spread
    point = (value - mean) / (spread * spread * float(weights.sum()))
    before: tuple[float, float] | None = None
    for _ in range(_STEPS):
        terms = sums - value * weights
        found, point = _distance(terms, point)
        apart = found + quantile
        low, high = (value, high) if apart < 0 else (low, value)
        if before is not None and before[1] != apart:
            slope = (value - before[0]) / (apart - before[1])
        before, after = (value, apart), value - apart * slope
        if not low < after < high:
            after = (low + high) / 2
        if abs(apart) < 1e-6 or high - low <= 1e-12 * spread:
            return after
        square = _shares(terms, point)
        square = np.square(np.divide(1, square, out=square), out=square)
        moved = (after - value) * float(weights @ square)
        point += moved / float(np.square(terms, out=terms) @ square)  # where the sum stays zero
        value = after
        del terms, square  # of a million rows, each takes 8 MB
    return value


def _distance(terms: Floats, start: float) -> tuple[float, float]:
    """Return the normal quantile of the chance that ``sum(E * terms)`` is negative, for exponential variables E.

    Args:
        terms: Shape (rows,), some of them below zero and some above.
        start: Where to look for the saddlepoint first.

    Returns:
        The quantile, and the saddlepoint.
    """
    low, high = 1 / float(terms.min()), 1 / float(terms.max())
    point = start if low < start < high else 0.0
    for _ in range(_STEPS):
        scaled = _shares(terms, point)
        np.divide(terms, scaled, out=scaled)
        first, second = float(scaled.sum()), float(scaled @ scaled)
        del scaled  # of a million rows, it takes 8 MB
        low, high = (low, point) if first > 0 else (point, high)
        after = point - first / second
        if abs(first) < 1e-7 * math.sqrt(second):  # the next step would be some square of this one
            point = after
            break
        point = after if low < after < high else (low + high) / 2
    scaled = _shares(terms, point)
    np.divide(terms, scaled, out=scaled)
    second, third = float(scaled @ scaled), 2 * float(np.power(scaled, 3, out=scaled).sum())
    logarithms = np.multiply(-point, terms, out=scaled)
    logarithm = float(np.log1p(logarithms, out=logarithms).sum())
    root = math.copysign(math.sqrt(max(0.0, 2 * logarithm)), point)
    moved = point * math.sqrt(second)
    if abs(root) < 1e-4:
        return root + third / (6 * second**1.5), point
    return root + math.log(moved / root) / root, point


def _shares(terms: Floats, point: float) -> Floats:
    """Return ``1 - point * terms`` in an array that the caller may change: of a million rows, each takes 8 MB."""
    found = point * terms
    return np.subtract(1, found, out=found)

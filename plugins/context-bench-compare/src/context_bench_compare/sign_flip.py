"""The sign-flip test of a paired difference, and the interval that it leaves.

Of two equal systems a difference could as well have had the other sign (Fisher 1935). So the sum of the differences is compared
with the sums that all choices of signs give. The differences of a cluster keep their signs together: a cluster is one value, its
sum. Up to ten values are tried with every choice of signs, which is exact. Of more, the ten largest are, and the rest is taken as
normal, which has the same mean and variance: a few large differences are what makes a sum of signs not normal. The sum of the
squares is the same for all signs, so this is also the test of the studentized mean.

Sums of passes and fails are small whole numbers, so that many choices of signs give the very sum that was seen. These count by
half, as in McNemar's mid-p, which this is where every cluster has one row. Else a test of ten clusters that differ would alarm in
1 to 3 of 100 runs where it may in 5, and find that much less.

A mean of ``m`` is tested by the values less ``m`` times their sizes, and the interval holds what the test does not reject. So an
interval leaves out zero where the p-value lies below 1 - its confidence, and only there. Its ends are Hartigan's typical values
(1969): quantiles of the means of all subsets.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from context_bench_compare import normal

Floats = NDArray[np.float64]

ENUMERATED = 10
"""So many differences, the largest, are tried with every choice of signs."""

MINIMUM_UNITS = 6
"""Of fewer rows, or clusters, no choice of signs is as rare as 5 in 100."""

ABOVE_ZERO = 1e-12
"""End of an interval that leaves out zero, and nothing else that can be told from it."""

_HALVINGS = 30
_ROUNDING = 1e-11


@lru_cache(maxsize=ENUMERATED + 1)
def _signs(count: int) -> Floats:
    """Return every choice of signs, shape (2 ** count, count)."""
    bits = np.arange(2**count)[:, None] >> np.arange(count)
    return np.asarray(1.0 - 2.0 * (bits & 1))


def units_needed(confidence: float) -> int:
    """Return how many rows, or clusters, the test takes at a confidence: of fewer no choice of signs is rare enough.

    >>> units_needed(0.95), units_needed(0.999)
    (6, 11)
    """
    return max(MINIMUM_UNITS, math.floor(-math.log2((1 - confidence) / 2)) + 1)


def flip_p_value(sums: Floats, are_passes: bool = False) -> float:
    """Return the two-sided p-value of the test that a mean difference is zero.

    >>> flip_p_value(np.full(6, 0.02))
    0.03125

    Args:
        sums: Differences of rows, shape (rows,), or their sums over clusters, shape (clusters,).
        are_passes: Whether rows differ by a pass for a fail: signs that give the same sum count by half then.
    """
    return min(1.0, 2 * min(chance_of_more(sums, are_passes), chance_of_more(-sums, are_passes)))


def chance_of_more(sums: Floats, are_passes: bool = False) -> float:
    """Return the share of all choices of signs that give the sum of the values, or more.

    Args:
        sums, are_passes: As for :func:`flip_p_value`.
    """
    differing = np.count_nonzero(sums)
    if not differing:
        return 1.0
    values = sums if differing == len(sums) else sums[sums != 0]
    total = float(values.sum())
    largest, rest = _parted(values)
    tried = _signs(len(largest)) @ largest
    if not len(rest):
        rounding = _ROUNDING * float(np.abs(values).sum())
        as_much = float((tried >= total - rounding).mean())
        if not are_passes:
            return as_much
        return (as_much + float((tried > total + rounding).mean())) / 2
    scale = math.sqrt(float(rest @ rest))
    return float(normal.below((tried - total) / scale).mean())


def _parted(values: Floats) -> tuple[Floats, Floats]:
    if len(values) <= ENUMERATED:
        return values, values[:0]
    order = np.argpartition(np.abs(values), -ENUMERATED)
    return values[order[-ENUMERATED:]], values[order[:-ENUMERATED]]


def chances_of_more(sums: Floats, enumerated: int = 6, are_passes: bool = False) -> Floats:
    """Return :func:`chance_of_more` of many samples at once, shape (samples,).

    Args:
        sums: Shape (samples, values).
        enumerated: How many of more than :data:`ENUMERATED` values are tried with every choice of signs: fewer than in a test
            that decides, so that hundreds of samples take some milliseconds.
        are_passes: As for :func:`flip_p_value`.
    """
    found = np.empty(len(sums))
    few = np.count_nonzero(sums, axis=1) <= ENUMERATED
    found[few] = _chances_of_few(sums[few], are_passes)
    if few.all():
        return found
    many = sums[~few]
    largest, rest = _largest_of_each(many, enumerated)
    scales = np.sqrt(np.square(rest).sum(axis=1))
    apart = (largest @ _signs(enumerated).T - many.sum(axis=1)[:, None]) / scales[:, None]
    found[~few] = normal.below(apart).mean(axis=1)
    return found


def _chances_of_few(sums: Floats, are_passes: bool) -> Floats:
    """Return the exact chances of samples in which at most :data:`ENUMERATED` values are not zero, shape (samples,)."""
    values, _ = _largest_of_each(sums, min(ENUMERATED, sums.shape[1]))
    total = values.sum(axis=1, keepdims=True)
    rounding = _ROUNDING * np.abs(values).sum(axis=1, keepdims=True)
    tried = values @ _signs(values.shape[1]).T
    chances = (tried >= total - rounding).mean(axis=1)
    if are_passes:
        chances = (chances + (tried > total + rounding).mean(axis=1)) / 2
    return np.where(values.any(axis=1), chances, 1.0)


def _largest_of_each(sums: Floats, count: int) -> tuple[Floats, Floats]:
    """Return so many of the largest values of each sample, and the others, shape (samples, values) each."""
    if count == sums.shape[1]:
        return sums, sums[:, :0]
    order = np.argpartition(np.abs(sums), -count, axis=1)
    ordered = np.take_along_axis(sums, order, axis=1)
    return ordered[:, -count:], ordered[:, :-count]


def flip_interval(
    sums: Floats, sizes: Floats, confidence: float, are_passes: bool = False
) -> tuple[float, float]:
    """Return the ends of the means that the test does not reject.

    >>> [round(end, 3) for end in flip_interval(np.arange(8.0), np.ones(8), 0.95)]
    [1.333, 5.667]

    Args:
        sums: Differences of rows, shape (rows,), or their sums over clusters, shape (clusters,); at least
            :data:`MINIMUM_UNITS`.
        sizes: Rows of each, of the same shape.
        confidence: Share of such intervals that hold the true mean.
        are_passes: As for :func:`flip_p_value`.
    """
    tail = (1 - confidence) / 2
    low = _lower_end(sums, sizes, tail, are_passes)
    return low, -_lower_end(-sums, sizes, tail, are_passes)


def _lower_end(sums: Floats, sizes: Floats, tail: float, are_passes: bool) -> float:
    """Return the least mean of which more than ``tail`` of the signs give as much as was seen."""
    least, mean = float((sums / sizes).min()), float(sums.sum() / sizes.sum())
    if mean - least <= _ROUNDING * max(abs(least), abs(mean)):
        return least
    low, high = _near(sums, sizes, tail, mean), mean
    if low < least or chance_of_more(_less(sums, low, sizes)) >= tail:
        low = least
    if low <= 0 < high:  # so that the end lies on the side of zero where the p-value puts it
        if chance_of_more(sums, are_passes) < tail:
            low = ABOVE_ZERO
        else:
            high = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if chance_of_more(_less(sums, middle, sizes)) < tail:
            low = middle
        else:
            high = middle
    return low


def _near(sums: Floats, sizes: Floats, tail: float, mean: float) -> float:
    """Return a mean that the normal distribution rejects by far, from where the search starts."""
    apart = _less(sums, mean, sizes)
    return mean - 2.0 * float(normal.beyond_quantile(tail)) * math.sqrt(
        float(apart @ apart)
    ) / float(sizes.sum())


def _less(sums: Floats, mean: float, sizes: Floats) -> Floats:
    """Return the sums less what a mean gives them, in one new array: of a million rows, each takes 8 MB."""
    found = mean * sizes
    return np.subtract(sums, found, out=found)

"""Statistics of agreement, each with an interval that respects which rows share an item.

The interval is a delete-one-item jackknife (Efron and Tibshirani 1993, chapter 11) with Student's quantile: leaving out an
item leaves out all of its rows, so rows of one item never count as independent. Statistics with bounds are jackknifed on the
scale of ``log((x - low) / (high - x))``, as Fisher did for correlations, so that no end lies outside the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import atanh, isfinite, nan, sqrt, tanh
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from context_bench_compare.intervals import wilson
from context_bench_compare.normal import student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

MINIMUM_UNITS = 6
"""Fewer items than this give no interval."""

MAXIMUM_GROUPS = 400
"""More items than this are left out in groups: the interval is the same, and the time is bounded."""

CORRELATION = (-1.0, 1.0)
SHARE = (0.0, 1.0)
DIFFERENCE = (-2.0, 2.0)
"""Bounds of a statistic."""

Statistic = Callable[["NDArray[np.int64]"], float]
"""Returns a statistic of rows, given their numbers; not a number where it is not defined."""


@frozen
class Estimate:
    """A statistic with its interval.

    Attributes:
        value: The statistic; None where it is not defined.
        low: Lower end of the interval; None without an interval.
        high: Upper end.
        rows: Rows that it is computed from.
        units: Independent items among them.
    """

    value: float | None
    low: float | None
    high: float | None
    rows: int
    units: int


def estimate(
    statistic: Statistic,
    units: NDArray[np.int64],
    bounds: tuple[float, float],
    confidence: float = 0.95,
) -> Estimate:
    """Return a statistic of all rows, with its interval.

    Args:
        statistic: The statistic.
        units: Number of the item of each row, shape (rows,).
        bounds: What it lies between.
        confidence: Of the interval.
    """
    rows = np.arange(len(units))
    value = statistic(rows) if len(rows) else nan
    distinct, places = np.unique(units, return_inverse=True)
    count = len(distinct)
    if not isfinite(value):
        return Estimate(None, None, None, len(rows), count)
    if count < MINIMUM_UNITS:
        return Estimate(value, None, None, len(rows), count)
    groups = places % MAXIMUM_GROUPS
    others = [statistic(rows[groups != group]) for group in range(min(count, MAXIMUM_GROUPS))]
    low, high = _ends(value, np.array(others), bounds, confidence)
    if (
        low == high and bounds == SHARE
    ):  # every item says the same: what as many independent rows would leave open
        low, high = wilson(value, count, student_quantile((1 + confidence) / 2, count - 1))
    if low == high:
        return Estimate(value, None, None, len(rows), count)
    return Estimate(value, low, high, len(rows), count)


def _ends(
    value: float, others: NDArray[np.float64], bounds: tuple[float, float], confidence: float
) -> tuple[float, float]:
    """Return the ends of the interval, both equal to the value where the statistic never changes or is not always defined."""
    if not np.isfinite(others).all():
        return value, value
    low, high = bounds
    middle = (low + high) / 2
    half = (high - low) / 2
    extremes = [value, *others.tolist()]
    is_inside = min(extremes) > low and max(extremes) < high
    if is_inside:
        center = atanh((value - middle) / half)
        left = np.arctanh((others - middle) / half)
    else:
        center = value
        left = others
    reach = _deviation(left) * student_quantile((1 + confidence) / 2, len(others) - 1)
    if reach == 0:
        return value, value
    if is_inside:
        return middle + half * tanh(center - reach), middle + half * tanh(center + reach)
    return max(low, value - reach), min(high, value + reach)


def _deviation(others: NDArray[np.float64]) -> float:
    count = len(others)
    spread = float(((others - others.mean()) ** 2).sum())
    return sqrt(spread * (count - 1) / count)


def spearman(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return Spearman's rank correlation; ties have their mean rank. It is not defined where a side has one value only."""
    from scipy.stats import rankdata

    return _pearson(rankdata(first), rankdata(second))


def kendall(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return Kendall's tau-b, which corrects for ties. It is not defined where a side has one value only."""
    from scipy.stats import kendalltau

    if len(first) < 2 or _is_constant(first) or _is_constant(second):
        return nan
    return float(kendalltau(first, second, variant="b", method="asymptotic").statistic)


def kappa(
    first: NDArray[Any], second: NDArray[Any], *, categories: int, weights: str = "none"
) -> float:
    """Return Cohen's kappa of two raters.

    Args:
        first: Category of each row by the first rater, from 0, shape (rows,).
        second: The same by the second.
        categories: Number of categories.
        weights: ``none``, or ``quadratic`` for categories with an order: a disagreement costs the square of its distance.

    Returns:
        Kappa: 1 for perfect agreement, 0 for that of chance; not a number where chance alone agrees always.
    """
    if len(first) == 0:
        return nan
    table = np.zeros((categories, categories))
    np.add.at(table, (first, second), 1.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    distance = np.subtract.outer(np.arange(categories), np.arange(categories)).astype(float)
    cost = distance**2 if weights == "quadratic" else (distance != 0).astype(float)
    by_chance = float((cost * expected).sum())
    if by_chance == 0:
        return nan
    return 1 - float((cost * table).sum()) / by_chance


def mean_within(
    correlation: Callable[[NDArray[Any], NDArray[Any]], float],
    first: NDArray[Any],
    second: NDArray[Any],
    units: NDArray[np.int64],
) -> tuple[NDArray[np.float64], int]:
    """Return the correlation within each item where it is defined, and the number of the other items.

    Args:
        correlation: The correlation.
        first: One value a row.
        second: The other value.
        units: Number of the item of each row.
    """
    order = np.argsort(units, kind="stable")
    _, starts = np.unique(units[order], return_index=True)
    parts: Sequence[NDArray[np.int64]] = np.split(order, starts[1:])
    found = np.array([correlation(first[part], second[part]) for part in parts])
    known = found[np.isfinite(found)]
    return known, len(found) - len(known)


def _pearson(first: NDArray[Any], second: NDArray[Any]) -> float:
    if len(first) < 2 or _is_constant(first) or _is_constant(second):
        return nan
    left = first - first.mean()
    right = second - second.mean()
    both = float((left * right).sum()) / sqrt(float((left**2).sum()) * float((right**2).sum()))
    return min(1.0, max(-1.0, both))


def _is_constant(values: NDArray[Any]) -> bool:
    return bool((values == values[0]).all())

"""What a run of so many rows can show, and how many rows a decision takes: by simulating the test itself.

Runs are drawn from the rows of one that is there, a true difference is put into them, and the test is made; see
:mod:`~context_bench_compare.drawn_runs`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from attrs import field, frozen

from context_bench_compare import normal
from context_bench_compare.drawn_runs import Differences, Drawn
from context_bench_compare.intervals import (
    MINIMUM_ROWS,
    Clusters,
    Floats,
    cluster_sums,
    that_matter,
)
from context_bench_compare.sign_flip import MINIMUM_UNITS

POWER = 0.8
"""Share of runs that should find a difference which is there."""

MOST_PRECISE = 1e-6
"""No number of rows tells apart what is closer than this share of the largest difference of a row."""

SIMULATED = 400
"""Runs that are drawn for each question."""

LARGEST = 2000
"""Units of a run that is drawn; a larger one is taken to grow surer by the root of its units."""

_FEWEST = 100
_VALUES = 200_000
_PRECISION = 0.02
_GUARANTEED = 100


@frozen(eq=False)
class Reach:
    """What a run can show of a difference.

    Attributes:
        sums: Differences of units, which are rows or clusters, shape (units,).
        sizes: Rows of each unit, shape (units,).
        largest: By how much a row can differ.
        differences: The same as runs are drawn from them.
    """

    sums: Floats = field(factory=lambda: np.zeros(0))
    sizes: Floats = field(factory=lambda: np.zeros(0))
    largest: float = 1.0
    differences: Differences | None = None

    @property
    def differing(self) -> int:
        """How many units differ."""
        return int(np.count_nonzero(self.sums))

    def shows(self, confidence: float = 0.95, power: float = POWER) -> float:
        """Return the smallest true difference that the test finds with the given power; infinite where none is found."""
        if self.differences is None or len(self.sums) < MINIMUM_UNITS:
            return math.inf
        if not self.differences.are_passes and self.differing < MINIMUM_UNITS:
            return self._least(confidence, power)
        tail = (1 - confidence) / 2
        low, high = 0.0, self.largest
        if self._finds(high, tail) < power:
            return self._least(confidence, power)
        start = 2.5 * self.error or self.largest / len(self.sums)
        while start < high:
            if self._finds(start, tail) >= power:
                high = start
            else:
                low, start = start, 1.3 * start
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            if self._finds(middle, tail) < power:
                low = middle
            else:
                high = middle
        return high

    @property
    def error(self) -> float:
        """Standard error of the mean difference."""
        apart = self.sums - float(self.sums.sum() / self.sizes.sum()) * self.sizes
        count = len(apart)
        return math.sqrt(float(apart @ apart) * count / (count - 1)) / float(self.sizes.sum())

    def _least(self, confidence: float, power: float) -> float:
        """Return what so many units show that differ by as much as those do that differ: of fewer nothing is known."""
        share = least_share(len(self.sums), confidence, power)
        apart = np.abs(self.sums[self.sums != 0])
        size = self.largest
        if self.differing >= MINIMUM_UNITS:
            size = float(apart.mean() * len(self.sums) / self.sizes.sum())
        return share * size

    def _finds(self, difference: float, tail: float) -> float:
        """Return in which share of runs the test finds a difference."""
        count = len(self.sums)
        units = count if self._is_quick else min(count, LARGEST)
        scale = math.sqrt(count / units)
        return float(self._runs(difference * scale, units).finds(tail).mean())

    @property
    def _is_quick(self) -> bool:
        """Whether a run is drawn as two numbers."""
        found = self.differences
        return found is not None and found.are_passes and not found.is_clustered

    def _runs(self, difference: float, units: int, most: int = SIMULATED) -> Drawn:
        assert self.differences is not None
        count = min(most, max(_FEWEST, _VALUES // units))
        return self.differences.runs(difference, units, most if self._is_quick else count)

    def rules_out(self, margin: float, rows: int, confidence: float, by_test: bool) -> float:
        """Return in which share of runs of so many rows equal systems are shown to lose no more than a margin.

        Args:
            margin: What may be lost.
            rows: Rows of a run.
            confidence: Of the interval that decides.
            by_test: Whether the interval of the test decides, or the guarantee.
        """
        tail = (1 - confidence) / 2
        units = max(MINIMUM_UNITS, round(rows * len(self.sums) / float(self.sizes.sum())))
        drawn = self._runs(0.0, units, SIMULATED if by_test else _GUARANTEED)
        found = drawn.leaves_out(margin, tail)
        if not by_test:
            found &= drawn.guaranteed(margin, self.largest, confidence)
        return float(found.mean())


def reach_of(
    differences: Floats,
    clusters: Clusters | None = None,
    measured: float | None = None,
    largest: float = 1.0,
) -> Reach:
    """Return what matched rows can show, by their differences and by how much a row can differ."""
    level = that_matter(clusters)
    found = Differences.of(differences, level, measured)
    return Reach(cluster_sums(differences, level), found.sizes, largest, found)


def least_share(units: int, confidence: float = 0.95, power: float = POWER) -> float:
    """Return which share of rows, or clusters, must differ, all one way, for the test to find it with the given power.

    >>> round(least_share(20), 3), round(least_share(1000), 4)
    (0.366, 0.0079)

    Of k that differ no p-value of the sign-flip test lies below ``2 ** (1 - k)``. It is infinite where there are too few units.
    """
    needed = math.floor(1 - math.log2(1 - confidence)) + 1
    return normal.chance_of_as_many(needed, units, power) if needed <= units else math.inf


def standard_error(differences: Floats, clusters: Clusters | None = None) -> float:
    """Return the standard error of the mean of paired differences, robust to clusters; 0.0 for equal rows."""
    differences = np.asarray(differences, dtype=float)
    sums = cluster_sums(differences - differences.mean(), clusters)
    count = len(sums)
    if count < 2:
        return math.inf
    return math.sqrt(float(np.square(sums).sum()) * count / (count - 1)) / len(differences)


def rows_for_margin(
    deviation: float,
    margin: float,
    difference: float = 0.0,
    confidence: float = 0.95,
    power: float = POWER,
    size: float = 1.0,
    imagined: float = 0.0,
) -> int:
    """Return about how many matched rows show non-inferiority within a margin, by the normal distribution.

    Also rows of which none differs must be more than a few: as many as make the end of the interval of no flip, the square of the
    normal quantile by the rows, smaller than the margin.

    Args:
        deviation: Standard deviation of the paired differences of single rows; with clusters, the standard error of a run
            times the square root of its rows.
        margin: What may be lost, above zero.
        difference: True difference that is expected; below ``-margin`` no number of rows is enough.
        confidence: Of the two-sided interval whose lower bound is looked at.
        power: Share of runs that should show it.
        size: Largest difference of a row, in the unit of the score.
        imagined: What the interval is wider than the normal one on one side, times the rows; it falls as their number rises.

    Raises:
        ValueError: The difference expected is not above ``-margin``.
    """
    distance = margin + difference
    if distance <= 0:
        raise ValueError("no number of rows shows a margin that the system is expected to miss")
    beyond = normal.quantile((1 + confidence) / 2)
    spread = (beyond + normal.quantile(power)) * deviation
    needed = ((spread + math.sqrt(spread**2 + 4 * imagined * distance)) / (2 * distance)) ** 2
    return max(MINIMUM_ROWS, math.ceil(needed), math.ceil(beyond**2 * size / distance))


def least_rows(shown: Callable[[int], float], start: int, power: float = POWER) -> int:
    """Return the least number of rows of which ``shown`` is at least ``power``, to 2 in 100, searched from ``start``."""
    low = high = start
    while shown(high) < power:
        low, high = high, math.ceil(1.5 * high)
    while low > MINIMUM_ROWS and shown(low) >= power:
        low, high = max(MINIMUM_ROWS, math.floor(low / 1.5)), low
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        if shown(middle) < power:
            low = middle
        else:
            high = middle
    return high

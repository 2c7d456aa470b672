"""How many rows a decision takes, and what a run of so many rows can show."""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen

from context_bench_compare import normal
from context_bench_compare.intervals import (
    MINIMUM_ROWS,
    OF_FLIPS,
    Clusters,
    Floats,
    Interval,
    TooFew,
    _cluster_sums,
    cluster_count,
    difference_interval,
)

POWER = 0.8
"""Share of runs that should find a difference which is there."""


MOST_PRECISE = 1e-6
"""No number of rows tells apart what is closer than this share of the largest difference of a row."""


FEW = 200
"""Of fewer rows, or clusters, what is imagined among them tells in what a run can show."""


@frozen
class Reach:
    """What a run can show of a difference.

    Attributes:
        error: Standard error of the difference.
        clusters: How many clusters it rests on; None when every row stands alone.
        units: Rows, or clusters.
        size: What the mean changes by when each unit differs as those do that differ.
        half: Half the width of the interval, which must leave out zero; 0.0 for flips, of which the test asks more.
        confidence: Of that interval.
        differing: Rows whose two scores differ.
    """

    error: float = math.nan
    clusters: int | None = None
    units: int = 0
    size: float = 0.0
    half: float = 0.0
    confidence: float = 0.95
    differing: int = 0

    def shows(self, confidence: float = 0.95, power: float = POWER) -> float:
        """Return the smallest true difference that a verdict finds with the given power; infinite where none is found."""
        by_test = detectable_difference(self.error, confidence, power, self.clusters)
        by_interval = self._half_at(confidence) + normal.quantile(power) * self.error
        return max(by_test, by_interval, self.size * least_share(self.units, confidence, power))

    def _half_at(self, confidence: float) -> float:
        """Return half the width at another confidence: the normal part grows as the quantile does, the imagined row's as the
        logarithm of the error, which is what an exponential variable stays below."""
        if not self.half:
            return 0.0
        normal_part, own_part = (
            normal.quantile((1 + one) / 2) * self.error for one in (confidence, self.confidence)
        )
        return normal_part + (self.half - own_part) * math.log((1 - confidence) / 2) / math.log(
            (1 - self.confidence) / 2
        )


def reach_of(
    differences: Floats,
    clusters: Clusters | None,
    interval: Interval | TooFew,
    largest: float = 1.0,
    measured: float | None = None,
) -> Reach:
    """Return what matched rows can show, by their differences, the interval of the mean, and by how much a row can differ."""
    sums = _cluster_sums(differences, clusters)
    apart = np.abs(sums[sums != 0])
    size = float(apart.mean()) * len(sums) / len(differences) if len(apart) else largest
    half, mean, confidence = 0.0, float(differences.mean()), 0.95
    if isinstance(interval, Interval) and interval.method != OF_FLIPS:
        confidence = interval.confidence
        half = max(mean - interval.low, interval.high - mean)
        if len(sums) < FEW and (measured is not None or clusters is not None):
            centred = differences - mean
            half = max(
                _least_mean(one, clusters, half, confidence, measured)
                for one in (centred, -centred)
            )
    return Reach(
        standard_error(differences, clusters),
        None if clusters is None else cluster_count(clusters),
        len(sums),
        size,
        half,
        confidence,
        int(np.count_nonzero(differences)),
    )


def _least_mean(
    centred: Floats,
    clusters: Clusters | None,
    start: float,
    confidence: float,
    measured: float | None,
) -> float:
    """Return the least mean of which the interval ends at zero: what is imagined on the other side moves away with the mean."""
    mean = start
    for _ in range(8):
        found = difference_interval(centred + mean, clusters, confidence, measured)
        if isinstance(found, TooFew) or abs(found.low) < 0.01 * mean:
            break
        mean -= found.low
    return mean


def imagined_by(
    interval: Interval | TooFew, differences: Floats, clusters: Clusters | None
) -> float:
    """Return what an interval of graded differences is wider than the normal one, towards its lower end, times the rows."""
    if isinstance(interval, TooFew) or interval.method == OF_FLIPS:
        return 0.0
    normal_half = normal.quantile((1 + interval.confidence) / 2) * standard_error(
        differences, clusters
    )
    return max(0.0, float(differences.mean()) - interval.low - normal_half) * len(differences)


def least_share(units: int, confidence: float = 0.95, power: float = POWER) -> float:
    """Return which share of rows, or clusters, must differ, all one way, for the exact test to find it with the given power.

    >>> round(least_share(20), 3), round(least_share(1000), 4)
    (0.386, 0.0079)

    Of k that differ no p-value lies below ``2 ** (1 - k)``, whatever the standard error of a run is in which few do. It is
    infinite where there are too few units.
    """
    needed = math.floor(1 - math.log2(1 - confidence)) + 1
    return normal.chance_of_as_many(needed, units, power) if needed <= units else math.inf


def standard_error(differences: Floats, clusters: Clusters | None = None) -> float:
    """Return the standard error of the mean of paired differences, robust to clusters; 0.0 for equal rows."""
    differences = np.asarray(differences, dtype=float)
    sums = _cluster_sums(differences - differences.mean(), clusters)
    count = len(sums)
    return (
        math.sqrt(float(np.square(sums).sum()) * count / (count - 1)) / len(differences)
        if count > 1
        else math.inf
    )


def detectable_difference(
    error: float, confidence: float = 0.95, power: float = POWER, clusters: int | None = None
) -> float:
    """Return the smallest true difference that a run with this standard error finds with the given power.

    Args:
        error: Standard error of the difference.
        confidence: 1 - the error of the test.
        power: Share of runs that should find it.
        clusters: How many clusters the error rests on; None when every row stands alone. Of few, no difference is found: of k
            clusters no p-value lies below ``2 ** (1 - k)``. It is infinite then.
    """
    if clusters is None:
        return (normal.quantile((1 + confidence) / 2) + normal.quantile(power)) * error
    if 2.0 ** (1 - clusters) >= 1 - confidence:
        return math.inf
    return (
        sum(normal.student_quantile(share, clusters - 1) for share in ((1 + confidence) / 2, power))
        * error
    )


def rows_for_margin(
    deviation: float,
    margin: float,
    difference: float = 0.0,
    confidence: float = 0.95,
    power: float = POWER,
    size: float = 1.0,
    imagined: float = 0.0,
) -> int:
    """Return how many matched rows show non-inferiority within a margin.

    Also rows of which none differs must be more than a few: as many as make the end of Tango's interval, the square of the normal
    quantile by the rows, smaller than the margin.

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

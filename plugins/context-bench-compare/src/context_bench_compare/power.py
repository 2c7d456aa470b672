"""How many rows a decision takes, and what a run of so many rows can show."""

from __future__ import annotations

import math

import numpy as np

from context_bench_compare import normal
from context_bench_compare.intervals import MINIMUM_ROWS, Clusters, Floats, _cluster_sums

POWER = 0.8
"""Share of runs that should find a difference which is there."""


MOST_PRECISE = 1e-6
"""No number of rows tells apart what is closer than this share of the largest difference of a row."""


def standard_error(differences: Floats, clusters: Clusters | None = None) -> float:
    """Return the standard error of the mean of paired differences, robust to clusters; 0.0 for equal rows."""
    differences = np.asarray(differences, dtype=float)
    sums = _cluster_sums(differences - differences.mean(), clusters)
    count = len(sums)
    return math.sqrt(float(np.square(sums).sum()) * count / (count - 1)) / len(differences) if count > 1 else math.inf


def detectable_difference(
    error: float, confidence: float = 0.95, power: float = POWER, clusters: int | None = None
) -> float:
    """Return the smallest true difference that a run with this standard error finds with the given power.

    Args:
        error: Standard error of the difference.
        confidence: 1 - the error of the test.
        power: Share of runs that should find it.
        clusters: How many clusters the error rests on; None when every row stands alone. Of few, no difference is found: a test
            that flips k clusters has no p-value below ``2 ** (1 - k)``. It is infinite then.
    """
    if clusters is None:
        return (normal.quantile((1 + confidence) / 2) + normal.quantile(power)) * error
    if 2.0 ** (1 - clusters) >= 1 - confidence:
        return math.inf
    return sum(normal.student_quantile(share, clusters - 1) for share in ((1 + confidence) / 2, power)) * error


def rows_for_margin(
    deviation: float,
    margin: float,
    difference: float = 0.0,
    confidence: float = 0.95,
    power: float = POWER,
    size: float = 1.0,
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

    Raises:
        ValueError: The difference expected is not above ``-margin``.
    """
    distance = margin + difference
    if distance <= 0:
        raise ValueError("no number of rows shows a margin that the system is expected to miss")
    beyond = normal.quantile((1 + confidence) / 2)
    needed = ((beyond + normal.quantile(power)) * deviation / distance) ** 2
    return max(MINIMUM_ROWS, math.ceil(needed), math.ceil(beyond**2 * size / distance))

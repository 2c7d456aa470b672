"""Paired tests: whether a difference can be chance.

Passes and fails get McNemar's exact test; graded scores, and rows in clusters, get the p-value that agrees with their interval. A
sign-flip test would suppose that the differences are symmetric around zero, and alarm too often where they are not. Many tests at
once are corrected by Holm's step-down method (1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from context_bench_compare import normal
from context_bench_compare.intervals import Clusters, Floats, are_flips, difference_p_value


def mcnemar(improved: int, regressed: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    >>> mcnemar(1, 8)
    0.0390625

    Args:
        improved: Rows that failed with the baseline and pass now.
        regressed: Rows that passed with the baseline and fail now.
    """
    flips = improved + regressed
    return normal.sign_test(improved, flips) if flips else 1.0


def paired_p_value(
    differences: Floats, clusters: Clusters | None = None, measured: float | None = None
) -> tuple[float, str]:
    """Return the p-value of paired differences and the name of the test.

    Passes and fails without clusters get McNemar's test, all else the p-value of Gaffke's interval, which lies below 1 - a
    confidence where the interval of that confidence leaves out zero, and only there.

    Args:
        differences: One difference a matched row, shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        measured: As for :func:`~context_bench_compare.intervals.difference_interval`.
    """
    differences = np.asarray(differences, dtype=float)
    if are_flips(differences, clusters, measured):
        return mcnemar(int((differences > 0).sum()), int((differences < 0).sum())), "McNemar, exact"
    return difference_p_value(differences, clusters, measured), "Gaffke"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected

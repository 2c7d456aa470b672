"""Passes and fails of two systems on the same rows: McNemar's test, and the interval that agrees with it.

The p-value is McNemar's mid-p (Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91): the exact test counts
what was seen in full and so errs less often than it may, the mid-p counts it by half. The interval is Tango's score interval
(Statistics in Medicine 17, 1998, 891-908). Its score at zero is McNemar's without the correction for small counts, so the end
towards zero is moved out by what parts the two: the interval leaves out zero where the mid-p lies below 1 - its confidence, and
only there.
"""

from __future__ import annotations

import math

from context_bench_compare import normal

_HALVINGS = 40


def mid_p(improved: int, regressed: int) -> float:
    """Return the two-sided mid-p-value of McNemar's test.

    >>> mid_p(1, 8)
    0.021484375

    Args:
        improved: Rows that failed with the baseline and pass now.
        regressed: Rows that passed with the baseline and fail now.
    """
    flips = improved + regressed
    if not flips:
        return 1.0
    return min(1.0, normal.sign_test(min(improved, regressed), flips))


def passes_interval(
    improved: float, regressed: float, rows: float, p_value: float, confidence: float
) -> tuple[float, float]:
    """Return Tango's interval with the end towards zero moved to where the p-value has it.

    >>> [round(end, 4) for end in passes_interval(9, 3, 50, mid_p(9, 3), 0.95)]
    [-0.0217, 0.2627]

    Args:
        improved, regressed: Rows that flipped, in either direction.
        rows: All rows.
        p_value: Two-sided p-value of a difference of zero.
        confidence: Share of such intervals that hold the true difference.
    """
    below, above = _scores_at_ends(improved, regressed, p_value, confidence)
    estimate = (improved - regressed) / rows
    low = _where_score_is(improved, regressed, rows, below, (-1.0, estimate))
    high = _where_score_is(improved, regressed, rows, -above, (estimate, 1.0))
    if p_value < 1 - confidence:  # only of confidences above 0.999 does the score say otherwise
        low, high = (max(low, 1e-12), high) if estimate > 0 else (low, min(high, -1e-12))
    return low, high


def lower_end_is_above(
    difference: float, improved: int, regressed: int, rows: float, confidence: float
) -> bool:
    """Return whether :func:`passes_interval` lies above a difference below zero, without a search for its ends."""
    below, _ = _scores_at_ends(improved, regressed, mid_p(improved, regressed), confidence)
    return tango_score(improved, regressed, rows, difference) > below


def _scores_at_ends(
    improved: float, regressed: float, p_value: float, confidence: float
) -> tuple[float, float]:
    """Return the scores that the two ends have: the normal quantile, and more for the end towards zero."""
    quantile = normal.quantile((1 + confidence) / 2)
    if improved == regressed:
        return quantile, quantile
    at_zero = abs(improved - regressed) / math.sqrt(improved + regressed)
    moved = quantile + max(0.0, at_zero - normal.beyond_quantile(p_value / 2))
    return (moved, quantile) if improved > regressed else (quantile, moved)


def tango_score(improved: float, regressed: float, rows: float, difference: float) -> float:
    """Return by how many standard errors that difference lies below what was seen; it falls as the difference rises."""
    apart = improved - regressed - rows * difference
    linear = (2 * rows - improved + regressed) * difference - improved - regressed
    constant = 8 * rows * regressed * difference * (1 - difference)
    share = (math.sqrt(max(0.0, linear**2 + constant)) - linear) / (4 * rows)
    variance = rows * (2 * share + difference * (1 - difference))
    return apart / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, apart)


def _where_score_is(
    improved: float, regressed: float, rows: float, score: float, within: tuple[float, float]
) -> float:
    low, high = within
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if tango_score(improved, regressed, rows, middle) > score:
            low = middle
        else:
            high = middle
    return (low + high) / 2

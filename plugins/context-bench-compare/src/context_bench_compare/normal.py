"""The normal distribution and Student's, from scipy.special: scipy.stats has the same, but takes two seconds to import.

Every table has an interval that needs a normal quantile, so scipy.special, which takes a quarter of a second, is imported where
something else is asked.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

_HALVINGS = 60


@cache
def _special() -> Any:
    from scipy import special

    return special


def below(z: Any) -> Any:
    """Return the share of a standard normal distribution below ``z``, of any shape."""
    return _special().ndtr(z)


def beyond(z: Any) -> Any:
    """Return the share of a standard normal distribution above ``z``, of any shape."""
    return _special().ndtr(-np.asarray(z))


def quantile(share: float) -> float:
    """Return the value below which that share of a standard normal distribution lies (0 to 1, both left out)."""
    return NormalDist().inv_cdf(share)


def density(x: Any, scale: float) -> Any:
    """Return the density at ``x``, of any shape, of a normal distribution around zero with that standard deviation."""
    return np.exp(-np.square(np.asarray(x) / scale) / 2) / (scale * math.sqrt(2 * math.pi))


def student_quantile(share: float, degrees: float) -> float:
    """Return the value below which that share of Student's distribution lies; the degrees of freedom need not be whole."""
    return float(_special().stdtrit(degrees, share))


def beta_rank(chance: float, rows: float, share: float) -> float:
    """Return the rank, 0 to rows + 1, of the value that with this chance has at most that share of all values below it.

    Args:
        chance: 0 to 1, both left out.
        rows: From which the value is taken; they need not be whole, and nor is the rank.
        share: 0 to 1, both left out.
    """
    low, high = 0.0, rows + 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(_special().betainc(middle, rows + 1 - middle, share)) > chance:
            low = middle
        else:
            high = middle
    return low


def chance_of_as_many(least: int, rows: int, share: float) -> float:
    """Return the chance of each row with which at least so many of the rows happen in that share of the runs."""
    return float(_special().betaincinv(least, rows - least + 1, share))


def beyond_quantile(share: float) -> float:
    """Return the value above which that share of a standard normal distribution lies, also for a share near zero."""
    return -float(_special().ndtri(share))


def sign_test(fewer: int, rows: int) -> float:
    """Return the two-sided mid-p-value of the test that ``fewer`` of ``rows``, at most half of them, are half of them."""
    so_few = float(_special().bdtr(fewer, rows, 0.5))
    fewer_yet = float(_special().bdtr(fewer - 1, rows, 0.5)) if fewer else 0.0
    return so_few + fewer_yet

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


def binomial_quantile(share: float, rows: int, chance: float) -> int:
    """Return the least count that so many draws, each with that chance, stay at or below with that share (0 to 1)."""
    found: int = math.ceil(_special().bdtrik(share, rows, chance) - 1e-9)
    while found > 0 and _special().bdtr(found - 1, rows, chance) >= share:
        found -= 1
    while _special().bdtr(found, rows, chance) < share:
        found += 1
    return found


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

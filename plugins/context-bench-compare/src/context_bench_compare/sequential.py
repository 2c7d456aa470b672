"""Looking while a run goes on, without finding more by looking more often.

The error that a decision may have is spent over the looks by Lan and DeMets's function of O'Brien-Fleming type (1983): almost
nothing at first, all of it at the end. The bounds come from the recursion of Armitage, McPherson
and Rowe (1969), integrated on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from context_bench_compare import normal

GRID = 2001
"""Points of the grid on which the density of the test statistic is kept between looks."""


def spent(share: float, alpha: float = 0.05) -> float:
    """Return how much of a two-sided ``alpha`` may be spent once ``share`` of the rows are there (0 to 1)."""
    if share <= 0:
        return 0.0
    return float(4 * normal.beyond(normal.quantile(1 - alpha / 4) / math.sqrt(min(share, 1.0))))


def bounds(shares: Sequence[float], alpha: float = 0.05) -> list[float]:
    """Return, for each look, the absolute z-value that decides.

    >>> [round(bound, 2) for bound in bounds([0.25, 0.5, 0.75, 1.0])]
    [4.33, 2.96, 2.36, 2.01]

    Args:
        shares: Share of the planned rows at each look, rising, the last at most 1.
        alpha: Two-sided error of the whole run.

    Raises:
        ValueError: The shares do not rise between 0 and 1.
    """
    if (
        list(shares) != sorted(set(shares))
        or not shares
        or shares[0] <= 0
        or shares[-1] > 1 + 1e-12
    ):
        raise ValueError("looks are rising shares above 0 and up to 1")
    found: list[float] = []
    density: NDArray[np.float64] | None = None
    grid = np.zeros(0)
    before, used = 0.0, 0.0
    for share in shares:
        budget = spent(share, alpha)
        step = math.sqrt(share - before)
        bound = _bound(grid, density, step, share, budget - used)
        found.append(bound)
        limit = min(bound, 10.0) * math.sqrt(share)
        after = np.linspace(-limit, limit, GRID)
        density = _advance(grid, density, after, step)
        grid, before, used = after, share, budget
    return found


def _advance(
    grid: NDArray[np.float64],
    density: NDArray[np.float64] | None,
    after: NDArray[np.float64],
    step: float,
) -> NDArray[np.float64]:
    """Return the density of the sum at ``after``, of the paths that no look has stopped."""
    if density is None:
        return np.asarray(normal.density(after, step))
    kernel = normal.density(after[:, None] - grid[None, :], step)
    return np.asarray(kernel @ (density * _weights(grid)))


def _bound(
    grid: NDArray[np.float64],
    density: NDArray[np.float64] | None,
    step: float,
    share: float,
    budget: float,
) -> float:
    """Return the z-value beyond which ``budget`` of the paths lie, by bisection."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        limit = middle * math.sqrt(share)
        if density is None:
            beyond = 2 * float(normal.beyond(limit / step))
        else:
            tails = normal.beyond((limit - grid) / step) + normal.below((-limit - grid) / step)
            beyond = float((tails * density * _weights(grid)).sum())
        low, high = (middle, high) if beyond > budget else (low, middle)
    return (low + high) / 2


def _weights(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the trapezoidal rule."""
    weights = np.full(len(grid), grid[1] - grid[0])
    weights[0] = weights[-1] = weights[0] / 2
    return weights

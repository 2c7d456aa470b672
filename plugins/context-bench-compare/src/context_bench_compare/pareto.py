"""The Pareto front: which systems no other one beats in quality and in cost at once, and how surely each stands on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from context_bench_compare.intervals import Clusters, Floats, too_few

DRAWS = 1000
"""Bootstrap draws of the rows."""

BLOCKS = 2000
"""Rows are drawn in at most so many blocks of neighbours, so that a million rows take no longer than these."""


@frozen
class Point:
    """One system of a front.

    Attributes:
        system: Its name.
        score, cost: Means over the rows of which all systems have it: a failed row has the worst score, and no cost.
        is_on_front: Whether no other system is as good and cheaper, or better and as cheap.
        share: Share of the bootstrap draws in which it is on the front; nan of so few rows that drawing them tells nothing.
    """

    system: str
    score: float
    cost: float
    is_on_front: bool
    share: float


@frozen
class Front:
    """Systems by quality and cost.

    Attributes:
        metric: The score.
        measure: What a row costs, such as ``cost`` or ``prompt_tokens``.
        rows: Rows of which all systems have the score.
        points: The systems.
        better: Which score is better, ``"higher"`` or ``"lower"``; less cost always is.
        cost_rows: Those of them of which all systems have a cost.
        unit: What the measure is told in; empty for tokens.
    """

    metric: str
    measure: str
    rows: int
    points: tuple[Point, ...]
    better: str = "higher"
    cost_rows: int = 0
    unit: str = ""

    @property
    def extent(self) -> str:
        """In words, over which rows the means are."""
        told = f"over {self.rows:,} {'row' if self.rows == 1 else 'rows'}"
        if self.cost_rows == self.rows:
            return told
        return f"{told}, of which {self.cost_rows:,} have the {self.name} of every system"

    @property
    def name(self) -> str:
        """The measure as a phrase."""
        return self.measure.replace("_", " ")


def front_of(
    names: Sequence[str],
    scores: Sequence[Floats],
    costs: Sequence[Floats],
    better: str,
    clusters: Clusters | None = None,
    seed: int = 0,
) -> tuple[Point, ...]:
    """Return the systems with their share of the draws.

    Args:
        names: Of the systems.
        scores, costs: One column a system, over the same rows, each of shape (rows,). Costs are nan where they are unknown; only
            rows of which all are known count for any.
        better: Which score is better, ``"higher"`` or ``"lower"``; less cost always is.
        clusters: Number of the cluster of each row; whole clusters are drawn then.
        seed: Seed of the draws.
    """
    sign = 1 if better == "higher" else -1
    rows = len(scores[0])
    blocks = (
        clusters_of_blocks(rows)
        if clusters is None
        else np.unique(clusters, return_inverse=True)[1]
    )
    count = int(blocks.max()) + 1
    known = np.isfinite(costs[0])
    for column in costs[1:]:
        known &= np.isfinite(column)
    are_all = bool(known.all())
    counted = chain(
        scores, (column if are_all else np.where(known, column, 0.0) for column in costs)
    )
    sums = np.array([np.bincount(blocks, weights=column, minlength=count) for column in counted])
    systems = len(names)
    sizes = np.array(
        [np.bincount(own, minlength=count) for own in (blocks, blocks[known])], dtype=np.float64
    )
    sizes = np.repeat(sizes, systems, axis=0)
    generator = np.random.default_rng(seed)
    means = np.empty((DRAWS, len(sums)))
    with np.errstate(invalid="ignore"):  # a draw without any known cost has none
        for number in range(DRAWS):
            weights = np.bincount(generator.integers(0, count, count), minlength=count).astype(
                float
            )
            means[number] = sums @ weights / (sizes @ weights)
    found = sums.sum(axis=1) / sizes.sum(axis=1)
    shares = on_front(means[:, systems:], sign * means[:, :systems]).mean(axis=0)
    if too_few(int(known.sum()), None if clusters is None else clusters[known]):
        shares[:] = np.nan
    here = on_front(found[None, systems:], sign * found[None, :systems])[0]
    return tuple(
        Point(
            name,
            float(found[place]),
            float(found[systems + place]),
            bool(here[place]),
            float(shares[place]),
        )
        for place, name in enumerate(names)
    )


def on_front(costs: Floats, scores: Floats) -> NDArray[np.bool_]:
    """Return which systems no other one beats, for each draw; all of shape (draws, systems), higher scores being better."""
    as_cheap = costs[:, :, None] >= costs[:, None, :]
    as_good = scores[:, :, None] <= scores[:, None, :]
    strictly = (costs[:, :, None] > costs[:, None, :]) | (scores[:, :, None] < scores[:, None, :])
    return np.asarray(~(as_cheap & as_good & strictly).any(axis=2))


def clusters_of_blocks(rows: int) -> Clusters:
    """Return the block of each row: its own while they are few, else one of :data:`BLOCKS` of neighbours."""
    return np.arange(rows) if rows <= BLOCKS else np.arange(rows) * BLOCKS // rows

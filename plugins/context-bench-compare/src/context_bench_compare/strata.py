"""Means over several datasets of which the last is not all there yet: each dataset counts by the rows that it will have.

Rows of several datasets come one dataset after the other. Before the end a plain mean would give the last one too little
weight, and say something about other rows than the run is about; so its rows count for those that are still to come.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from context_bench_compare.intervals import Clusters, Floats, Interval, TooFew

Estimate = Callable[[Floats, "Clusters | None", float], "Interval | TooFew"]
"""Takes values, their clusters and the confidence, and returns the interval of their mean."""


@frozen
class Growing:
    """The dataset of which rows are still to come.

    Attributes:
        number: Its number in the run.
        factor: Rows that it will have for each one that is there, at least 1.
    """

    number: int
    factor: float


def weights_of(datasets: NDArray[np.int64], growing: Growing | None) -> Floats:
    """Return what each row counts, shape (rows,): one, or the factor of its dataset, divided by their mean."""
    weights = np.ones(len(datasets))
    if growing is not None:
        weights[datasets == growing.number] = growing.factor
    return np.asarray(weights / weights.mean())


def interval_over(
    values: Floats,
    datasets: NDArray[np.int64],
    clusters: Clusters | None,
    growing: Growing | None,
    confidence: float,
    estimate: Estimate,
) -> Interval | TooFew:
    """Return the interval of the mean; of several datasets it is joined from theirs (MOVER, Zou and Donner 2008).

    Args:
        values: One value a row, shape (rows,).
        datasets: Number of the dataset of each row, shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        growing: Of which dataset rows are still to come; None when all are there, and then the rows are taken as one sample.
        confidence: Of the interval.
        estimate: Returns the interval of the mean of one dataset.
    """
    numbers = np.unique(datasets)
    if growing is None or len(numbers) < 2:
        return estimate(values, clusters, confidence)
    weights = weights_of(datasets, growing) / len(values)
    seen: set[int] = set()
    mean, below, above, method, missing = float(values @ weights), 0.0, 0.0, "", 0
    for number in numbers:
        chosen = datasets == number
        own = None if clusters is None else clusters[chosen]
        names = set() if own is None else set(own.tolist())
        if seen & names:
            return TooFew(
                "rows of several datasets hang together, so only all of them together can tell"
            )
        seen |= names
        part, share = estimate(values[chosen], own, confidence), float(weights[chosen].sum())
        if isinstance(part, TooFew):
            return TooFew(f"a dataset has {part.reason}")
        centre = float(values[chosen].mean())
        below += (share * (centre - part.low)) ** 2
        above += (share * (part.high - centre)) ** 2
        method, missing = part.method, missing + max(0, part.rows_for_both - int(chosen.sum()))
    needed = len(values) + missing if missing else 0
    return Interval(
        mean - math.sqrt(below),
        mean + math.sqrt(above),
        f"{method}, by dataset",
        confidence,
        needed,
    )

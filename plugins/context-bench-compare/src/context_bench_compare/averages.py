"""Averages that are no plain mean over rows: the mean over datasets, and ratios of sums.

A macro average gives each dataset the same weight, however many rows it has. A ratio of sums, such as tokens out for tokens in,
is what is paid for; a mean of the ratios of rows would count a short row as much as a long one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen

from context_bench.records import passes
from context_bench_compare.differences import difference_test
from context_bench_compare.intervals import (
    MINIMUM_DISTINCT,
    MINIMUM_ROWS,
    Alike,
    Clusters,
    Floats,
    Interval,
    TooFew,
    counted,
)
from context_bench_compare.pareto import clusters_of_blocks
from context_bench_compare.ratio_intervals import ratio_interval
from context_bench_compare.verdicts import Rules

RATIOS: Mapping[str, tuple[str, str]] = {
    "compression": ("output_tokens", "input_tokens"),
    "cost_per_pass": ("cost", "pass"),
}
"""Numerator and denominator of each ratio of sums; ``pass`` is whether the score passes."""


@frozen
class Macro:
    """The average over datasets, each with the same weight.

    Attributes:
        datasets: How many there are.
        mean, baseline_mean, difference: Means of the datasets' means.
        interval: Of the difference; or why there is none.
    """

    datasets: int
    mean: float
    baseline_mean: float
    difference: float
    interval: Interval | TooFew


@frozen
class Ratio:
    """A ratio of sums of two systems on the same rows.

    Attributes:
        system, baseline: Names of the two.
        name: One of :data:`RATIOS`.
        value, baseline_value, difference: The ratios, and what parts them.
        interval: Of the difference; or why there is none.
        rows: Matched rows that have all that is summed.
        unit: The currency of a cost; empty for tokens.
    """

    system: str
    baseline: str
    name: str
    value: float
    baseline_value: float
    difference: float
    interval: Interval | TooFew
    rows: int
    unit: str = ""


def macro_average(
    ours: Floats,
    theirs: Floats,
    labels: Clusters,
    clusters: Clusters | None,
    confidence: float,
    measured: float | None = None,
) -> Macro | None:
    """Return the average over datasets; None where there is only one.

    Args:
        ours, theirs: Scores of matched rows, shape (rows,).
        labels: Number of each row's dataset, shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        confidence: Of the interval, which takes the datasets as given and their rows as drawn.
        measured: Largest value that was measured; None for scores between 0 and 1.
    """
    found = np.unique(labels)
    if len(found) < 2:
        return None
    means, intervals = [], []
    for label in found:
        chosen = labels == label
        own = None if clusters is None else clusters[chosen]
        means.append((float(ours[chosen].mean()), float(theirs[chosen].mean())))
        differences = ours[chosen] - theirs[chosen]
        intervals.append(difference_test(differences, own, confidence, measured).interval)
    mine, other = (float(np.mean(column)) for column in zip(*means))
    is_apart = clusters is None or len(np.unique([clusters, labels], axis=1)[0]) == len(
        np.unique(clusters)
    )
    apart = [ours_there - theirs_there for ours_there, theirs_there in means]
    interval = _joined(apart, intervals, confidence, is_apart)
    return Macro(len(found), mine, other, mine - other, interval)


def _joined(
    differences: Sequence[float],
    intervals: Sequence[Interval | TooFew],
    confidence: float,
    is_apart: bool,
) -> Interval | TooFew:
    """Return the interval of the mean of differences, from the interval of each (MOVER, Zou and Donner 2008).

    Where rows of several datasets hang together the differences are not independent: their widths add up then.
    """
    below, above = [], []
    for difference, one in zip(differences, intervals):
        if isinstance(one, TooFew):
            return TooFew(f"a dataset has {one.reason}")
        below.append(difference - one.low)
        above.append(one.high - difference)
    count, mean = len(differences), math.fsum(differences) / len(differences)
    lower, upper = (
        math.hypot(*widths) if is_apart else math.fsum(widths) for widths in (below, above)
    )
    return Interval(mean - lower / count, mean + upper / count, "stratified by dataset", confidence)


def ratio_between(
    names: tuple[str, str],
    name: str,
    columns: Sequence[Floats],
    clusters: Clusters | None,
    rules: Rules,
) -> Ratio | None:
    """Return one of :data:`RATIOS` of two systems; see :func:`ratio_of_sums`.

    Args:
        names: Of the system and of the baseline.
        name: Which ratio.
        columns: Numerator and denominator of the system, then of the baseline, over matched rows, each of shape (rows,); for
            ``pass`` the score, of which less is better where the rules say so.
        clusters: Number of the cluster of each row; None when every row stands alone.
        rules: What passes, the confidence and the seed.
    """
    values = list(columns)
    if RATIOS[name][1] == "pass":
        for place in (1, 3):
            values[place] = passes(values[place], rules.threshold, rules.better).astype(float)
    ours, theirs = (values[0], values[1]), (values[2], values[3])
    return ratio_of_sums(names, name, ours, theirs, clusters, rules.confidence, rules.seed)


_ALIKE = {False: Alike("no row tells the two apart"), True: Alike("by the same in every row")}
"""What rows say that do not differ in their ratios, by whether the ratios differ."""

_APART = {
    False: {False: "tell the two apart", True: "tells the two apart"},
    True: {
        False: "differ from the others in their ratio",
        True: "differs from the others in its ratio",
    },
}
"""What rows that part two ratios do, by whether the ratios differ, and whether there is one such row."""


def ratio_of_sums(
    names: tuple[str, str],
    name: str,
    ours: tuple[Floats, Floats],
    theirs: tuple[Floats, Floats],
    clusters: Clusters | None,
    confidence: float,
    seed: int,
) -> Ratio | None:
    """Return two ratios of sums and the studentized bootstrap interval of their difference; None where a denominator is zero.

    Args:
        names: Of the system and of the baseline.
        name: One of :data:`RATIOS`.
        ours, theirs: Numerator and denominator of the matched rows, each of shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        confidence: Of the interval.
        seed: Seed of the draws.
    """
    columns = (*ours, *theirs)
    sums = [float(column.sum()) for column in columns]
    if not sums[1] or not sums[3]:
        return None
    rows = len(columns[0])
    if clusters is None and rows >= MINIMUM_ROWS:
        clusters = clusters_of_blocks(rows)
    mine, other = sums[0] / sums[1], sums[2] / sums[3]
    parted = (ours[0] - mine * ours[1]) / sums[1] - (theirs[0] - other * theirs[1]) / sums[3]
    differing = int((np.abs(parted) > 1e-12 * (abs(mine) + abs(other)) / rows).sum())
    if differing < MINIMUM_DISTINCT:
        is_apart = abs(mine - other) > 1e-12 * (abs(mine) + abs(other))
        told: TooFew = _ALIKE[is_apart]
        if differing:
            what = _APART[is_apart][differing == 1]
            told = TooFew(f"{counted(differing, 'row')} {what}, {MINIMUM_DISTINCT} are needed")
        return Ratio(*names, name, mine, other, mine - other, told, rows)
    interval = ratio_interval(columns, clusters, confidence, seed)
    return Ratio(*names, name, mine, other, mine - other, interval, rows)

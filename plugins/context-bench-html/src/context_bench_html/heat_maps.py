"""Heat maps: tables whose cells are coloured by their value, so that they can be read without colour, too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from attrs import frozen

from context_bench_html.side_by_side import Floats, SideBySide, array_of
from context_bench_html.svg import number

STEPS = 9
"""Colours of a heat map, numbered from 0 for the worst."""

_MOST = 12


@frozen
class HeatCell:
    """One cell.

    Attributes:
        text: The value; a dash when there is none.
        step: Number of its colour, or None.
        rows: How many rows it is of.
    """

    text: str
    step: int | None
    rows: int


@frozen
class HeatMap:
    """A table with coloured cells.

    Attributes:
        title: What it shows.
        corner: What the first column holds.
        headings: Of the other columns.
        lines: Name of a line, and its cells.
    """

    title: str
    corner: str
    headings: tuple[str, ...]
    lines: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def by_dataset(found: SideBySide) -> HeatMap:
    """Return the mean score of each system on each dataset."""
    values = [array_of(cells.values) for cells in found.cells]
    table = [
        (name, [column[found.lines.are_of(name)] for column in values]) for name in found.datasets
    ]
    better = [found.directions.get(name, found.better) for name in found.datasets]
    return _coloured(
        "Mean score by dataset", "dataset", [c.label for c in found.cells], table, better
    )


def by_needle(found: SideBySide) -> list[HeatMap]:
    """Return for each system the mean score by length and depth of the needle; empty where examples have none."""
    placed = list(found.places)
    if not placed:
        return []
    lengths, length_names = _bins([length for length, _ in found.places.values()])
    depths, depth_names = _bins([depth for _, depth in found.places.values()])
    maps = []
    for cells in found.cells:
        values = array_of(cells.values)[placed]
        table = [
            (
                name,
                [
                    values[(depths == depth) & (lengths == length)]
                    for length in range(len(length_names))
                ],
            )
            for depth, name in enumerate(depth_names)
        ]
        title = f"{cells.label}: mean score by depth of the needle and length of the context"
        maps.append(
            _coloured(title, "depth \\ length", length_names, table, [found.better] * len(table))
        )
    return maps


def _bins(
    values: Sequence[float],
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int64]], list[str]]:
    """Return the number of each value's bin, and the names of the bins: the values themselves where they are few."""
    distinct = sorted(set(values))
    if len(distinct) <= _MOST:
        return np.searchsorted(distinct, values).astype(np.int64), [
            number(value) for value in distinct
        ]
    step = _round_step((distinct[-1] - distinct[0]) / 10)
    first = math.floor(distinct[0] / step)
    edges = [step * place for place in range(first, math.ceil(distinct[-1] / step) + 1)]
    names = [f"{number(low)} to {number(high)}" for low, high in pairwise(edges)]
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(names) - 1).astype(
        np.int64
    ), names


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10 ... that is not below ``least``: the edges of bins are numbers that one can say.

    >>> [_round_step(least) for least in (9.85, 0.3, 1200)]
    [10.0, 0.5, 2000.0]
    """
    size: float = 10.0 ** math.floor(math.log10(least))
    return next(factor * size for factor in (1, 2, 5, 10) if factor * size >= least * (1 - 1e-9))


def _coloured(
    title: str,
    corner: str,
    headings: Sequence[str],
    table: Sequence[tuple[str, Sequence[Floats]]],
    directions: Sequence[str],
) -> HeatMap:
    means = [[_mean(values) for values in line] for _, line in table]
    known = [mean for line in means for mean in line if not math.isnan(mean)]
    low, high = (min([*known, 0.0]), max([*known, 1.0])) if known else (0.0, 1.0)
    lines = []
    for (name, line), found, better in zip(table, means, directions):
        cells = tuple(
            HeatCell(number(mean), _step(mean, low, high, better), int((~np.isnan(values)).sum()))
            for values, mean in zip(line, found)
        )
        lines.append((name, cells))
    return HeatMap(title, corner, tuple(headings), tuple(lines))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _step(mean: float, low: float, high: float, better: str) -> int | None:
    if math.isnan(mean) or better not in ("higher", "lower"):
        return None
    share = (mean - low) / (high - low)
    return min(STEPS - 1, int(STEPS * (share if better == "higher" else 1 - share)))

"""Recall by length and by depth: a metric for reports, and the grid below the table of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

_ID = re.compile(r"needle-.+-n([0-9]+)-d([0-9.]+|uniform)-s[0-9-]+-i[0-9]+")
_MOST_DEPTHS = 11
_BANDS = ((0, 20), (20, 40), (40, 60), (60, 80), (80, 100))
_ANY = "any"

Placed = tuple[int, str, float]
Cells = Mapping[tuple[int, str], list[float]]


class LengthAndDepth:
    """The mean recall at each length and at each depth.

    Keys: ``length:TOKENS`` and ``depth:PERCENT``, or ``depth:FROM-TO`` for five bands where rows stand at more than eleven
    depths. Rows whose needles have several depths, or none, count in lengths only.
    """

    name = "length-and-depth"

    def compute(self, rows: Iterable[Any]) -> dict[str, float]:
        """Return the means by key; nothing where no row is of the data set ``needle``."""
        cells = cells_of([value for row in rows if (value := _placed(row))])
        lengths, depths = _axes(cells)
        found = {f"length:{length}": _mean(_of(cells, length, None)) for length in lengths}
        return found | {
            f"depth:{depth}": _mean(_of(cells, None, depth)) for depth in depths if depth != _ANY
        }


def section(result: Any) -> str | None:
    """Return the grid of every system below the table of a run; None where there is nothing to compare.

    That is where rows have one length, and one depth or each a depth of its own, or are of other data.
    """
    if not any("needle" in str(label) for label in result.config.get("datasets", ())):
        return None
    by_system: dict[str, list[Placed]] = {}
    for row in result.rows:
        if value := _placed(row):
            by_system.setdefault(row.system, []).append(value)
    grids = [(system, cells_of(values)) for system, values in by_system.items()]
    shown = [line for system, cells in grids for line in _grid(system, cells)]
    return (
        "\n".join(["needle_recall by length (tokens) and depth (percent)", *shown])
        if shown
        else None
    )


def cells_of(values: Sequence[Placed]) -> Cells:
    """Return recall by length and depth, the depths in bands where there are many."""
    several = len({depth for _, depth, _ in values}) > _MOST_DEPTHS
    cells: dict[tuple[int, str], list[float]] = {}
    for length, depth, value in values:
        cells.setdefault((length, _band(depth) if several else depth), []).append(value)
    return cells


def _placed(row: Any) -> Placed | None:
    """Return length, depth and recall of a row; a failed row counts 0, one that is unscored or of other data is none."""
    place = _ID.fullmatch(str(row.example_id))
    value = row.value("needle_recall") if place else None
    if place is None or value is None:
        return None
    return int(place[1]), _ANY if place[2] == "uniform" else place[2], value


def _grid(system: str, cells: Cells) -> Iterator[str]:
    lengths, depths = _axes(cells)
    repeated = any(len(_of(cells, None, depth)) > 1 for depth in depths)
    if len(lengths) < 2 and (len(depths) < 2 or not repeated):
        return
    width = max(7, *(len(depth) + 1 for depth in depths))
    yield f"  {system}"
    yield f"{'':>14}" + "".join(f"{depth:>{width}}" for depth in [*depths, "all"])
    for length in [*lengths, None]:
        values = [_of(cells, length, depth) for depth in [*depths, None]]
        texts = "".join(
            f"{_mean(each):>{width}.3f}" if each else f"{'-':>{width}}" for each in values
        )
        yield f"{'all' if length is None else format(length, ','):>14}{texts}"


def _axes(cells: Cells) -> tuple[list[int], list[str]]:
    depths = {depth for _, depth in cells}
    ordered = sorted(depths - {_ANY}, key=lambda depth: float(depth.partition("-")[0]))
    return sorted({length for length, _ in cells}), [*ordered, *([_ANY] if _ANY in depths else [])]


def _of(cells: Cells, length: int | None, depth: str | None) -> list[float]:
    return [
        value
        for (own_length, own_depth), values in cells.items()
        for value in values
        if length in (None, own_length) and depth in (None, own_depth)
    ]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _band(depth: str) -> str:
    if depth == _ANY:
        return depth
    low, high = next(band for band in _BANDS if float(depth) < band[1] or band[1] == 100)
    return f"{low}-{high}"

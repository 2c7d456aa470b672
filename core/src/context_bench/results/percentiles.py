"""Percentiles of large arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import islice

_PART = 8_192


def percentiles(values: array[float], shares: Sequence[float]) -> list[float]:
    """Return percentiles by linear interpolation (Hyndman and Fan's type 7, numpy's default).

    The values are reordered. A million numbers are sorted in parts of their array, and merged: as a
    list they would take 32 MiB, and a part takes 256 KiB.
    """
    parts = memoryview(values)
    for start in range(0, len(parts), _PART):
        parts[start : start + _PART] = array("d", sorted(parts[start : start + _PART]))
    ranks = [(len(parts) - 1) * share for share in shares]
    if len(parts) <= _PART:
        return [_between(parts, rank) for rank in ranks]
    ordered = merge(*(parts[start : start + _PART] for start in range(0, len(parts), _PART)))
    indexes = {*map(math.floor, ranks), *map(math.ceil, ranks)}
    needed_values = {
        index: value
        for index, value in enumerate(islice(ordered, max(indexes) + 1))
        if index in indexes
    }
    return [_between(needed_values, rank) for rank in ranks]


def _between(values: Sequence[float] | Mapping[int, float], rank: float) -> float:
    low = values[math.floor(rank)]
    high = values[math.ceil(rank)]
    return low + (high - low) * (rank - math.floor(rank))

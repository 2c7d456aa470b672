"""Percentiles of large arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import islice

_PART = 8_192


def percentiles(values: array[float], shares: Sequence[float]) -> list[float]:
    """Return percentiles by linear interpolation (Hyndman and Fan's type 7, numpy's default);
    values are moved.

    A million numbers are sorted in parts of their array, and merged: as a list they would take 32
    MiB, and a part takes 256 KiB.
    """
    parts = memoryview(values)
    for start in range(0, len(parts), _PART):
        parts[start : start + _PART] = array("d", sorted(parts[start : start + _PART]))
    places = [(len(parts) - 1) * share for share in shares]
    if len(parts) <= _PART:
        return [_between(parts, place) for place in places]
    ordered = merge(*(parts[start : start + _PART] for start in range(0, len(parts), _PART)))
    wanted = {end for place in places for end in (math.floor(place), math.ceil(place))}
    found = {
        place: value
        for place, value in enumerate(islice(ordered, max(wanted) + 1))
        if place in wanted
    }
    return [_between(found, place) for place in places]


def _between(values: Sequence[float] | Mapping[int, float], place: float) -> float:
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))

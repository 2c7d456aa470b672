"""Slices: the rows of one dataset, tag, length or depth, or of one value of any field.

A field that holds a list puts a row into the slice of each item. A number that takes many values is cut into quarters of the
rows.
``length`` is the examples' own field, or else the words of their context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.columns import grouped
from context_bench_compare.places import example_place
from context_bench_compare.verdicts import Pairs

MOST_VALUES = 8
"""A field of numbers with more values than this is cut into quarters."""

LARGEST = 1e300
"""Numbers from here on, and those that are none, are taken as texts."""


def slices_of(pairs: Pairs, run: Run, field: str) -> Iterator[tuple[str, Pairs]]:
    """Yield each slice of matched rows with its name, in the order of the run, or of the numbers.

    Raises:
        ConfigurationError: No example has the field.
    """
    own = [example_place(int(place)) for place in pairs.keys]
    told = grouped(run, own, field)
    if not any(value is not None for value in told.values()):
        raise ConfigurationError(f"No example has the field {field!r} to slice by.")
    names, ordered = _named(told)
    members: dict[str, list[int]] = {}
    for number, place in enumerate(own):
        for name in names.get(place, ("None",)):
            members.setdefault(name, []).append(number)
    for name in filter(members.__contains__, ordered or members):
        chosen = np.array(members[name], dtype=np.int64)
        clusters = None if pairs.clusters is None else pairs.clusters[chosen]
        keys = [int(pairs.keys[number]) for number in members[name]]
        ours, theirs, answered = pairs.ours[chosen], pairs.theirs[chosen], pairs.answered[chosen]
        examples = None if pairs.examples is None else pairs.examples[chosen]
        part = Pairs(
            ours,
            theirs,
            keys,
            answered,
            clusters,
            is_measure=pairs.is_measure,
            examples=examples,
            clustered_by=pairs.clustered_by,
        )
        yield f"{field}={name}", part


def _named(told: Mapping[int, Any]) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    """Return the names of the slices that each example belongs to, and their order; none for that of the run."""
    values = [value for value in told.values() if value is not None]
    if all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST
        for value in values
    ):
        return (
            _quarters(told)
            if len(set(values)) > MOST_VALUES
            else ({p: (f"{v}",) for p, v in told.items()}, [])
        )
    return {
        place: tuple(dict.fromkeys(map(str, value))) or ("None",)
        if isinstance(value, list | tuple)
        else (str(value),)
        for place, value in told.items()
    }, []


def _quarters(told: Mapping[int, Any]) -> tuple[dict[int, tuple[str, ...]], list[str]]:
    known = np.array([value for value in told.values() if value is not None], dtype=float)
    edges = np.unique(np.quantile(known, [0, 0.25, 0.5, 0.75, 1]))
    digits = next(
        digits
        for digits in range(6, 18)
        if len({f"{edge:.{digits}g}" for edge in edges}) == len(edges)
    )
    ends = [f"{edge:.{digits}g}" for edge in edges]
    names = [f"{low}\u2013{high}" for low, high in zip(ends, islice(ends, 1, None))]
    found: dict[int, tuple[str, ...]] = {}
    for place, value in told.items():
        if value is None:
            found[place] = ("None",)
            continue
        part = min(max(int(np.searchsorted(edges, value, side="left")), 1), len(edges) - 1)
        found[place] = (names[part - 1],)
    return found, [*names, "None"]

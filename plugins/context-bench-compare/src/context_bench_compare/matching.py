"""Matching: which rows two columns share, in one run by their place or across runs by their content, and which hang together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.columns import MEASURES, Column, content_places, grouped, told_of
from context_bench_compare.places import (
    dataset_at,
    example_at,
    example_place,
    example_places,
    place_of_content,
    sample_at,
)
from context_bench_compare.verdicts import Pairs

ALONE = "row"
"""Takes the place of a field where every example stands alone, whatever it shares with others."""


@frozen(eq=False)
class Hanging:
    """How rows hang together.

    Attributes:
        examples: Number of the example of each row, shape (rows,); None when no example was repeated.
        clusters: Number of the cluster of each row; None when every row stands alone.
        by: What clusters have in common, in words; empty where every row stands alone.
    """

    examples: NDArray[np.int64] | None
    clusters: NDArray[np.int64] | None
    by: str = ""


def paired(ours: Column, theirs: Column, cluster: str | None = None) -> Pairs:
    """Return the rows that two columns share, in the order of the second one's run."""
    is_across = ours.run is not theirs.run
    left, right = places_of(ours, is_across), places_of(theirs, is_across)
    _, at_left, at_right = np.intersect1d(left, right, return_indices=True)
    order = np.argsort(at_right)
    at_left, at_right = at_left[order], at_right[order]
    places = theirs.places[at_right]
    hanging = hanging_of(theirs.run, places, cluster)
    return Pairs(
        ours=ours.values[at_left],
        theirs=theirs.values[at_right],
        keys=places,
        answered=ours.answered[at_left] & theirs.answered[at_right],
        clusters=hanging.clusters,
        unmatched=len(left) + len(right) - 2 * len(at_left),
        labels=theirs.labels[at_right],
        datasets=dataset_at(ours.places[at_left]),
        is_measure=ours.metric in MEASURES,
        examples=hanging.examples,
        clustered_by=hanging.by,
    )


def places_of(column: Column, is_across: bool) -> NDArray[np.int64]:
    """Return what rows are matched by: their place within one run, their content across runs."""
    return _by_content(column) if is_across else column.places


def in_common(
    places: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return what all have in common, and where each has it, in the order of the last one's places."""
    shared = reduce(np.intersect1d, places)
    return shared, [
        np.argsort(own, kind="stable")[np.searchsorted(np.sort(own), shared)] for own in places
    ]


def values_at(column: Column, places: NDArray[np.int64], is_across: bool) -> NDArray[np.float64]:
    """Return the values of a column at places, shape (places,); nan where it has none."""
    own = places_of(column, is_across)
    order = np.argsort(own, kind="stable")
    found = order[np.minimum(np.searchsorted(own, places, sorter=order), len(own) - 1)]
    return np.where(own[found] == places, column.values[found], np.nan)


def _by_content(column: Column) -> NDArray[np.int64]:
    """Return what stands for the content and the sample of each row."""
    known = content_places(column.run)
    found = [
        place_of_content(known[example_place(place)], sample_at(place))
        for place in column.places.tolist()
    ]
    return np.array(found, dtype=np.int64)


def clusters_of(
    run: Run, places: NDArray[np.int64], cluster: str | None
) -> NDArray[np.int64] | None:
    """Return the number of each row's cluster; None when every row stands alone."""
    return hanging_of(run, places, cluster).clusters


def hanging_of(run: Run, places: NDArray[np.int64], cluster: str | None) -> Hanging:
    """Return how the rows at places hang together.

    Args:
        run: An open run.
        places: Packed places of rows.
        cluster: A field of the examples, ``id:SEPARATOR`` for the part of the id before it, or ``row`` for none; None takes the
            field ``cluster`` or ``session_id`` of each example, or else equal contexts.

    Raises:
        ConfigurationError: No example has the field.
    """
    examples = example_places(places)
    repeated = _numbered(examples) if _has_equal(examples) else None
    if cluster == ALONE:
        names: Mapping[int, Any] = {}
        by: tuple[str, ...] = ()
    elif cluster is not None:
        names = _cluster_names(run, examples, cluster)
        if not any(name is not None for name in names.values()):
            raise ConfigurationError(
                f"No example has the field {cluster!r}, by which rows should hang together."
            )
        by = (cluster,)
    else:
        names, by = _own_clusters(run, examples)
    known = {place: name for place, name in names.items() if name is not None}
    if len(set(map(repr, known.values()))) == len(known):  # no two examples share a cluster
        return Hanging(repeated, repeated, "example" if repeated is not None else "")
    return Hanging(repeated, _numbered(_named(examples, known)), " and ".join(by))


def _own_clusters(run: Run, examples: NDArray[np.int64]) -> tuple[dict[int, str], tuple[str, ...]]:
    """Return the clusters that the run file has of examples, by place, and the fields that they come from."""
    told = {
        example_at(identity): cluster for identity, cluster in told_of(run, run.shared_clusters())
    }
    found = _among(told, examples)
    used = {cluster.partition(":")[0] for cluster in found.values()}
    return found, tuple(sorted(used))


def _cluster_names(run: Run, examples: NDArray[np.int64], cluster: str) -> dict[int, Any]:
    if not cluster.startswith("id:"):
        return grouped(run, examples.tolist(), cluster)
    separator = cluster.removeprefix("id:") or "-"
    told = {
        example_at(example.identity): example.id.partition(separator)[0]
        for example in run.examples()
    }
    return _among(told, examples)


def _among(told: Mapping[int, Any], examples: NDArray[np.int64]) -> dict[int, Any]:
    """Return what is told of examples, by place."""
    if not told:
        return {}
    wanted = np.isin(np.fromiter(told, dtype=np.int64, count=len(told)), examples)
    return {place: name for (place, name), is_wanted in zip(told.items(), wanted) if is_wanted}


def _named(examples: NDArray[np.int64], names: Mapping[int, Any]) -> NDArray[np.int64]:
    """Return a number for each example: its place, or one below zero for all with the name that it has."""
    numbers: dict[str, int] = {}
    codes = [-1 - numbers.setdefault(repr(name), len(numbers)) for name in names.values()]
    places = np.fromiter(names, dtype=np.int64, count=len(names))
    order = np.argsort(places)
    at = order[np.minimum(np.searchsorted(places, examples, sorter=order), len(order) - 1)]
    return np.where(places[at] == examples, np.array(codes, dtype=np.int64)[at], examples)


def _has_equal(values: NDArray[np.int64]) -> bool:
    """Return whether two values are equal. Places of rows are in order as a rule, and then are not copied."""
    if bool((values[1:] < values[:-1]).any()):
        values = np.sort(values)
    return bool((values[1:] == values[:-1]).any())


def _numbered(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each value, counted from 0 in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[inverse.reshape(-1)]

"""Comparing runs: which rows two systems share, in one run or in two, and what each pair of columns says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run
from context_bench_compare.columns import MEASURES, Column, content_places, grouped, read_columns
from context_bench_compare.places import example_at, example_place, identity_of, sample_at
from context_bench_compare.verdicts import Comparison, Pairs, Rules, compare, corrected, incomparable

ALL_ROWS = "all"
"""Name of the slice that holds every row."""


@frozen
class Entrant:
    """One system of one run.

    Attributes:
        name: What it is called here: its label, with the run's name where two runs have it.
        run: Its run.
        system: Its label there.
    """

    name: str
    run: Run = field(eq=False)
    system: str


@frozen
class Line:
    """One line of a comparison.

    Attributes:
        system, baseline: Names of the two.
        metric: What is compared.
        slice: Name of the rows, :data:`ALL_ROWS` for all.
        found: What is known of the difference.
        flipped: Ids of the examples that improved and regressed, those of the first few, by which.
    """

    system: str
    baseline: str
    metric: str
    slice: str
    found: Comparison
    flipped: Mapping[str, tuple[str, ...]]


def entrants_of(runs: Sequence[Run]) -> list[Entrant]:
    """Return every system of the runs, with names of their own."""
    labels = [(run, str(system["label"])) for run in runs for system in run.systems]
    counts = [label for _, label in labels]
    return [
        Entrant(label if counts.count(label) == 1 else f"{run.path.stem}/{label}", run, label) for run, label in labels
    ]


def baseline_of(entrants: Sequence[Entrant], named: str | None) -> Entrant:
    """Return the entrant that the others are held against: the one named, the run's own baseline, or the first.

    Raises:
        UnknownNameError: None has that name.
    """
    if named is not None:
        found = [one for one in entrants if named in (one.name, one.system)]
        if not found:
            raise UnknownNameError("system of these runs", named, [one.name for one in entrants])
        return found[0]
    for one in entrants:
        if one.system in (one.run.request.get("baseline"), (one.run.request.get("request") or {}).get("baseline")):
            return one
    return entrants[0]


def compare_runs(
    runs: Sequence[Run],
    metrics: Sequence[str],
    rules: Rules,
    baseline: str | None = None,
    cluster: str | None = None,
    by: str | None = None,
    anyway: bool = False,
) -> list[Line]:
    """Return a line for each system, metric and slice, every one held against the baseline.

    Args:
        runs: Open runs; the rows of different runs are matched by their content.
        metrics: Scores and measures.
        rules: How they are judged; the direction of each metric is the metric's own.
        baseline: Name of the baseline; None takes the runs' own, or the first system.
        cluster: Field of the examples by which rows hang together, or ``id:SEPARATOR`` for the part of the id before it; None
            takes the examples' field ``cluster`` or ``session_id``, and several samples of one example together.
        by: Field of the examples by which rows are sliced besides; ``dataset`` for their label.
        anyway: Whether to compare what was scored or asked in different ways.

    Raises:
        ConfigurationError: There is only one system.
        UnknownNameError: A metric or the baseline is unknown.
    """
    entrants = entrants_of(runs)
    if len(entrants) < 2:
        raise ConfigurationError(
            f"{runs[0].path} holds one system only, so there is nothing to compare. Name a second run."
        )
    against = baseline_of(entrants, baseline)
    columns = {id(run): read_columns(run, metrics) for run in runs}
    lines: list[tuple[Line, Rules]] = []
    for one in entrants:
        if one is against:
            continue
        for metric in metrics:
            ours = columns[id(one.run)].get((one.system, metric))
            theirs = columns[id(against.run)].get((against.system, metric))
            lines += _compared(one, against, metric, ours, theirs, rules, cluster, by, anyway)
    judged = corrected([line.found for line, _ in lines], [rules for _, rules in lines])
    return [evolve(line, found=found) for (line, _), found in zip(lines, judged)]


def _compared(
    one: Entrant,
    against: Entrant,
    metric: str,
    ours: Column | None,
    theirs: Column | None,
    rules: Rules,
    cluster: str | None,
    by: str | None,
    anyway: bool,
) -> Iterator[tuple[Line, Rules]]:
    why = None if anyway else _difference_between(one, against, metric)
    if ours is None or theirs is None:
        lacking = (one if ours is None else against).name
        why = f"{lacking} has no value of {metric}"
    if why is not None:
        yield Line(one.name, against.name, metric, ALL_ROWS, incomparable(why), {}), rules
        return
    assert ours is not None
    assert theirs is not None
    rules = evolve(rules, better=ours.better)
    pairs = paired(ours, theirs, cluster)
    for name, chosen in _slices(pairs, against.run, by):
        found = compare(chosen, rules)
        flipped = {which: _ids(against.run, getattr(found, which)) for which in ("improved", "regressed")}
        yield Line(one.name, against.name, metric, name, found, flipped), rules


def paired(ours: Column, theirs: Column, cluster: str | None = None) -> Pairs:
    """Return the rows that two columns share, in the order of the second one's run."""
    left, right = ours.places, theirs.places
    if ours.run is not theirs.run:
        left, right = _by_content(ours), _by_content(theirs)
    _, at_left, at_right = np.intersect1d(left, right, return_indices=True)
    order = np.argsort(at_right)
    at_left, at_right = at_left[order], at_right[order]
    places = theirs.places[at_right]
    return Pairs(
        ours.values[at_left],
        theirs.values[at_right],
        places,
        ours.answered[at_left] & theirs.answered[at_right],
        clusters_of(theirs.run, places, cluster),
        len(left) + len(right) - 2 * len(at_left),
    )


def _by_content(column: Column) -> NDArray[np.int64]:
    """Return what stands for the content and the sample of each row."""
    known = content_places(column.run)
    found = [known[example_place(place)] * 128 + sample_at(place) % 128 for place in column.places.tolist()]
    return np.array(found, dtype=np.int64)


def clusters_of(run: Run, places: NDArray[np.int64], cluster: str | None) -> NDArray[np.int64] | None:
    """Return the number of each row's cluster; None when every row stands alone."""
    examples = [example_place(place) for place in places.tolist()]
    if cluster is not None:
        told = _cluster_names(run, examples, cluster)
        if not any(name is not None for name in told.values()):
            raise ConfigurationError(f"No example has the field {cluster!r}, by which rows should hang together.")
        return _numbered([told.get(place) if told.get(place) is not None else ("alone", place) for place in examples])
    for field_name in ("cluster", "session_id"):
        first = next(iter(run.examples()), None)
        if first is not None and first.content and field_name in first.content:
            return clusters_of(run, places, field_name)
    return _numbered(examples) if len(set(examples)) < len(examples) else None


def _cluster_names(run: Run, examples: Sequence[int], cluster: str) -> dict[int, Any]:
    if not cluster.startswith("id:"):
        return grouped(run, examples, cluster)
    separator = cluster.removeprefix("id:") or "-"
    wanted = set(examples)
    told = {example_at(example.identity): example.id.partition(separator)[0] for example in run.examples()}
    return {place: name for place, name in told.items() if place in wanted}


def _numbered(names: Sequence[Any]) -> NDArray[np.int64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(repr(name), len(numbers)) for name in names], dtype=np.int64)


def _slices(pairs: Pairs, run: Run, by: str | None) -> Iterator[tuple[str, Pairs]]:
    yield ALL_ROWS, pairs
    if by is None:
        return
    places = [int(place) for place in pairs.keys]
    told = grouped(run, places, by)
    examples = [example_place(place) for place in places]
    names = np.array([str(told.get(place)) for place in examples], dtype=object)
    for name in dict.fromkeys(names.tolist()):
        chosen = np.flatnonzero(names == name)
        clusters = None if pairs.clusters is None else pairs.clusters[chosen]
        keys = [places[number] for number in chosen]
        yield f"{by}={name}", Pairs(pairs.ours[chosen], pairs.theirs[chosen], keys, pairs.answered[chosen], clusters)


def _ids(run: Run, places: Sequence[Any], most: int = 20) -> tuple[str, ...]:
    return tuple(run.example(identity_of(int(place))).id for place in places[:most])


def _difference_between(one: Entrant, against: Entrant, metric: str) -> str | None:
    """Return why the values of two runs mean different things, or None when they do not."""
    if one.run is against.run or metric in MEASURES:
        return None
    keys = {str(entry["id"]): (entry["key"], entry["provenance"]) for entry in one.run.evaluators}
    for entry in against.run.evaluators:
        other = keys.get(str(entry["id"]))
        if other is not None and other[0] != entry["key"]:
            return (
                f"{entry['id']} scored the two runs in different versions or with different options. "
                f"Score one again: context-bench rescore {one.run.path}"
            )
    ours, theirs = _layout(one), _layout(against)
    if ours != theirs:
        return f"{one.name} was asked with layout {ours}, {against.name} with {theirs}; --anyway compares them all the same"
    return None


def _layout(entrant: Entrant) -> str | None:
    """Return the layout in which a system was asked, None where it has none."""
    [system] = [found for found in entrant.run.systems if found["label"] == entrant.system]
    parameters = system["description"].get("parameters") or system["description"].get("options") or {}
    found = parameters.get("layout") if isinstance(parameters, Mapping) else None
    return None if found is None else str(found)

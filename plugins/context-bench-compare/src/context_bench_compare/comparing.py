"""Comparing runs: which rows two systems share, in one run or in two, and what each pair of columns says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run
from context_bench_compare.averages import RATIOS, Macro, Ratio, macro_average, ratio_between
from context_bench_compare.columns import MEASURES, Column, content_places, grouped, read_columns
from context_bench_compare.pareto import Front, front_of
from context_bench_compare.places import dataset_at, example_at, example_place, identity_of, sample_at
from context_bench_compare.slices import slices_of
from context_bench_compare.verdicts import (
    INCOMPARABLE,
    Comparison,
    Pairs,
    Rules,
    compare,
    corrected,
    incomparable,
)

ALL_ROWS = "all"
"""Name of the slice that holds every row."""

COSTS = ("cost", "prompt_tokens", "latency")
"""What a row can cost, the most telling first: the front is drawn over the first that every system has."""

_BESIDES = (*COSTS, "input_tokens", "output_tokens")

Columns = Mapping[int, Mapping[tuple[str, str], Column]]
"""Columns by the identity of their run, then by label and metric."""


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
        macro: The average over datasets, each with the same weight; None for a slice, and where there is one dataset.
    """

    system: str
    baseline: str
    metric: str
    slice: str
    found: Comparison
    flipped: Mapping[str, tuple[str, ...]]
    macro: Macro | None = None


@frozen
class Overview:
    """Everything that a comparison tells.

    Attributes:
        lines: Each system against the baseline, by metric and slice.
        ratios: Ratios of sums of each system and the baseline, where the rows hold what is summed.
        front: Quality against cost; None where no cost is known of every system.
    """

    lines: tuple[Line, ...]
    ratios: tuple[Ratio, ...] = ()
    front: Front | None = None


def entrants_of(runs: Sequence[Run], also: Collection[str | None] = ()) -> list[Entrant]:
    """Return every system of the runs, with names of their own.

    What is derived from a system's rows, as a control is, competes with nobody and passes no gate, unless ``also`` names it.
    """
    labels = [
        (run, str(system["label"]))
        for run in runs
        for system in run.systems
        if "derived" not in system["description"] or system["label"] in also
    ]
    counts = [label for _, label in labels]
    return [
        Entrant(label if counts.count(label) == 1 else f"{run.path.stem}/{label}", run, label) for run, label in labels
    ]


def baseline_of(entrants: Sequence[Entrant], named: str | None, of: Run | None = None) -> Entrant:
    """Return the entrant that the others are held against: the one named, the run's own baseline, or the first.

    Args:
        entrants: Who is compared.
        named: A name or label; None goes by the runs.
        of: The run that it must be of; None takes any.

    Raises:
        UnknownNameError: None has that name.
    """
    if named is not None:
        found = [one for one in entrants if named in (one.name, one.system)]
        if not found:
            raise UnknownNameError("system of these runs", named, [one.name for one in entrants])
        return found[0]
    entrants = [one for one in entrants if of in (None, one.run)]
    return next(filter(is_own_baseline, entrants), entrants[0])


def is_own_baseline(one: Entrant) -> bool:
    """Return whether a system is what the others of its run are held against."""
    return one.system in (one.run.request.get("baseline"), (one.run.request.get("request") or {}).get("baseline"))


def paired_baseline(one: Entrant, against: Entrant, entrants: Sequence[Entrant]) -> Entrant:
    """Return what an entrant is held against: of a run that has several baselines, that with its own parameters."""
    slots = {entry["label"]: entry for entry in one.run.systems}
    if one.run is not against.run or not slots[against.system]["description"].get("baseline"):
        return against
    labels = {entry["slot"]: label for label, entry in slots.items()}
    held = labels.get(slots[one.system]["description"].get("held_against"))
    return next((other for other in entrants if other.run is one.run and other.system == held), against)


def compare_runs(
    runs: Sequence[Run],
    metrics: Sequence[str],
    rules: Rules,
    baseline: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] | None = None,
    anyway: bool = False,
) -> list[Line]:
    """Return a line for each system, metric and slice, every one held against the baseline: see :func:`overview`."""
    fields = [by] if isinstance(by, str) else list(by or ())
    entrants, against = contestants(runs, baseline)
    columns = {id(run): read_columns(run, metrics) for run in runs}
    return _lines(entrants, against, columns, metrics, rules, cluster, fields, anyway)


def overview(
    runs: Sequence[Run],
    metrics: Sequence[str],
    rules: Rules,
    baseline: str | None = None,
    cluster: str | None = None,
    by: Sequence[str] = (),
    anyway: bool = False,
) -> Overview:
    """Return every system held against the baseline, ratios of sums, and the Pareto front of the first metric.

    Args:
        runs: Open runs; the rows of different runs are matched by their content.
        metrics: Scores and measures.
        rules: How they are judged; the direction of each metric is the metric's own.
        baseline: Name of the baseline; None takes the runs' own, or the first system.
        cluster: Field of the examples by which rows hang together, or ``id:SEPARATOR`` for the part of the id before it; None
            takes the examples' field ``cluster`` or ``session_id``, and several samples of one example together.
        by: What rows are sliced by besides: ``dataset`` for its label, or a field of the examples; see
            :mod:`~context_bench_compare.slices`.
        anyway: Whether to compare what was scored or asked in different ways.

    Raises:
        ConfigurationError: There is only one system, or no example has a field.
        UnknownNameError: A metric or the baseline is unknown.
    """
    entrants, against = contestants(runs, baseline)
    columns = {id(run): read_columns(run, metrics, None, _BESIDES) for run in runs}
    lines = _lines(entrants, against, columns, metrics, rules, cluster, list(by), anyway)
    incompatible = {line.system for line in lines if line.found.word == INCOMPARABLE}
    sound = [one for one in entrants if one.name not in incompatible]
    ratios = _ratios(sound, against, columns, metrics[0], rules, cluster)
    return Overview(tuple(lines), tuple(ratios), _front(sound, columns, metrics[0], rules, cluster))


def contestants(runs: Sequence[Run], baseline: str | None) -> tuple[list[Entrant], Entrant]:
    """Return every system of the runs, and the one that the others are held against.

    Raises:
        ConfigurationError: There is only one system.
        UnknownNameError: The baseline is unknown.
    """
    entrants = entrants_of(runs, [baseline])
    if len(entrants) < 2:
        raise ConfigurationError(
            f"{runs[0].path} holds one system only, so there is nothing to compare. Name a second run."
        )
    return entrants, baseline_of(entrants, baseline)


def _lines(
    entrants: Sequence[Entrant],
    against: Entrant,
    columns: Columns,
    metrics: Sequence[str],
    rules: Rules,
    cluster: str | None,
    by: Sequence[str],
    anyway: bool,
) -> list[Line]:
    lines: list[tuple[Line, Rules]] = []
    for one in entrants:
        other = paired_baseline(one, against, entrants)
        for metric in metrics if one is not against and other is not one else ():
            ours, theirs = _column(columns, one, metric), _column(columns, other, metric)
            lines += _compared(one, other, metric, ours, theirs, rules, cluster, by, anyway)
    judged = corrected([line.found for line, _ in lines], [rules for _, rules in lines])
    return [evolve(line, found=found) for (line, _), found in zip(lines, judged)]


def _column(columns: Columns, one: Entrant, metric: str) -> Column | None:
    return columns[id(one.run)].get((one.system, metric))


def _ratios(
    entrants: Sequence[Entrant],
    against: Entrant,
    columns: Columns,
    metric: str,
    rules: Rules,
    cluster: str | None,
) -> Iterator[Ratio]:
    for one in entrants:
        for name, parts in RATIOS.items() if one is not against else ():
            found = [
                _column(columns, who, metric if part == "pass" else part) for who in (one, against) for part in parts
            ]
            if any(column is None for column in found):
                continue
            known = [column for column in found if column is not None]
            places = [places_of(column, one.run is not against.run) for column in known]
            shared, at = in_common(places)
            if not len(shared):
                continue
            values = [column.values[where] for column, where in zip(known, at)]
            clusters = clusters_of(known[2].run, known[2].places[at[2]], cluster)
            judged_by = evolve(rules, better=known[1].better)
            ratio = ratio_between((one.name, against.name), name, values, clusters, judged_by)
            if ratio is not None:
                yield ratio


def _front(
    entrants: Sequence[Entrant], columns: Columns, metric: str, rules: Rules, cluster: str | None
) -> Front | None:
    measure = next(
        (name for name in COSTS if name != metric and all(_column(columns, one, name) for one in entrants)), None
    )
    if measure is None or len(entrants) < 2:
        return None
    both = [column for name in (metric, measure) for one in entrants if (column := _column(columns, one, name))]
    across = any(one.run is not entrants[0].run for one in entrants)
    shared, at = in_common([places_of(column, across) for column in both])
    if not len(shared) or len(both) < 2 * len(entrants):
        return None
    values = [column.values[where] for column, where in zip(both, at)]
    clusters = clusters_of(both[0].run, both[0].places[at[0]], cluster)
    names = [one.name for one in entrants]
    points = front_of(names, values[: len(names)], values[len(names) :], both[0].better, clusters, rules.seed)
    return Front(metric, measure, len(shared), points, both[0].better)


def _compared(
    one: Entrant,
    against: Entrant,
    metric: str,
    ours: Column | None,
    theirs: Column | None,
    rules: Rules,
    cluster: str | None,
    by: Sequence[str],
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
    for name, chosen in ((ALL_ROWS, pairs), *(part for one_of in by for part in slices_of(pairs, against.run, one_of))):
        found = compare(chosen, rules)
        flipped = {which: _ids(against.run, getattr(found, which)) for which in ("improved", "regressed")}
        yield Line(one.name, against.name, metric, name, found, flipped, _macro(chosen, rules)), rules


def _macro(pairs: Pairs, rules: Rules) -> Macro | None:
    if pairs.labels is None:
        return None
    labels = pairs.labels.astype(np.int64)
    return macro_average(pairs.ours, pairs.theirs, labels, pairs.clusters, rules.confidence)


def paired(ours: Column, theirs: Column, cluster: str | None = None) -> Pairs:
    """Return the rows that two columns share, in the order of the second one's run."""
    is_across = ours.run is not theirs.run
    left, right = places_of(ours, is_across), places_of(theirs, is_across)
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
        theirs.labels[at_right],
        dataset_at(ours.places[at_left]),
    )


def places_of(column: Column, is_across: bool) -> NDArray[np.int64]:
    """Return what rows are matched by: their place within one run, their content across runs."""
    return _by_content(column) if is_across else column.places


def in_common(places: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return what all have in common, and where each has it, in the order of the last one's places."""
    shared = reduce(np.intersect1d, places)
    return shared, [np.argsort(own, kind="stable")[np.searchsorted(np.sort(own), shared)] for own in places]


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

"""Comparing runs: what each pair of columns says of two systems, in one run or in two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.averages import RATIOS, Macro, Ratio, macro_average, ratio_between
from context_bench_compare.columns import MEASURES, Column, currency_of, read_columns
from context_bench_compare.entrants import (
    Entrant,
    contestants,
    difference_between,
    paired_baseline,
    scored_otherwise,
)
from context_bench_compare.families import PRIMARY, SCORES, SLICES, SYSTEMS
from context_bench_compare.matching import clusters_of, in_common, paired, places_of, values_at
from context_bench_compare.pareto import Front, front_of
from context_bench_compare.places import identity_of
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
class Line:
    """One line of a comparison.

    Attributes:
        system, baseline: Names of the two.
        metric: What is compared.
        slice: Name of the rows, :data:`ALL_ROWS` for all.
        found: What is known of the difference.
        flipped: Ids of the examples that improved and regressed, those of the first few, by which.
        macro: The average over datasets, each with the same weight; None for a slice, and where there is one dataset.
        others: Ids of the evaluators that scored the two in different ways, and give nothing of this.
    """

    system: str
    baseline: str
    metric: str
    slice: str
    found: Comparison
    flipped: Mapping[str, tuple[str, ...]]
    macro: Macro | None = None
    others: tuple[str, ...] = ()


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
        cluster: Field of the examples by which rows hang together, ``id:SEPARATOR`` for the part of the id before it, or ``row``
            for none; None takes the examples' field ``cluster`` or ``session_id``, or else equal contexts. Several samples of one
            example always hang together.
        by: What rows are sliced by besides: ``dataset`` for its label, or a field of the examples; see
            :mod:`~context_bench_compare.slices`.
        anyway: Whether to compare what was scored or asked in different ways.

    Raises:
        ConfigurationError: There is only one system, or no example has a field.
        UnknownNameError: A metric or the baseline is unknown.
    """
    metrics, by = (tuple(dict.fromkeys(several)) for several in (metrics, by))
    if not metrics:
        raise ConfigurationError("There is nothing to compare by: name a score, such as score.")
    entrants, against = contestants(runs, baseline)
    columns = {id(run): read_columns(run, metrics, None, _BESIDES) for run in runs}
    lines = _lines(entrants, against, columns, metrics, rules, cluster, by, anyway)
    incompatible = {line.system for line in lines if line.found.word == INCOMPARABLE}
    sound = [one for one in entrants if one.name not in incompatible]
    ratios = _ratios(sound, against, columns, metrics[0], rules, cluster)
    return Overview(tuple(lines), tuple(ratios), _front(sound, columns, metrics[0], rules, cluster))


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
            family = PRIMARY if not lines else SYSTEMS if metric == metrics[0] else SCORES
            how = _How(rules, family, cluster, tuple(by), anyway)
            lines += _compared(one, other, metric, ours, theirs, how)
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
            if parts[1] == "pass" and metric in MEASURES:  # no row passes by what it costs
                continue
            found = [
                _column(columns, who, metric if part == "pass" else part)
                for who in (one, against)
                for part in parts
            ]
            known = [column for column in found if column is not None]
            if len(known) < len(found) or not all(map(_are_alike, zip(known, known[2:]))):
                continue
            if parts[1] == "pass":
                known = [
                    column.passed(rules.threshold) if place % 2 else column
                    for place, column in enumerate(known)
                ]
            places = [places_of(column, one.run is not against.run) for column in known]
            shared, at = in_common(places)
            if not len(shared):
                continue
            values = [column.values[where] for column, where in zip(known, at)]
            clusters = clusters_of(known[2].run, known[2].places[at[2]], cluster)
            judged_by = evolve(rules, better="higher", threshold=0.5)
            ratio = ratio_between((one.name, against.name), name, values, clusters, judged_by)
            if ratio is not None:
                yield evolve(ratio, unit=currency_of(one.run) if parts[0] == "cost" else "")


def _are_alike(columns: Sequence[Column]) -> bool:
    """Return whether the values of all columns are in one unit, and counted alike."""
    return len(frozenset[str]().union(*(column.units for column in columns))) <= 1


def _front(
    entrants: Sequence[Entrant], columns: Columns, metric: str, rules: Rules, cluster: str | None
) -> Front | None:
    measure = next(
        (name for name in COSTS if name != metric and _has_all(entrants, columns, name)), None
    )
    if measure is None or len(entrants) < 2:
        return None
    scored = [column for one in entrants if (column := _column(columns, one, metric))]
    billed = [column for one in entrants if (column := _column(columns, one, measure))]
    across = any(one.run is not entrants[0].run for one in entrants)
    shared, at = in_common([places_of(column, across) for column in scored])
    if not len(shared) or len(scored) < len(entrants) or scored[0].better in ("neither", "mixed"):
        return None
    scores = [column.values[where] for column, where in zip(scored, at)]
    costs = [values_at(column, shared, across) for column in billed]
    known = int(np.isfinite(costs).all(axis=0).sum())
    if not known:
        return None
    clusters = clusters_of(scored[0].run, scored[0].places[at[0]], cluster)
    points = front_of(
        [one.name for one in entrants], scores, costs, scored[0].better, clusters, rules.seed
    )
    unit = {"cost": currency_of(entrants[0].run), "latency": "s"}.get(measure, "")
    return Front(metric, measure, len(shared), points, scored[0].better, known, unit)


def _has_all(entrants: Sequence[Entrant], columns: Columns, measure: str) -> bool:
    """Return whether a measure is known of all systems, and of all in one unit."""
    found = [column for one in entrants if (column := _column(columns, one, measure))]
    return len(found) == len(entrants) and _are_alike(found)


@frozen
class _How:
    """How two columns are compared.

    Attributes:
        rules: How the difference is judged.
        family: Of the comparison over all rows.
        cluster, by, anyway: As for :func:`overview`.
    """

    rules: Rules
    family: str
    cluster: str | None
    by: tuple[str, ...]
    anyway: bool


def _compared(
    one: Entrant,
    against: Entrant,
    metric: str,
    ours: Column | None,
    theirs: Column | None,
    how: _How,
) -> Iterator[tuple[Line, Rules]]:
    blank = Line(one.name, against.name, metric, ALL_ROWS, incomparable(""), {})
    if ours is None or theirs is None:
        lacking = (one if ours is None else against).name
        yield evolve(blank, found=incomparable(f"{lacking} has no value of {metric}")), how.rules
        return
    why = None if how.anyway else difference_between(one, against, ours, theirs)
    if why is not None:
        yield evolve(blank, found=incomparable(why)), how.rules
        return
    if not how.anyway and metric not in MEASURES:
        blank = evolve(blank, others=tuple(scored_otherwise(one, against)))
    pairs = paired(ours, theirs, how.cluster)
    parts = [(ALL_ROWS, pairs)]
    for field in how.by:
        parts += slices_of(pairs, against.run, field)
    for name, chosen in parts:
        own = None
        if name.startswith("dataset="):
            own = ours.directions.get(name.removeprefix("dataset="))
        rules = evolve(how.rules, better=own or ours.better)
        found = compare(chosen, rules, how.family if name == ALL_ROWS else SLICES)
        flipped = {
            which: _ids(against.run, getattr(found, which)) for which in ("improved", "regressed")
        }
        line = evolve(blank, slice=name, found=found, flipped=flipped, macro=_macro(chosen, rules))
        yield line, rules


def _macro(pairs: Pairs, rules: Rules) -> Macro | None:
    if pairs.labels is None or rules.better in ("neither", "mixed"):
        return None
    labels = pairs.labels.astype(np.int64)
    return macro_average(
        pairs.ours, pairs.theirs, labels, pairs.clusters, rules.confidence, pairs.measured
    )


def _ids(run: Run, places: Sequence[Any], most: int = 20) -> tuple[str, ...]:
    return tuple(run.example(identity_of(int(place))).id for place in places[:most])

"""What the rows decide: every system against the baseline, with the statistics of context-bench-compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from context_bench.records import passes
from context_bench_compare.averages import RATIOS, Ratio, ratio_between
from context_bench_compare.columns import currency_of, threshold_of
from context_bench_compare.comparing import COSTS
from context_bench_compare.families import PRIMARY, SCORES, SLICES, SYSTEMS
from context_bench_compare.intervals import Interval
from context_bench_compare.matching import clusters_of
from context_bench_compare.pareto import Front, front_of
from context_bench_compare.verdicts import (
    INCOMPARABLE,
    Comparison,
    Pairs,
    Rules,
    compare,
    corrected,
    incomparable,
)
from context_bench_html.side_by_side import Cells, Floats, SideBySide, array_of

MOST_SCORES = 12
"""More scores than this are left out of the plot of differences; all stand in the table of scores."""


@frozen(eq=False)
class Difference:
    """A system held against the baseline.

    Attributes:
        system: Its label.
        of: What is compared: ``"score"``, the label of a dataset, or a score key.
        found: What is known of the difference.
    """

    system: str
    of: str
    found: Comparison

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval of the difference, None when there is none."""
        interval = self.found.interval
        return (interval.low, interval.high) if isinstance(interval, Interval) else None


@frozen(eq=False)
class Decision:
    """Everything that was compared.

    Attributes:
        primary_scores: The primary score over all rows, one for each system. The first is the primary comparison, and the
            others are corrected together, as ``compare`` does.
        datasets: The same by dataset, corrected together; empty with one dataset.
        scores: Further scores over all rows, corrected together.
    """

    primary_scores: tuple[Difference, ...] = ()
    datasets: tuple[Difference, ...] = ()
    scores: tuple[Difference, ...] = ()


@frozen(eq=False)
class Trade:
    """What the systems give for what they take.

    Attributes:
        front: Quality against cost; None where no cost is known of every system.
        ratios: Ratios of sums of each system and the baseline.
    """

    front: Front | None = None
    ratios: tuple[Ratio, ...] = ()


def decide(found: SideBySide, run: Any = None) -> Decision:
    """Return how the systems compare with the baseline.

    Args:
        found: The rows side by side.
        run: The open run, which tells which rows hang together; None takes repetitions of one example together.
    """
    if found.baseline is None:
        return Decision()
    clusters = _clusters(found, run)
    rules = _rules(found.better, run)
    everywhere = np.ones(len(found.lines), dtype=bool)
    names = found.datasets if len(found.datasets) > 1 else []
    keys = found.keys[:MOST_SCORES] if len(found.keys) > 1 else []
    systems = [cells for _, cells in found.others()]
    primary_scores = [
        _Wanted(cells, "score", None, everywhere, rules, SYSTEMS if number else PRIMARY)
        for number, cells in enumerate(systems)
    ]
    own = {name: _rules(found.directions.get(name, found.better), run) for name in names}
    by_dataset = [
        _Wanted(cells, name, None, found.lines.are_of(name), own[name], SLICES)
        for name in names
        for cells in systems
    ]
    directions = {key: _rules(found.key_directions.get(key, "higher"), run) for key in keys}
    scores = [
        _Wanted(cells, key, key, everywhere, directions[key], SCORES)
        for key in keys
        for cells in systems
    ]
    theirs = found.cells[found.baseline]
    told = _compared(theirs, [*primary_scores, *by_dataset, *scores], clusters)
    first, second = len(primary_scores), len(primary_scores) + len(by_dataset)
    return Decision(told[:first], told[first:second], told[second:])


def _rules(better: str, run: Any) -> Rules:
    return (
        Rules(better=better) if run is None else Rules(better=better, threshold=threshold_of(run))
    )


class _Wanted(NamedTuple):
    """One comparison to make: a system, what it is called, the score key (None: the primary score), which lines, how, and
    with which others it is corrected."""

    cells: Cells
    of: str
    key: str | None
    chosen: NDArray[np.bool_]
    rules: Rules
    family: str


def _compared(
    theirs: Cells, wanted: Sequence[_Wanted], clusters: NDArray[np.int64] | None
) -> tuple[Difference, ...]:
    told = [Difference(one.cells.label, one.of, _pair(one, theirs, clusters)) for one in wanted]
    judged = corrected([one.found for one in told], [one.rules for one in wanted])
    return tuple(evolve(one, found=comparison) for one, comparison in zip(told, judged))


def _pair(wanted: _Wanted, theirs: Cells, clusters: NDArray[np.int64] | None) -> Comparison:
    mine, other = (_values(cells, wanted.key) for cells in (wanted.cells, theirs))
    for cells, values in ((wanted.cells, mine), (theirs, other)):
        if np.isnan(values[wanted.chosen]).all():
            return incomparable(f"{cells.label} has no value of {wanted.key or 'the score'}")
    places = np.flatnonzero(wanted.chosen & ~np.isnan(mine) & ~np.isnan(other))
    either = int((wanted.chosen & (np.isnan(mine) != np.isnan(other))).sum())
    answered = ~(array_of(wanted.cells.failed) > 0)
    answered &= ~(array_of(theirs.failed) > 0)
    own = None if clusters is None else clusters[places]
    if len(places) < len(mine):
        mine, other, answered = mine[places], other[places], answered[places]
    pairs = Pairs(mine, other, places, answered, own, either)
    return compare(pairs, wanted.rules, wanted.family)


def _values(cells: Cells, key: str | None) -> Floats:
    if key is None:
        return array_of(cells.values)
    return array_of(cells.scores.get(key, [None] * len(cells.values)))


def trade(found: SideBySide, run: Any = None) -> Trade:
    """Return what the systems give for what they take, by the rows that all of them have."""
    clusters, rules = _clusters(found, run), evolve(_rules("higher", run), threshold=0.5)
    currency = "" if run is None else currency_of(run)
    ratios: list[Ratio] = []
    for _, cells in found.others() if found.baseline is not None else ():
        for name, parts in RATIOS.items():
            who = (cells, found.cells[found.baseline or 0])
            if any(_is_unknown(one, part) for one in who for part in parts):
                continue
            both = [
                _passed(found, one, run) if part == "pass" else _measured(one, part)
                for one in who
                for part in parts
            ]
            known = _known(both)
            names = (cells.label, found.cells[found.baseline or 0].label)
            own = None if clusters is None else clusters[known]
            if not known.all():
                both = [column[known] for column in both]
            ratio = ratio_between(names, name, both, own, rules)
            ratios += (
                []
                if ratio is None
                else [evolve(ratio, unit=currency if parts[0] == "cost" else "")]
            )
    return Trade(_front(found, clusters, currency), tuple(ratios))


def _front(found: SideBySide, clusters: NDArray[np.int64] | None, currency: str) -> Front | None:
    scored = [
        cells for cells in found.competing if any(value is not None for value in cells.values)
    ]
    scores = [_measured(cells, "pass") for cells in scored]
    valued = _known(scores) if scored else np.zeros(0, dtype=bool)
    units = {"cost": currency, "latency": "s"}
    for measure in COSTS if len(scored) > 1 and found.better in ("higher", "lower") else ():
        if (
            measure == "prompt_tokens"
            and len(set[str]().union(*(cells.counted for cells in scored))) > 1
        ):
            continue  # counts from different sources are not ranked
        if any(_is_unknown(cells, measure) for cells in scored):
            continue
        costs = [_chosen(_measured(cells, measure), valued) for cells in scored]
        known = int(_known(costs).sum())
        if known:
            own = None if clusters is None else clusters[valued]
            names = [cells.label for cells in scored]
            points = front_of(
                names, [_chosen(column, valued) for column in scores], costs, found.better, own
            )
            return Front(
                "score",
                measure,
                int(valued.sum()),
                points,
                found.better,
                known,
                units.get(measure, ""),
            )
    return None


def _known(columns: Sequence[Floats]) -> NDArray[np.bool_]:
    """Return on which lines all columns have a value."""
    known = np.isfinite(columns[0])
    for column in columns[1:]:
        known &= np.isfinite(column)
    return known


def _passed(found: SideBySide, cells: Cells, run: Any) -> Floats:
    """Return 1.0 for each line that passes and 0.0 for the others, by the direction of its dataset; nan without a score."""
    values, threshold = array_of(cells.values), _rules("higher", run).threshold
    is_lower = np.zeros(len(found.lines), dtype=bool)
    for name in found.datasets:
        if found.directions.get(name) == "lower":
            is_lower |= found.lines.are_of(name)
    passed = np.where(is_lower, passes(values, threshold, "lower"), passes(values, threshold))
    return np.where(np.isnan(values), np.nan, passed)


def _chosen(column: Floats, lines: NDArray[np.bool_]) -> Floats:
    """Return the values of some lines; not copied where these are all."""
    return column if lines.all() else column[lines]


def _is_unknown(cells: Cells, part: str) -> bool:
    """Return whether a system has a measure on no line."""
    return part != "pass" and getattr(cells, part).is_empty


def _measured(cells: Cells, part: str) -> Floats:
    return array_of(cells.values if part == "pass" else getattr(cells, part))


def _clusters(found: SideBySide, run: Any) -> NDArray[np.int64] | None:
    places = found.lines.places
    if run is not None:
        return clusters_of(run, places, None)
    numbers: dict[tuple[Any, ...], int] = {}
    own = [
        numbers.setdefault((line.dataset, *line.identity[:2]), len(numbers)) for line in found.lines
    ]
    return np.array(own, dtype=np.int64) if len(numbers) < len(own) else None


__all__ = ["INCOMPARABLE", "Decision", "Difference", "Trade", "decide", "trade"]

"""The scorecard: one line a system, with what it kept, what it broke, and what that is worth against chance."""

from __future__ import annotations

import statistics
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from context_bench.runs import Run
from context_bench_controls.measuring import Held, answered_rows, held
from context_bench_controls.summing import Line, lines_of

SCORES = (
    "survival_needed",
    "survival_all",
    "recoverable_needed",
    "recoverable_all",
    "bound",
    "invented",
    "pair_faults",
    "role_changes",
    "unredeemable_markers",
    "recall",
    "recall_corrected",
    "next_action_target",
    "next_action_aa",
    "prefix_kept",
    "re_reads",
)
"""Scores that a scorecard shows the mean of, where the run has them."""


@frozen
class Card:
    """One system.

    Attributes:
        system: Its label.
        rows: Rows with an output of a context.
        idle: Those in which it did nothing; they count nowhere else.
        tokens: Median of the region's tokens that it kept, with the first and the third quartile; None without rows.
        ratio: Median share of the region's tokens that it kept.
        scores: Means of :data:`SCORES` over the other rows that have them.
        cost: Mean cost of a session - the sum over its rows - in the run's currency; None where no row has one.
        needed, every: Its lines against chance, on the literals that were needed and on all.
    """

    system: str
    rows: int
    idle: int
    tokens: tuple[float, float, float] | None
    ratio: float | None
    scores: Mapping[str, float]
    cost: float | None
    needed: Line
    every: Line


@frozen(eq=False)
class Scored:
    """A row beside its controls, with what the run knows of it.

    Attributes:
        held: The row beside its controls.
        scores: Its scores.
        cost: What it cost; None where nobody knows.
    """

    held: Held
    scores: Mapping[str, float]
    cost: float | None


def cards_of(run: Run, seeds: int, confidence: float = 0.95) -> list[Card]:
    """Return a card for each system of a run that put out a context.

    Args:
        run: The run; it must have kept its examples.
        seeds: Draws of the random control.
        confidence: Of the intervals.
    """
    return cards_from(list(scored_rows(run, seeds)), confidence)


def cards_from(scored: Sequence[Scored], confidence: float = 0.95) -> list[Card]:
    """Return a card for each system among rows."""
    lines = {
        (line.system, line.kind): line
        for line in lines_of([one.held for one in scored], confidence)
    }
    systems = dict.fromkeys(one.held.system for one in scored)
    return [
        _card(
            [one for one in scored if one.held.system == name],
            lines[name, "needed"],
            lines[name, "all"],
        )
        for name in systems
    ]


def scored_rows(run: Run, seeds: int) -> Iterator[Scored]:
    """Yield the rows of a run's compressors, each beside its controls; their outputs are not kept."""
    for example, row in answered_rows(run):
        found = held(example.content, row.output, row.system, example.id, seeds)
        if found is not None:
            yield Scored(found, dict(row.scores), row.cost)


def _card(scored: Sequence[Scored], needed: Line, every: Line) -> Card:
    acting = [one for one in scored if not one.held.is_idle]
    kept = sorted(one.held.ratio * one.held.tokens for one in acting)
    scores = {}
    for key in SCORES:
        values = [one.scores[key] for one in acting if key in one.scores]
        if values:
            scores[key] = statistics.fmean(values)
    costs: dict[str, float] = {}
    for one in scored:
        if one.cost is not None:
            costs[one.held.cluster] = costs.get(one.held.cluster, 0.0) + one.cost
    return Card(
        system=needed.system,
        rows=len(scored),
        idle=len(scored) - len(acting),
        tokens=None
        if not kept
        else (_quantile(kept, 0.25), statistics.median(kept), _quantile(kept, 0.75)),
        ratio=needed.ratio if needed.ratio is not None else every.ratio,
        scores=scores,
        cost=statistics.fmean(costs.values()) if costs else None,
        needed=needed,
        every=every,
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@frozen
class Draws:
    """Systems that differ in their seed alone: repetitions of one setting.

    Attributes:
        systems: Their labels, in the order of the run.
        kind: ``needed`` or ``all``.
        kept: Mean of the shares of literals that they kept.
        spread: Sample standard deviation of those shares.
        advantage: Mean of their advantages over random deletion.
        advantage_spread: Sample standard deviation of the advantages.
    """

    systems: tuple[str, ...]
    kind: str
    kept: float
    spread: float
    advantage: float
    advantage_spread: float


@frozen
class Point:
    """One setting of a sweep; of systems that differ in their seed alone, the mean.

    Attributes:
        setting: Value of the option.
        ratio: Share of the tokens that was kept.
        kept: Share of the literals that was kept.
        random: What deletion at random kept at as many tokens.
        systems: Labels of the systems with that setting.
    """

    setting: float
    ratio: float
    kept: float
    random: float
    systems: tuple[str, ...] = ()


@frozen
class Curve:
    """A sweep: one system at several settings.

    Attributes:
        system: What the settings have in common.
        option: The option that differs.
        kind: ``needed`` or ``all``.
        points: In the order of the tokens kept.
        area: Mean advantage over random between the least and the most tokens kept: the area between the curve and that of
            random, by its width.
    """

    system: str
    option: str
    kind: str
    points: Sequence[Point]
    area: float


def curves_of(run: Run, cards: Sequence[Card]) -> list[Curve]:
    """Return the sweeps among the systems of a run: same system, same options but for one number.

    A seed is no such number: systems that differ in it are one setting, several times.
    """
    known = {card.system: card for card in cards}
    groups: dict[tuple[str, _Settings], dict[str, float]] = {}
    for label, own in _settings(run, known).items():
        for option, value in own.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                rest = frozenset((name, repr(one)) for name, one in own.items() if name != option)
                groups.setdefault((option, rest), {})[label] = float(value)
    found = []
    for (option, _), members in groups.items():
        if len(set(members.values())) >= 2:
            found += list(_curves(option, members, known))
    return found


def draws_of(run: Run, cards: Sequence[Card]) -> list[Draws]:
    """Return the groups of systems of a run that differ in their seed alone, for both kinds of literals."""
    known = {card.system: card for card in cards}
    found = []
    for labels in groups_of_draws(run, known):
        for kind in ("needed", "all"):
            lines = [line_of(known[label], kind) for label in labels]
            kept = [line.kept for line in lines if line.kept is not None]
            advantages = [line.advantage for line in lines if line.advantage is not None]
            if len(kept) == len(advantages) == len(labels) > 1:
                found.append(
                    Draws(
                        labels,
                        kind,
                        statistics.fmean(kept),
                        statistics.stdev(kept),
                        statistics.fmean(advantages),
                        statistics.stdev(advantages),
                    )
                )
    return found


def groups_of_draws(run: Run, labels: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the labels of systems in groups that differ in their seed alone; a system without such others is alone."""
    groups: dict[_Settings, list[str]] = {}
    for label, own in _settings(run, set(labels)).items():
        groups.setdefault(frozenset((name, repr(one)) for name, one in own.items()), []).append(
            label
        )
    return [tuple(group) for group in groups.values()]


def line_of(card: Card, kind: str) -> Line:
    """Return the line of a card for one kind of literals."""
    return card.needed if kind == "needed" else card.every


_Settings = frozenset[tuple[str, str]]


def _settings(run: Run, labels: Container[str]) -> dict[str, dict[str, Any]]:
    """Return the options of the systems with these labels, seeds left out."""
    return {
        entry["label"]: {
            name: value
            for name, value in _flat(entry["description"]).items()
            if name.rpartition(".")[2] != "seed"
        }
        for entry in run.systems
        if entry["label"] in labels
    }


def _curves(
    option: str, members: Mapping[str, float], known: Mapping[str, Card]
) -> Iterator[Curve]:
    for kind in ("needed", "all"):
        by_setting: dict[float, list[Line]] = {}
        for label, setting in members.items():
            line = line_of(known[label], kind)
            if line.ratio is not None and line.kept is not None:
                by_setting.setdefault(setting, []).append(line)
        points = sorted(
            (_point(setting, lines) for setting, lines in by_setting.items()),
            key=lambda point: (point.ratio, point.setting),
        )
        width = points[-1].ratio - points[0].ratio if points else 0.0
        if width > 0:
            name = next(iter(members)).partition(":")[0]
            yield Curve(name, option.rpartition(".")[2], kind, points, area_over_random(points))


def _point(setting: float, lines: Sequence[Line]) -> Point:
    return Point(
        setting,
        statistics.fmean(line.ratio or 0.0 for line in lines),
        statistics.fmean(line.kept or 0.0 for line in lines),
        statistics.fmean(line.controls["random"] for line in lines),
        tuple(line.system for line in lines),
    )


def area_over_random(points: Sequence[Point]) -> float:
    """Return the area between the curve of a sweep and that of random, by the trapezoid rule, divided by its width.

    >>> area_over_random([Point(0.1, 0.1, 0.4, 0.2), Point(0.5, 0.5, 0.8, 0.6)])
    0.2
    """
    area = sum(
        (right.ratio - left.ratio) * (left.kept - left.random + right.kept - right.random) / 2
        for left, right in pairwise(points)
    )
    return round(area / (points[-1].ratio - points[0].ratio), 12)


def _flat(description: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return what makes a system what it is, by path: adapter and fingerprint, those of its steps too."""
    found: dict[str, Any] = {}
    steps = description.get("steps")
    for number, step in enumerate(steps if isinstance(steps, Sequence) else ()):
        found |= _flat(step, f"{path}{number}.")
    found[f"{path}adapter"] = description.get("adapter")
    fingerprint = description.get("fingerprint")
    for name, value in fingerprint.items() if isinstance(fingerprint, Mapping) else ():
        found[f"{path}{name}"] = value
    return found

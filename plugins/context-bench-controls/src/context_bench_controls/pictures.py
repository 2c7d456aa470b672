"""Pictures for reports: what was kept at the tokens kept, a dot a row, sweeps as curves, deletion at random beside them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.runs import Run
from context_bench_controls.choosing import SEEDS
from context_bench_controls.measuring import IDLE
from context_bench_controls.scorecard import (
    Card,
    Curve,
    Scored,
    cards_from,
    curves_of,
    groups_of_draws,
    scored_rows,
)
from context_bench_controls.summing import HEADINGS, Line, cells

DOTS = 600
"""Rows of a picture that have a dot; of more, every second, third and so on."""

EVALUATOR = "survival"
"""Only runs that asked it what survived are drawn."""

RECORDED = "recorded"
"""Adapter of the system that places the compaction which the agent really made."""

ACROSS = "share of the region's tokens that was kept"

Picture = dict[str, Any]


@frozen
class _Known:
    """What is known of the systems of a run.

    Attributes:
        curves: Its sweeps.
        draws: Labels in groups that differ in their seed alone.
        recorded: Labels of the compactions that agents really made.
    """

    curves: Sequence[Curve]
    draws: Sequence[tuple[str, ...]]
    recorded: set[str]

    def names(self, kind: str) -> dict[str, str]:
        """Return what the sweep is called that a system is a setting of; systems of two sweeps belong to the first."""
        found: dict[str, str] = {}
        for curve in self.curves:
            if curve.kind == kind:
                for label in (label for point in curve.points for label in point.systems):
                    found.setdefault(label, f"{curve.system}, by {curve.option}")
        return found


def pictures_of(run: Run, seeds: int = SEEDS) -> list[Picture]:
    """Return the pictures of a run whose rows were scored by ``survival``; none of any other run.

    Args:
        run: The run; it must have kept its examples.
        seeds: Draws of the random control.
    """
    if not any(_last(one["id"]) == EVALUATOR for one in run.evaluators):
        return []
    scored = list(scored_rows(run, seeds))
    cards = cards_from(scored)
    curves = curves_of(run, cards)
    draws = groups_of_draws(run, [card.system for card in cards])
    recorded = {
        one["label"] for one in run.systems if _last(one["description"].get("adapter")) == RECORDED
    }
    known = _Known(curves, draws, recorded)
    drawn = [_survival(kind, scored, cards, known) for kind in ("needed", "all")]
    return [
        picture for picture in (*drawn, _recall(run, scored, cards, known)) if picture is not None
    ]


def _last(identity: Any) -> str:
    """Return the short name of ``distribution/name``."""
    return str(identity).rpartition("/")[2]


def _survival(
    kind: str,
    scored: Sequence[Scored],
    cards: Sequence[Card],
    known: _Known,
) -> Picture | None:
    lines = {card.system: card.needed if kind == "needed" else card.every for card in cards}
    shown = {
        name: line
        for name, line in lines.items()
        if line.ratio is not None and line.kept is not None
    }
    if not shown:
        return None
    names = known.names(kind)
    dots = [
        (names.get(one.held.system, one.held.system), one.held.ratio, value, one.held.example_id)
        for one in scored
        if not one.held.is_idle and (value := one.held.values[kind]) is not None
    ]
    chance = sorted((line.ratio or 0.0, line.controls["random"]) for line in shown.values())
    points = {name: (line.ratio or 0.0, line.kept or 0.0) for name, line in shown.items()}
    areas = [
        f"{curve.system}, {curve.option}: {curve.area:+.4f}"
        for curve in known.curves
        if curve.kind == kind
    ]
    return {
        "title": f"Literals that were {'needed' if kind == 'needed' else 'there'}, at the tokens kept",
        "note": " ".join(
            [
                "Above the dashed line is better than deletion at random at the same tokens; a dot is a row.",
                *(
                    ["Area between a sweep and random, by its width: " + "; ".join(areas) + "."]
                    if areas
                    else []
                ),
                *_left_out(cards, shown, dots),
            ]
        ),
        "across": ACROSS,
        "up": f"share of the {'needed ' if kind == 'needed' else ''}literals that was kept",
        "series": [
            {
                "form": "reference",
                "name": "random",
                "points": _points([(0.0, 0.0), *chance, (1.0, 1.0)], "random"),
            },
            *_dots(dots),
            *_systems(points, known, kind),
        ],
        "headings": ["system", "rows", "tokens kept", "kept", "random", "advantage", "interval"],
        "lines": [_cells(line) for line in shown.values()],
    }


def _recall(
    run: Run,
    scored: Sequence[Scored],
    cards: Sequence[Card],
    known: _Known,
) -> Picture | None:
    """Return what a reader recalled, with ceiling and floor as levels and the controls that it was asked from; None without."""
    acting = [one for one in scored if not one.held.is_idle and "recall" in one.scores]
    if not acting:
        return None
    names = known.names("all")
    dots = [
        (
            names.get(one.held.system, one.held.system),
            one.held.ratio,
            one.scores["recall"],
            one.held.example_id,
        )
        for one in acting
    ]
    points = {
        card.system: (
            statistics.median(one.held.ratio for one in mine),
            statistics.fmean(one.scores["recall"] for one in mine),
        )
        for card in cards
        if (mine := [one for one in acting if one.held.system == card.system])
    }
    levels = [
        {"form": "level", "name": name, "points": _points([(0.0, statistics.fmean(values))], name)}
        for name in ("ceiling", "floor")
        if (
            values := [one.scores[key] for one in acting if (key := f"recall_{name}") in one.scores]
        )
    ]
    chance = sorted(_read_controls(run, acting))
    asked = (
        [{"form": "reference", "name": "random, asked too", "points": _points(chance, "random")}]
        if chance
        else []
    )
    return {
        "title": "Probes that the reader answers, at the tokens kept",
        "note": "The reader answers from what is left; the ceiling is what it answers from everything, the floor from head and "
        "tail alone.",
        "across": ACROSS,
        "up": "share of the probes that it answers right",
        "series": [*levels, *asked, *_dots(dots), *_systems(points, known, "all")],
        "headings": ["system", "tokens kept", "recall"],
        "lines": [
            [name, f"{ratio:.3f}", f"{recall:.4f}"] for name, (ratio, recall) in points.items()
        ],
    }


def _read_controls(run: Run, acting: Sequence[Scored]) -> Iterator[tuple[float, float]]:
    """Yield median ratio and mean recall of each random control that the reader was asked from."""
    tokens = {one.held.example_id: one.held.tokens for one in acting}
    found: dict[str, list[tuple[float, float]]] = {}
    derived = {entry["label"] for entry in run.systems if "derived" in entry["description"]}
    for row in run.rows() if derived else ():
        control = row.output.get("control") or {}
        is_random = (
            row.system in derived and control.get("name") == "random" and "tokens_kept" in control
        )
        if is_random and "recall" in row.scores and tokens.get(row.example_id):
            kept = control["tokens_kept"] / tokens[row.example_id]
            found.setdefault(row.system, []).append((kept, row.scores["recall"]))
    for values in found.values():
        yield (
            statistics.median(ratio for ratio, _ in values),
            statistics.fmean(recall for _, recall in values),
        )


def _systems(
    points: Mapping[str, tuple[float, float]], known: _Known, kind: str
) -> list[dict[str, Any]]:
    """Return the systems as series: the settings of a sweep joined, others alone, recorded compactions as marks.

    Systems that differ in their seed alone are one point, at their mean.
    """
    names = known.names(kind)
    joined: dict[str, list[dict[str, Any]]] = {}
    marks = set()
    for group in known.draws:
        labels = [label for label in group if label in points]
        if labels:
            name = names.get(labels[0], labels[0])
            joined.setdefault(name, []).append(_of_draws(labels, points))
            if known.recorded.issuperset(labels):
                marks.add(name)
    return [
        {
            "form": "mark" if name in marks else "curve",
            "name": name,
            "points": sorted(found, key=lambda point: (point["x"], point["y"])),
        }
        for name, found in joined.items()
    ]


def _of_draws(labels: Sequence[str], points: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return the point of a system, or of several that differ in their seed alone."""
    ratio = statistics.fmean(points[label][0] for label in labels)
    values = [points[label][1] for label in labels]
    value = statistics.fmean(values)
    told = f"{labels[0]}: {value:.4f} at {ratio:.1%} of the tokens"
    if len(labels) > 1:
        told += f", the mean of {len(labels)} draws with a standard deviation of {statistics.stdev(values):.4f}"
    return {"x": ratio, "y": value, "told": told}


def _dots(dots: Sequence[tuple[str, float, float, str]]) -> list[dict[str, Any]]:
    step = max(1, -(-len(dots) // DOTS))
    series: dict[str, list[dict[str, Any]]] = {}
    for name, ratio, value, example_id in dots[::step]:
        told = f"{example_id}: {value:.4f} at {ratio:.1%} of the tokens"
        series.setdefault(name, []).append({"x": ratio, "y": value, "told": told})
    return [{"form": "rows", "name": name, "points": points} for name, points in series.items()]


def _points(pairs: Sequence[tuple[float, float]], name: str) -> list[dict[str, Any]]:
    return [{"x": x, "y": y, "told": f"{name}: {y:.4f} at {x:.1%} of the tokens"} for x, y in pairs]


def _left_out(cards: Sequence[Card], shown: Mapping[str, Line], dots: Sequence[Any]) -> list[str]:
    told = [f"One row of {-(-len(dots) // DOTS)} has a dot."] if len(dots) > DOTS else []
    idle = [card.system for card in cards if card.rows == card.idle]
    if idle:
        told.append(
            f"Not drawn, for they kept more than {IDLE:.0%} of the tokens in every row: {', '.join(idle)}."
        )
    other = [card.system for card in cards if card.system not in shown and card.system not in idle]
    return [*told, *([f"Without such literals: {', '.join(other)}."] if other else [])]


def _cells(line: Line) -> list[str]:
    shown = dict(zip(HEADINGS, cells(line), strict=True))
    told = (f"{line.ratio or 0.0:.3f}", f"{line.kept or 0.0:.4f}", f"{line.controls['random']:.4f}")
    return [line.system, str(line.rows), *told, str(shown["advantage"]), str(shown["interval"])]

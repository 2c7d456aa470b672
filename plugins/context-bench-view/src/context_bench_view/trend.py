"""How the scores of a folder change from run to run: a line for each system that several runs of the same datasets have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from attrs import frozen
from markupsafe import Markup

if TYPE_CHECKING:
    from context_bench_view.folder import Listed

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT = 820, 220, 46, 14, 190
"""Sizes in pixels; the labels of the lines are on the right."""
_MOST_LINES = 8


@frozen
class Trend:
    """The trend of runs of the same datasets.

    Attributes:
        datasets: Labels of the datasets.
        names: Names of the runs, the oldest first.
        lines: Score in each run by the label of a system; None where the run does not have it.
    """

    datasets: str
    names: tuple[str, ...]
    lines: dict[str, tuple[float | None, ...]]


def trends_of(runs: Sequence[Listed]) -> list[Trend]:
    """Return the trends of runs, for each set of datasets with a system that two runs have."""
    by_datasets: dict[str, list[Listed]] = {}
    for run in sorted(runs, key=lambda run: (run.created, run.name)):
        if run.scores:
            by_datasets.setdefault(run.datasets or "examples", []).append(run)
    trends = []
    for datasets, members in by_datasets.items():
        labels = dict.fromkeys(label for run in members for label, _ in run.scores)
        lines = {label: tuple(dict(run.scores).get(label) for run in members) for label in labels}
        repeated = {
            label: values
            for label, values in lines.items()
            if sum(value is not None for value in values) > 1
        }
        if repeated:
            shown = dict(list(repeated.items())[:_MOST_LINES])
            has = [
                any(values[at] is not None for values in shown.values())
                for at in range(len(members))
            ]
            names = tuple(run.name for run, is_there in zip(members, has) if is_there)
            kept = {
                label: tuple(value for value, is_there in zip(values, has) if is_there)
                for label, values in shown.items()
            }
            trends.append(Trend(datasets, names, kept))
    return trends


def drawn_trend(trend: Trend) -> Markup:
    """Return the trend as an SVG: runs from left to right, scores from the lowest to the highest."""
    known = [value for values in trend.lines.values() for value in values if value is not None]
    low, high = min(0.0, *known), max(1.0, *known)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - 28
    step = width / max(1, len(trend.names) - 1)

    def place(number: int, value: float) -> tuple[float, float]:
        return _LEFT + number * step, _TOP + height * (1 - (value - low) / (high - low))

    parts = [
        Markup(
            '<svg class="chart" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">'
        ).format(
            _WIDTH,
            _HEIGHT,
            _WIDTH,
            _HEIGHT,
            f"Scores of {len(trend.names)} runs on {trend.datasets}",
        )
    ]
    for value in (low, (low + high) / 2, high):
        _, y = place(0, value)
        line = '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="tick" x="{}" y="{}" text-anchor="end">{}</text>'
        parts.append(
            Markup(line).format(_LEFT, _WIDTH - _RIGHT, y, y, _LEFT - 6, y + 4, f"{value:.2f}")
        )
    for number, values in enumerate(trend.lines.values()):
        points = [place(at, value) for at, value in enumerate(values) if value is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        circles = Markup("").join(
            Markup('<circle cx="{}" cy="{}" r="4"/>').format(f"{x:.1f}", f"{y:.1f}")
            for x, y in points
        )
        parts.append(
            Markup('<g class="series s{}"><polyline class="joined" points="{}"/>{}</g>').format(
                number % 8, path, circles
            )
        )
    parts += _labels(trend, place)
    first, last = trend.names[0], trend.names[-1]
    label = '<text class="tick" x="{}" y="{}" text-anchor="{}">{}</text>'
    parts.append(Markup(label).format(_LEFT, _HEIGHT - 8, "start", _short(first)))
    parts.append(Markup(label).format(_WIDTH - _RIGHT, _HEIGHT - 8, "end", _short(last)))
    return Markup("").join([*parts, Markup("</svg>")])


def _labels(trend: Trend, place: Callable[[int, float], tuple[float, float]]) -> list[Markup]:
    """Return the names of the lines beside their last points, moved down where two would lie on one another."""
    ends = []
    for number, (label, values) in enumerate(trend.lines.items()):
        last = [value for value in values if value is not None][-1]
        ends.append((place(0, last)[1], number, label))
    drawn = []
    lowest = float(-_LINE)
    for y, number, label in sorted(ends):
        lowest = max(y, lowest + _LINE)
        name = label if len(label) <= _LONGEST_LABEL else f"{label[:13]}…{label[-8:]}"
        x = _WIDTH - _RIGHT + 10
        mark = (
            '<g class="series s{}"><circle cx="{}" cy="{}" r="4"/></g><text x="{}" y="{}">{}</text>'
        )
        drawn.append(Markup(mark).format(number % 8, x, lowest, x + 9, lowest + 4, name))
    return drawn


_LINE = 15
_LONGEST_LABEL = 22


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:20]}…{name[-19:]}"

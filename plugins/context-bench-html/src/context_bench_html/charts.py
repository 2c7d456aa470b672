"""The charts: differences with their intervals, quality against cost, and distributions.

Each is a picture with a title and a description; the page shows the same numbers as a table below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from markupsafe import Markup
from numpy.typing import NDArray

from context_bench_compare.pareto import Front
from context_bench_compare.rendering import share_text
from context_bench_html.deciding import Difference
from context_bench_html.side_by_side import Floats
from context_bench_html.svg import Scale, drawing, element, number, shortened

WIDTH = 760
SHAPES = 8
"""How many systems have a colour and a shape of their own; further ones begin again."""


def forest(name: str, differences: Sequence[Difference]) -> Markup | None:
    """Return the plot of paired differences with their intervals; None when nothing can be compared."""
    shown = [one for one in differences if math.isfinite(one.found.difference)]
    if not shown:
        return None
    ends = [end for one in shown for end in (*(one.bounds or ()), one.found.difference, 0.0)]
    room = (max(ends) - min(ends) or 1) * 0.06
    scale = Scale(min(ends) - room, max(ends) + room, 250, 610)
    height = 26 * len(shown) + 44
    marks = [
        element(
            "line",
            x1=scale(tick),
            x2=scale(tick),
            y1=8,
            y2=height - 30,
            class_="zero" if tick == 0 else "grid",
        )
        for tick in scale.ticks()
    ]
    marks += [
        element(
            "text",
            number(tick, "+") if tick else "0",
            x=scale(tick),
            y=height - 14,
            class_="tick",
            text_anchor="middle",
        )
        for tick in scale.ticks()
    ]
    for place, one in enumerate(shown):
        marks.append(_difference(one, scale, 22 + 26 * place))
    sentence = "; ".join(
        f"{_name_of(one)}: {number(one.found.difference, '+')}, {one.found.word}" for one in shown
    )
    return drawing(name, "Differences from the baseline", sentence, WIDTH, height, *marks)


def _difference(one: Difference, scale: Scale, y: int) -> Markup:
    title = f"{_name_of(one)}: {number(one.found.difference, '+')}; {one.found.word}. {one.found.sentence}"
    parts = [
        element("title", title),
        element("text", _name_of(one, 34), x=240, y=y + 4, text_anchor="end"),
    ]
    centre = scale(one.found.difference)
    if one.bounds is not None:
        low, high = (scale(end) for end in one.bounds)
        parts.append(element("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"))
        parts += [
            element("line", x1=end, x2=end, y1=y - 5, y2=y + 5, class_="whisker")
            for end in (low, high)
        ]
        parts.append(element("rect", x=centre - 4, y=y - 4, width=8, height=8, class_="point"))
    else:
        parts.append(element("circle", cx=centre, cy=y, r=4, class_="open"))
    label = f"{number(one.found.difference, '+')}  {one.found.word}"
    parts.append(element("text", label, x=620, y=y + 4, class_="number"))
    return element("g", *parts, class_=f"difference {one.found.word}")


def _name_of(one: Difference, length: int | None = None) -> str:
    """Return what is compared in words; where there is room for so many letters only, of both names as many as it can."""
    system, of = one.system, "" if one.of == "score" else f", {one.of}"
    if length is None:
        return system + of
    of = shortened(of, max(length - len(system), length * 2 // 3))
    return shortened(system, length - len(of)) + of


def tradeoff(name: str, front: Front | None) -> Markup | None:
    """Return quality against what it costs, one point for each system; None without two systems whose costs are known."""
    if front is None:
        return None
    measure = measure_of(front)
    costs, scores = [point.cost for point in front.points], [point.score for point in front.points]
    room = [
        (max(ends) - min(ends)) * 0.12 or abs(max(ends)) * 0.1 or 0.1 for ends in (costs, scores)
    ]
    across = Scale(max(0.0, min(costs) - room[0]), max(costs) + room[0], 70, 560)
    up = Scale(min(scores) - room[1], max(scores) + room[1], 270, 20)
    marks = _axes(across, up, f"mean {measure} of a row", "mean score")
    joined = sorted((point.cost, point.score) for point in front.points if point.is_on_front)
    path = "".join(f"{across(cost)},{up(score)} " for cost, score in joined)
    marks.append(element("polyline", points=path.strip(), class_="front"))
    for place, point in enumerate(front.points):
        told = f"score {number(point.score)}, {measure} {number(point.cost)}; {share_text(point.share)}"
        x, y = across(point.cost), up(point.score)
        kind = f"s{place % SHAPES}{' on' if point.is_on_front else ''}"
        shape = element("circle", cx=x, cy=y, r=6, class_=kind)
        text = element(
            "text", shortened(point.system), x=x + 10, y=y - 8 + 4 * (place % 3), class_="name"
        )
        marks.append(element("g", element("title", f"{point.system}: {told}"), shape, text))
    sentence = "; ".join(
        f"{one.system}: score {number(one.score)}, {number(one.cost)}" for one in front.points
    )
    return drawing(name, f"Score against {measure}", sentence, WIDTH, 320, *marks)


def measure_of(front: Front) -> str:
    """Return in words what a front's systems cost, with its unit."""
    return f"{front.name} ({front.unit})" if front.unit else front.name


@frozen(eq=False)
class Bins:
    """The bars of a distribution: 20 of equal width.

    Attributes:
        low, high: Ends of the axis, the same for all systems.
        counts: Rows in each bar, by system.
        log: Whether the axis is logarithmic.
    """

    low: float
    high: float
    counts: tuple[NDArray[np.int64], ...]
    log: bool = False

    @classmethod
    def of(cls, columns: Sequence[Floats], low: float, high: float, log: bool = False) -> Bins:
        """Count the values of each system between two ends; nan is left out."""
        convert = np.log10 if log else np.asarray
        ends = (float(convert(low)), float(convert(high)))
        counts = tuple(
            np.histogram(
                convert(np.clip(values[~np.isnan(values)], low, high)),
                bins=20,
                range=ends if ends[0] < ends[1] else None,
            )[0]
            for values in columns
        )
        return cls(low, high, counts, log)

    @property
    def most(self) -> int:
        """Rows in the highest bar of all systems, which is the height of every picture."""
        return max((int(counts.max()) for counts in self.counts), default=0) or 1


def histogram(name: str, title: str, label: str, values: Floats, bins: Bins, place: int) -> Markup:
    """Return the distribution of values of one system as bars.

    Args:
        name: Id of the chart.
        title: What is distributed.
        label: The system.
        values: The values, nan where there is none.
        bins: The bars of all systems, which have one scale on both axes.
        place: Number of the system.
    """
    known = values[~np.isnan(values)]
    counts = bins.counts[place]
    across, up = Scale(0, 20, 8, 232), Scale(0, float(bins.most), 100, 28)
    bars = [
        element(
            "rect",
            element("title", f"{count} rows"),
            x=across(bar) + 1,
            y=up(count),
            width=9.5,
            height=100 - up(count),
        )
        for bar, count in enumerate(counts.tolist())
        if count
    ]
    ticks = [
        element("text", number(end), x=x, y=116, class_="tick", text_anchor=anchor)
        for end, x, anchor in ((bins.low, 8, "start"), (bins.high, 232, "end"))
    ]
    mean = (
        "no rows"
        if not len(known)
        else f"median {number(float(np.median(known)))}, mean {number(float(known.mean()))}"
    )
    head = element("text", shortened(label, 32), x=8, y=14, class_="name")
    floor = element("line", x1=8, x2=232, y1=100, y2=100, class_="zero")
    description = f"{len(known)} rows, {mean}"
    group = element("g", *bars, class_=f"bars s{place % SHAPES}")
    return drawing(name, f"{title} of {label}", description, 240, 122, head, group, floor, *ticks)


def _axes(across: Scale, up: Scale, below: str, beside: str) -> list[Markup]:
    marks = []
    for tick in across.ticks():
        marks.append(
            element("line", x1=across(tick), x2=across(tick), y1=20, y2=270, class_="grid")
        )
        marks.append(
            element(
                "text", number(tick), x=across(tick), y=287, class_="tick", text_anchor="middle"
            )
        )
    for tick in up.ticks():
        marks.append(element("line", x1=70, x2=560, y1=up(tick), y2=up(tick), class_="grid"))
        marks.append(
            element("text", number(tick), x=62, y=up(tick) + 4, class_="tick", text_anchor="end")
        )
    marks.append(element("text", below, x=315, y=308, text_anchor="middle", class_="axis"))
    marks.append(element("text", beside, x=70, y=12, class_="axis"))
    return marks

"""Pictures that packages add to a report: points on a plane, joined or not, described as data and drawn here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen
from markupsafe import Markup

from context_bench.catalog import Component, open_catalog
from context_bench.errors import ContextBenchError, PluginError
from context_bench_html.charts import SHAPES
from context_bench_html.svg import Scale, drawing, element, number, shortened

FORMS = ("curve", "mark", "rows", "reference", "level")
"""How the points of a series are drawn: joined, as a diamond each, as small dots, as a dashed line, as a line across."""

LEFT, RIGHT, TOP, BOTTOM = 62, 530, 16, 330
WIDTH, HEIGHT = 760, 376
MOST_NAMES = 15
"""Names that the legend has room for."""


@frozen
class Point:
    """A place on a plane, and what is told of it."""

    x: float
    y: float
    told: str


@frozen
class Series:
    """Points that belong together.

    Attributes:
        form: One of :data:`FORMS`.
        name: What they are called; series of one name have one colour.
        points: In the order in which they are joined.
    """

    form: str
    name: str
    points: Sequence[Point]


@frozen(eq=False)
class Picture:
    """A plane with series of points.

    Attributes:
        title, note: What stands above it, and what it says.
        across, up: What its axes measure.
        series: What is drawn, the first below the others.
        headings, lines: The same as a table.
    """

    title: str
    note: str
    across: str
    up: str
    series: Sequence[Series]
    headings: Sequence[str]
    lines: Sequence[Sequence[str]]

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Picture:
        """Return a picture from the mapping that a package gives.

        Raises:
            ValueError: A form is unknown, or a point is no place.
        """
        series = [
            Series(
                str(one["form"]),
                str(one["name"]),
                [
                    Point(float(point["x"]), float(point["y"]), str(point["told"]))
                    for point in one["points"]
                ],
            )
            for one in told["series"]
        ]
        unknown = {one.form for one in series} - set(FORMS)
        if unknown:
            raise ValueError(
                f"no form is called {', '.join(sorted(unknown))}; there is {', '.join(FORMS)}"
            )
        if not all(
            math.isfinite(point.x) and math.isfinite(point.y)
            for one in series
            for point in one.points
        ):
            raise ValueError("a point is at no number")
        texts = {name: str(told[name]) for name in ("title", "note", "across", "up")}
        return cls(
            **texts,
            series=[one for one in series if one.points],
            headings=[*map(str, told["headings"])],
            lines=[[*map(str, line)] for line in told["lines"]],
        )


def pictures_of(run: Any) -> tuple[Picture, ...]:
    """Return the pictures that installed packages have for a run; none while it is running.

    Raises:
        PluginError: A package that has pictures cannot be loaded, or fails.
    """
    if run is None or run.status == "running":
        return ()
    found: list[Picture] = []
    for component in open_catalog().of_kind("commands"):
        if component.state == "ok" and component.command.extends == "report":
            found += _pictures(component, run)
    return tuple(found)


def _pictures(component: Component, run: Any) -> list[Picture]:
    loaded, function = component.examine()
    if function is None:
        raise PluginError(
            f"{component.id} has pictures for reports, and cannot be loaded: {loaded.reason}. {loaded.remedy}"
        )
    try:
        return [Picture.read(one) for one in function(run)]
    except ContextBenchError:
        raise
    except Exception as error:
        raise PluginError(f"{component.id} failed: {type(error).__name__}: {error}") from error


def drawn(name: str, picture: Picture) -> Markup:
    """Return a picture as a drawing."""
    places = [point for one in picture.series for point in one.points]
    across = _scale(
        [point.x for one in picture.series if one.form != "level" for point in one.points],
        LEFT,
        RIGHT,
    )
    up = _scale([point.y for point in places], BOTTOM, TOP)
    names = list(
        dict.fromkeys(one.name for one in picture.series if one.form in ("curve", "mark", "rows"))
    )
    marks = _axes(across, up, picture)
    for one in picture.series:
        marks.append(
            _DRAWN[one.form](
                one, across, up, f"s{names.index(one.name) % SHAPES}" if one.name in names else ""
            )
        )
    marks += _legend(picture.series, names)
    sentence = "; ".join(
        f"{one.name}: "
        + ", ".join(f"{number(point.y)} at {number(point.x)}" for point in one.points)
        for one in picture.series
        if one.form != "rows"
    )
    return drawing(name, picture.title, sentence, WIDTH, HEIGHT, *marks)


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Return a scale for values; those between 0 and 1 are shares, whose axis is whole."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return Scale(0.0, 1.0, start, end) if low >= 0 and high <= 1 else Scale(low, high, start, end)


def _axes(across: Scale, up: Scale, picture: Picture) -> list[Markup]:
    marks = []
    for tick in across.ticks():
        marks.append(
            element("line", x1=across(tick), x2=across(tick), y1=TOP, y2=BOTTOM, class_="grid")
        )
        marks.append(
            element(
                "text",
                number(tick),
                x=across(tick),
                y=BOTTOM + 16,
                class_="tick",
                text_anchor="middle",
            )
        )
    for tick in up.ticks():
        marks.append(element("line", x1=LEFT, x2=RIGHT, y1=up(tick), y2=up(tick), class_="grid"))
        marks.append(
            element(
                "text", number(tick), x=LEFT - 8, y=up(tick) + 4, class_="tick", text_anchor="end"
            )
        )
    middle = (LEFT + RIGHT) / 2
    marks.append(
        element(
            "text", picture.across, x=middle, y=BOTTOM + 36, text_anchor="middle", class_="axis"
        )
    )
    centre = (TOP + BOTTOM) / 2
    turned = f"rotate(-90 14 {centre:g})"
    marks.append(
        element(
            "text",
            picture.up,
            x=14,
            y=centre,
            text_anchor="middle",
            class_="axis",
            transform=turned,
        )
    )
    return marks


def _joined(one: Series, across: Scale, up: Scale) -> str:
    return " ".join(f"{across(point.x)},{up(point.y)}" for point in one.points)


def _curve(one: Series, across: Scale, up: Scale, colour: str) -> Markup:
    line = element("polyline", points=_joined(one, across, up), class_="joined")
    return element("g", line, *_dots(one, across, up, 5), class_=f"series {colour}")


def _rows(one: Series, across: Scale, up: Scale, colour: str) -> Markup:
    return element("g", *_dots(one, across, up, 2.5), class_=f"row-dots {colour}")


def _dots(one: Series, across: Scale, up: Scale, radius: float) -> list[Markup]:
    return [
        element(
            "circle", element("title", point.told), cx=across(point.x), cy=up(point.y), r=radius
        )
        for point in one.points
    ]


def _mark(one: Series, across: Scale, up: Scale, colour: str) -> Markup:
    marks = []
    for point in one.points:
        x, y = across(point.x), up(point.y)
        corners = f"M{x},{y - 7}L{x + 7},{y}L{x},{y + 7}L{x - 7},{y}Z"
        marks.append(element("path", element("title", point.told), d=corners))
    return element("g", *marks, class_=f"series {colour}")


def _reference(one: Series, across: Scale, up: Scale, colour: str) -> Markup:
    dots = _dots(one, across, up, 2)
    return element(
        "g",
        element("polyline", points=_joined(one, across, up), class_="front"),
        *dots,
        class_="reference",
    )


def _level(one: Series, across: Scale, up: Scale, colour: str) -> Markup:
    y = up(one.points[0].y)
    line = element(
        "line", element("title", one.points[0].told), x1=LEFT, x2=RIGHT, y1=y, y2=y, class_="level"
    )
    return element(
        "g", line, element("text", one.name, x=RIGHT - 4, y=y - 5, text_anchor="end", class_="tick")
    )


_DRAWN = {"curve": _curve, "mark": _mark, "rows": _rows, "reference": _reference, "level": _level}


def _legend(series: Sequence[Series], names: Sequence[str]) -> list[Markup]:
    told: list[Markup] = []
    for one in series:
        if one.form == "reference":
            y = TOP + 12 + 20 * len(told)
            line = element("line", x1=RIGHT + 14, x2=RIGHT + 36, y1=y - 4, y2=y - 4, class_="front")
            told.append(
                element(
                    "g",
                    line,
                    element("text", shortened(one.name, 26), x=RIGHT + 44, y=y, class_="name"),
                )
            )
    room = MOST_NAMES - len(told)
    for place, name in enumerate(names[:room]):
        y = TOP + 12 + 20 * len(told)
        swatch = element(
            "rect", x=RIGHT + 20, y=y - 9, width=10, height=10, class_=f"s{place % SHAPES}"
        )
        text = element(
            "text", element("title", name), shortened(name, 26), x=RIGHT + 44, y=y, class_="name"
        )
        told.append(element("g", swatch, text))
    if len(names) > room:
        y = TOP + 12 + 20 * len(told)
        told.append(
            element(
                "text",
                f"and {len(names) - room} more, in the table",
                x=RIGHT + 44,
                y=y,
                class_="tick",
            )
        )
    return told

"""Drawings as SVG elements: made on the server, so that they are there without a script, and never from raw text."""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from context_bench_html.embedding import visible


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """Return an element; every child and every value of an attribute is escaped, unless it is an element already.

    >>> element("text", "a < b", x=1, text_anchor="end", class_="label")
    Markup('<text x="1" text-anchor="end" class="label">a &lt; b</text>')
    """
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for name, value in attributes.items()
    )
    inner = Markup("").join(
        child if isinstance(child, Markup) else escape(visible(child)) for child in children
    )
    return Markup(f"<{tag}{told}>") + inner + Markup(f"</{tag}>")


def drawing(
    name: str, title: str, description: str, width: float, height: float, *children: Markup
) -> Markup:
    """Return a chart as a picture with a title and a description for who cannot see it."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", description, id=f"{name}-description"),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="chart",
        role="img",
        aria_labelledby=f"{name}-title {name}-description",
        width=f"{width:g}",
        height=f"{height:g}",
    )


class Scale:
    """A straight line from values to places on a drawing.

    Args:
        low, high: Values at the ends; equal ones are moved apart.
        start, end: Places of the ends.
    """

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        if high <= low:
            low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """Return the place of a value; what lies outside is put at the end."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 2)

    def ticks(self, count: int = 5) -> list[float]:
        """Return round values between the ends."""
        raw = (self.high - self.low) / count
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(
            power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.999
        )
        first = math.ceil(self.low / step - 1e-9)
        return [
            round(number * step, 12)
            for number in range(first, math.floor(self.high / step + 1e-9) + 1)
        ]


def number(value: float | None, sign: str = "") -> str:
    """Return a number for people; a dash when there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:{sign},.0f}" if 1000 <= abs(value) < 1e15 else f"{value:{sign}.4g}"


def shortened(text: str, length: int = 30) -> str:
    """Return a text that is no longer than a number of letters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _value(value: object) -> str:
    return str(escape(f"{value:g}" if isinstance(value, float) else visible(value)))

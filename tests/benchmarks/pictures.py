"""Draw the pictures of docs/reference/benchmarks.md from its tables: `python tests/benchmarks/pictures.py` writes
docs/images/benchmark-*.svg; `--check` says what it would change.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from ratios import OURS, tables_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
IMAGES = ROOT / "docs" / "images"

WIDTH, ROW, LEFT, RIGHT, TOP = 720, 30, 330, 100, 40
_NUMBER = re.compile(r"([\d,]+(?:\.\d+)?)")


class Picture(NamedTuple):
    """A picture: the column of a table that it shows.

    Attributes:
        section: Heading of the section.
        column: Heading of the column, from its beginning.
        title: What the bars are, and whether more of it is better.
    """

    section: str
    column: str
    title: str

    @property
    def name(self) -> str:
        """Name of its file."""
        column = re.sub(r"[^a-z0-9]+", "-", self.column.lower()).strip("-")
        return f"benchmark-{self.section.lower().replace(' ', '-')}-{column}.svg"

    @property
    def link(self) -> str:
        """The line of the page that shows it; what it is stands in the picture."""
        return f"![{self.section}](../images/{self.name})"


PICTURES = (
    Picture("Install", "size", "Size of an installation (less is better)"),
    Picture("Install", "`--help`", "CPU time of --help (less is better)"),
    Picture(
        "Memory",
        "for a million",
        "Memory that a run of a million rows adds, peers scaled to it (less is better)",
    ),
    Picture("Overhead", "1,224 bytes", "CPU time of a row of 1,224 bytes, in µs (less is better)"),
    Picture(
        "Rate limit", "share of ideal", "Share of a hidden limit that is used (more is better)"
    ),
    Picture("Throughput", "64 of 0.2 s", "Share of ideal with 64 calls in flight (more is better)"),
)


class Bar(NamedTuple):
    """A row of a table: its label, its value, and how the table writes it, without what stands in brackets."""

    label: str
    value: float
    shown: str


def links(section: str) -> list[str]:
    """Return the lines that show the pictures of a section."""
    return [picture.link for picture in PICTURES if picture.section == section]


def bars_of(picture: Picture, page: str) -> list[Bar]:
    """Return the bars of a picture, in the order of the table.

    Raises:
        ValueError: The page has no such column.
    """
    section = f"\n{page}".partition(f"\n## {picture.section}\n")[2].partition("\n## ")[0]
    for heading, rows in tables_of(section):
        numbers = [at for at, title in enumerate(heading) if title.startswith(picture.column)]
        if numbers:
            at = numbers[0]
            found = ((row, _NUMBER.match(row[at])) for row in rows if at < len(row))
            return [
                Bar(
                    _label(heading, row),
                    float(match[1].replace(",", "")),
                    row[at].partition(" (")[0],
                )
                for row, match in found
                if match is not None
            ]
    raise ValueError(f"{picture.section!r} has no column {picture.column!r}.")


def drawn(picture: Picture, bars: list[Bar]) -> str:
    """Return a picture as SVG."""
    height = TOP + ROW * len(bars) + 12
    scale = (WIDTH - LEFT - RIGHT) / max(bar.value for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(picture.title)}</title>",
        "<style>text{font:13px sans-serif;fill:#555}rect{fill:#9ab}rect.ours{fill:#36c}"
        ".title{font-weight:bold}</style>",
        f'<text class="title" x="8" y="22">{escape(picture.title)}</text>',
    ]
    for number, bar in enumerate(bars):
        y = TOP + ROW * number
        kind = ' class="ours"' if bar.label.startswith(OURS) else ""
        width = max(1.0, scale * bar.value)
        lines += [
            f'<text x="{LEFT - 10}" y="{y + 17}" text-anchor="end">{escape(bar.label)}</text>',
            f'<rect{kind} x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="20"/>',
            f'<text x="{LEFT + width + 8:.1f}" y="{y + 17}">{escape(bar.shown)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _label(heading: list[str], row: list[str]) -> str:
    flight = dict(zip(heading, row, strict=False)).get("in flight")
    label = (
        row[0].replace("`", "").replace("context-bench, the standard set", f"{OURS}, standard set")
    )
    return label if flight is None else f"{label}, {flight} in flight"


def pictures(page: str) -> dict[str, str]:
    """Return each picture by the name of its file."""
    return {picture.name: drawn(picture, bars_of(picture, page)) for picture in PICTURES}


def main(arguments: list[str]) -> int:
    """Write the pictures, or say which would change."""
    changed = []
    for name, text in pictures(PAGE.read_text(encoding="utf-8")).items():
        path = IMAGES / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    print("\n".join(changed))
    return int(bool(changed) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

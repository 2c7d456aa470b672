"""The ratios of a page of benchmarks, and which of them have become worse: what `write_table.py --check` looks at.

A time depends on the machine, a ratio within one run hardly. The ratios of a section are

- the columns whose heading begins with "times": times faster, where more is better, and times something else, where less is;
- shares of the ideal, where more is better, and multiples such as "17.5 x", where less is, in the rows of context-bench;
- CPU and memory of context-bench, divided by that of lm-eval in the same table, where less is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

TOLERANCE = 0.15
"""By which part of the recorded ratio a ratio may be worse."""

OURS, PEER = "context-bench", "lm-eval"
_NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?")
_MULTIPLE = re.compile(r"([\d.]+) x\)")
_COSTS = ("CPU a row", "for a million")


class Ratio(NamedTuple):
    """A ratio: its value, and whether more of it is better."""

    value: float
    is_more_better: bool


class Change(NamedTuple):
    """How a ratio differs from the recorded one: positive is worse, as a part of the recorded one."""

    name: str
    recorded: float
    now: float
    worse: float


def tables_of(section: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield the heading and the rows of each table of a section in Markdown."""
    for block in re.split(r"\n\s*\n", section):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) > 2:
            cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
            yield cells[0], cells[2:]


def ratios_of(section: str) -> dict[str, Ratio]:
    """Return the ratios of a section by their names: the labels of the row, and the heading of the column."""
    found: dict[str, Ratio] = {}
    for heading, rows in tables_of(section):
        is_share = any("share of ideal" in title for title in heading)
        by_label = {row[0]: row for row in rows}
        for row in rows:
            for number, title in enumerate(heading[1:], start=1):
                ratio = _ratio(heading, row, number, is_share, by_label.get(PEER))
                if ratio is not None:
                    name = f"{_label(heading, row)}, {title}"
                    found[name if name not in found else f"{name} (column {number + 1})"] = ratio
    return found


def changes(recorded: Mapping[str, Ratio], now: Mapping[str, Ratio]) -> list[Change]:
    """Return how each recorded ratio that was measured again differs."""
    found = []
    for name, (before, is_more_better) in recorded.items():
        if name in now and before > 0 and now[name].value > 0:
            value = now[name].value
            worse = 1 - value / before if is_more_better else value / before - 1
            found.append(Change(name, before, value, worse))
    return found


def better_of(one: Mapping[str, Ratio], other: Mapping[str, Ratio]) -> dict[str, Ratio]:
    """Return the better of two measurements of each ratio: what else the machine did makes ratios worse, not better."""
    found = dict(one)
    for name, ratio in other.items():
        best = max if ratio.is_more_better else min
        if name in found:
            found[name] = Ratio(best(ratio.value, found[name].value), ratio.is_more_better)
    return found


def _ratio(
    heading: list[str], row: list[str], number: int, is_share: bool, peer: list[str] | None
) -> Ratio | None:
    title = heading[number]
    value = _number(row[number]) if number < len(row) else None
    if value is None:
        return None
    if title.startswith("times"):
        return Ratio(value, title.startswith("times faster"))
    if not row[0].startswith(OURS):
        return None
    multiple = _MULTIPLE.search(row[number])
    if multiple is not None:
        return Ratio(float(multiple[1]), is_more_better=False)
    is_cost = title in _COSTS or (heading[0].startswith("CPU") and title.endswith(" bytes"))
    if is_cost and peer is not None:
        other = _number(peer[number])
        return Ratio(value / other, is_more_better=False) if other else None
    if is_share and row[number].endswith("%") and title != "refused":
        return Ratio(value, is_more_better=True)
    return None


def _label(heading: list[str], row: list[str]) -> str:
    """Return the cells that say what a row is: the first, and others that are settings."""
    settings = [
        f"{cell} {title}"
        for title, cell in zip(heading[1:], row[1:], strict=False)
        if title in ("in flight", "rows")
    ]
    return ", ".join([row[0], *settings])


def _number(cell: str) -> float | None:
    match = _NUMBER.match(cell.lstrip("*~<"))
    return float(match[0].replace(",", "")) if match else None

"""Core's own reporters: the table on a terminal, and strict JSON. Other forms come from
packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from context_bench.console import drawing, json_text
from context_bench.results.result import EvalResult, one_line, strict

if TYPE_CHECKING:
    from rich.table import Table

Cells = list[list[str]]


class TableReporter:
    """Draws the summary as a table that fits the terminal.

    Args:
        brief: Whether to leave out the scores below the primary score.
    """

    name = "table"

    def __init__(self, brief: bool = False) -> None:
        self._brief = brief

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write the verdict, a line for each system, and what a reader must know beside the
        numbers."""
        from rich.measure import Measurement
        from rich.text import Text

        console = drawing(stream, highlight=False)
        console.width = max(30, console.width or 80)  # a COLUMNS of 0 or 1 leaves room for nothing

        def fits(drawn: Table) -> bool:
            return (
                Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum
                <= console.width
            )

        def blocks(cells: Cells) -> list[Cells]:
            """Return the cells in parts that fit, one below the other; each begins with the
            names."""
            parts: list[Cells] = []
            rest = _with_short_names(cells, max(16, console.width // 4))
            while len(rest[0]) > 1:
                width = len(rest[0])
                while width > 2 and not fits(_drawn([line[:width] for line in rest])):
                    width -= 1
                parts.append([line[:width] for line in rest])
                rest = [[line[0], *line[width:]] for line in rest]
            return parts

        def show(cells: Cells) -> None:
            """Draw a line for each value and a column for each system, or a line for each system,
            where that is much shorter."""
            by_value = blocks(cells)
            by_system = blocks(_turned(cells))
            is_shorter = _lines(by_system) < _MUCH_SHORTER * _lines(by_value)
            for part in by_system if len(by_value) > 1 and is_shorter else by_value:
                console.print(_drawn(part))

        verdict = result.verdict()
        if verdict is not None:
            console.print(Text(verdict, style="bold"))
        cells = _cells(*result.table())
        if fits(_drawn(cells)):
            console.print(_drawn(cells))
        else:
            show(_turned(cells))
        cells = _cells(*result.score_table())
        if len(cells) > 1 and not self._brief:
            if fits(_drawn(cells, 2)):
                console.print(_drawn(cells, 2))
            else:  # whose score it is goes first
                show([[line[0], *line[2:]] for line in cells])
        for note in result.notes():
            console.print(Text(one_line(note)))


class JsonReporter:
    """Writes everything as strict JSON, row by row, so that a long run is never held whole."""

    name = "json"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write an object with config, summary, timing, warnings and rows."""
        head = json_text(result.to_dict(rows=False), 2)
        stream.write(head.rstrip().removesuffix("}").rstrip() + ',\n  "rows": [')
        separator = "\n    "
        for row in result.row_dicts():
            stream.write(separator + json_text(strict(row)))
            separator = ",\n    "
        stream.write("\n  ]\n}\n")


def _drawn(cells: Cells, names: int = 1) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, heading in enumerate(cells[0]):
        table.add_column(
            Text(heading), justify="left" if number < names else "right", overflow="fold"
        )
    for line in cells[1:]:
        table.add_row(*map(Text, line))
    return table


def _cells(headings: list[str], lines: list[list[str]]) -> Cells:
    return [[one_line(cell) for cell in line] for line in (headings, *lines)]


_MUCH_SHORTER = 0.8


def _lines(parts: list[Cells]) -> int:
    """Return how many lines the parts of a table take, with their rules and blank lines."""
    return sum(len(part) + 3 for part in parts)


def _turned(cells: Cells) -> Cells:
    return [list(column) for column in zip(*cells)]


def _with_short_names(cells: Cells, width: int) -> Cells:
    """Return cells whose first column is shortened in the middle, as far as the names still
    differ."""
    names = [line[0] for line in cells[1:]]
    longest = max(map(len, names))
    short = [_shortened(name, width) for name in names]
    while width < longest and len(set(short)) < len(set(names)):
        width += 1
        short = [_shortened(name, width) for name in names]
    return [cells[0], *([name, *line[1:]] for name, line in zip(short, cells[1:]))]


def _shortened(name: str, width: int) -> str:
    """Return a name of at most so many characters, its middle left out.

    >>> _shortened("compressor:ratio=0.25,seed=1", 16)
    'compress…,seed=1'
    """
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"

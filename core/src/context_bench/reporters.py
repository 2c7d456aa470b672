"""Core's own reporters: the table on a terminal, and strict JSON. Other forms come from
packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from context_bench.console import drawing, json_text
from context_bench.results.result import EvalResult, one_line, row_to_dict, strict

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
        """Write a line for each system, and what a reader must know beside the numbers."""
        from rich.measure import Measurement
        from rich.text import Text

        console = drawing(stream, highlight=False)
        console.width = max(30, console.width or 80)  # a COLUMNS of 0 or 1 leaves room for nothing

        def fits(drawn: Table) -> bool:
            return (
                Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum
                <= console.width
            )

        def show(cells: Cells, names: int = 1) -> None:
            """Draw as many columns beside those of the names as fit, and the others below."""
            width = len(cells[0])
            while width > names + 1 and not fits(_drawn([line[:width] for line in cells], names)):
                width -= 1
            console.print(_drawn([line[:width] for line in cells], names))
            if width < len(cells[0]):
                show([line[:names] + line[width:] for line in cells], names)

        cells = _cells(*result.table())
        if fits(_drawn(cells)):
            console.print(_drawn(cells))
        else:  # turned: a line for each value, a column for each system
            show([list(column) for column in zip(*cells)])
        cells = _cells(*result.score_table())
        if len(cells) > 1 and not self._brief:
            is_narrow = not fits(_drawn(cells, 2))  # whose score it is goes first
            show(
                [[line[0], *line[2:]] for line in cells] if is_narrow else cells,
                1 if is_narrow else 2,
            )
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
        for row in result.rows:
            stream.write(separator + json_text(strict(row_to_dict(row))))
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

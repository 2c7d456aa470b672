"""Core's own reporters: the table on a terminal, and strict JSON. Other forms come from packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from context_bench.console import json_text
from context_bench.results import EvalResult, row_to_dict, strict
from context_bench.table_columns import notes, one_line, score_table, table

if TYPE_CHECKING:
    from rich.table import Table


class TableReporter:
    """Draws the summary as a table that fits the terminal.

    Args:
        brief: Whether to leave out the scores below the headline.
    """

    name = "table"

    def __init__(self, brief: bool = False) -> None:
        self._brief = brief

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a line for each system, and what a reader must know beside the numbers."""
        from rich.console import Console
        from rich.measure import Measurement
        from rich.text import Text

        headings, *lines = [[one_line(cell) for cell in cells] for cells in _cells(*table(result))]
        console = Console(file=stream, highlight=False)
        drawn = _drawn(headings, lines)

        def is_too_wide(drawn: Table) -> bool:
            return Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum > console.width

        console.print(_drawn(*_turned(headings, lines)) if is_too_wide(drawn) else drawn)
        headings, *lines = [[one_line(cell) for cell in cells] for cells in _cells(*score_table(result))]
        if lines and not self._brief:
            drawn = _drawn(headings, lines, 2)
            if is_too_wide(drawn):  # whose score it is goes first
                drawn = _drawn([headings[0], *headings[2:]], [[line[0], *line[2:]] for line in lines])
            console.print(drawn)
        for note in notes(result):
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


def _drawn(headings: list[str], lines: list[list[str]], names: int = 1) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if number < names else "right", overflow="fold")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def _cells(headings: list[str], lines: list[list[str]]) -> list[list[str]]:
    return [headings, *lines]


def _turned(headings: list[str], lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Turn the table: a line for each value, a column for each system, which fits a narrow terminal better."""
    turned = [list(column) for column in zip(headings, *lines)]
    return turned[0], turned[1:]

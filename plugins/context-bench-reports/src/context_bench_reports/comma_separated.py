"""The rows as CSV."""

from __future__ import annotations

import csv
from typing import TextIO

from context_bench import EvalResult
from context_bench.records import flatten

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class CsvReporter:
    """Writes the rows as CSV: a line for each row, a column for each score."""

    name = "csv"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a header and the rows. Cells that a spreadsheet would take for a formula get an apostrophe."""
        names = list(dict.fromkeys(name for row in result.rows for name, _ in flatten(row)))
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(map(_cell, names))
        for row in result.rows:
            values = dict(flatten(row))
            writer.writerow([_cell(values.get(name)) for name in names])


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode("utf-8")
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value

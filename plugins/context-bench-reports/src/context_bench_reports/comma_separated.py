"""The rows as CSV."""

from __future__ import annotations

import csv
from typing import TextIO

from context_bench import EvalResult

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_FILLED = ("\t", "\r", "\n")


class CsvReporter:
    """Writes the rows as CSV: a line for each row, a column for each score."""

    name = "csv"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a header and the rows. Cells that a spreadsheet would take for a formula get an apostrophe."""
        names = list(dict.fromkeys(name for row in result.flat_rows() for name in row))
        writer = csv.writer(_Lines(stream), lineterminator="\r\n")
        writer.writerow(map(_cell, names))
        for row in result.flat_rows():
            writer.writerow([_cell(row.get(name)) for name in names])


class _Lines:
    """Ends lines with a line feed, and lets the writer quote a carriage return: a reader takes a bare one for a line end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, line: str) -> int:
        """Write a line."""
        return self._stream.write(line.removesuffix("\r\n") + "\n")


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        text = value.encode("utf-8", "backslashreplace").decode("utf-8")
        begins = text.lstrip().lstrip("\ufeff\u200b").lstrip()  # what a spreadsheet leaves out
        return f"'{text}" if text.startswith(_FILLED) or begins.startswith(_FORMULA) else text
    return value

"""Reports for files and other programs: Markdown, strict JSON, CSV."""

from __future__ import annotations

import csv
import json
from typing import TextIO

from context_bench.records import flatten
from context_bench.reporters.table_columns import notes, one_line, score_table, table
from context_bench.results import EvalResult, row_to_dict, strict


class MarkdownReporter:
    """Writes the summary as a Markdown table."""

    name = "markdown"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a title, the table, the notes, and what was run."""
        headings, lines = table(result, everything=True)
        stream.write("# context-bench result\n\n")
        for line in (headings, ["---", *["---:"] * (len(headings) - 1)], *lines):
            stream.write(f"| {' | '.join(map(_cell, line))} |\n")
        stream.write("\n")
        self._write_scores(result, stream)
        for note in notes(result):
            stream.write(f"{_cell(note)}\n\n")
        config = result.config
        facts = f"{config.get('num_examples', 0)} examples, {len(result.rows)} rows"
        if "seconds" in result.timing:
            facts += f", {result.timing['seconds']:.1f} s"
        evaluators = ", ".join(map(str, config.get("evaluators", ()))) or "none"
        stream.write(f"{facts}. Evaluators: {_cell(evaluators)}.\n")

    @staticmethod
    def _write_scores(result: EvalResult, stream: TextIO) -> None:
        headings, lines = score_table(result)
        for line in (headings, ["---", "---", *["---:"] * (len(headings) - 2)], *lines) if lines else ():
            stream.write(f"| {' | '.join(map(_cell, line))} |\n")
        stream.write("\n" if lines else "")


class JsonReporter:
    """Writes everything as strict JSON, row by row, so that a long run is never held whole."""

    name = "json"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write an object with config, summary, timing, warnings and rows."""
        head = json.dumps(result.to_dict(rows=False), indent=2, ensure_ascii=False, allow_nan=False)
        stream.write(head.rstrip().removesuffix("}").rstrip() + ',\n  "rows": [')
        separator = "\n    "
        for row in result.rows:
            stream.write(separator + json.dumps(strict(row_to_dict(row)), ensure_ascii=False, allow_nan=False))
            separator = ",\n    "
        stream.write("\n  ]\n}\n")


class CsvReporter:
    """Writes the rows as CSV: a line for each row, a column for each score."""

    name = "csv"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a header and the rows. Cells that a spreadsheet would take for a formula get an apostrophe."""
        names = list(dict.fromkeys(name for row in result.rows for name, _ in flatten(row)))
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for row in result.rows:
            values = dict(flatten(row))
            writer.writerow([_csv_cell(values.get(name)) for name in names])


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell: one plain line, no HTML, no bars."""
    return one_line(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _csv_cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, str):
        text = str(strict(value))
        return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
    return value

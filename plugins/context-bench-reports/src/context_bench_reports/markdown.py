"""The summary as a page of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from context_bench import EvalResult
from context_bench.console import escape_control
from context_bench.records import shown_seconds


class MarkdownReporter:
    """Writes the summary as a Markdown table."""

    name = "markdown"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write a title, the verdict, the table, the further scores, the notes, and what was run."""
        stream.write("# context-bench result\n\n")
        verdict = result.verdict()
        if verdict is not None:
            stream.write(f"{_cell(verdict)}\n\n")
        _write_table(stream, *result.table(everything=True))
        headings, lines = result.score_table()
        if lines:
            _write_table(stream, headings, lines, 2)
        for note in result.notes():
            stream.write(f"{_cell(note)}\n\n")
        config = result.config
        facts = f"{config.get('num_examples', 0)} examples, {len(result.rows)} rows"
        if "seconds" in result.timing:
            facts += f", {shown_seconds(result.timing['seconds'])}"
        evaluators = ", ".join(map(str, config.get("evaluators", ()))) or "none"
        stream.write(f"{facts}. Evaluators: {_cell(evaluators)}.\n")


def _write_table(
    stream: TextIO, headings: Sequence[str], lines: Sequence[Sequence[str]], names: int = 1
) -> None:
    """Write a table and an empty line; the first ``names`` columns are texts, all others numbers."""
    marks = [*["---"] * names, *["---:"] * (len(headings) - names)]
    for line in (headings, marks, *lines):
        stream.write(f"| {' | '.join(map(_cell, line))} |\n")
    stream.write("\n")


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell: one plain line, no HTML, no bars, no links and images."""
    line = escape_control(" ".join(text.split()), lines=False)
    return line.replace("\\", "\\\\").replace("|", "\\|").replace("[", "\\[").replace("<", "&lt;")

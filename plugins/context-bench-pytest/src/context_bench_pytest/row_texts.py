"""Rows as text in the message of a failed assertion: the question, the expected answer, the response, and the error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench import EvalResult, EvalRow
from context_bench.answers import references
from context_bench.console import escape_control
from context_bench.errors import ConfigurationError
from context_bench.runs import Run

SHOWN_ROWS = 5
"""Rows that a message shows at most."""

LONGEST_TEXT = 300
"""Characters of a question, an answer or a response that are shown."""


def run_file_of(result: EvalResult) -> Path:
    """Return the path of the run file of a result.

    Raises:
        ConfigurationError: The result has no run file any more.
    """
    named = result.config.get("run_file") or getattr(
        getattr(result.rows, "reader", None), "path", None
    )
    if named is None or not Path(named).is_file():
        raise ConfigurationError("The result has no run file: give evaluate() a run_file.")
    return Path(named)


def row_lines(
    run: Run, row: EvalRow, heading: str, baseline: EvalRow | None = None
) -> Iterator[str]:
    """Yield the lines of one row.

    Args:
        run: The run of the row, which has its example.
        row: The row.
        heading: What comes after its id, such as its score.
        baseline: The row of the baseline, whose response is shown too.
    """
    content: Mapping[str, Any] = run.example((row.dataset_number, row.position)).content or {}
    yield f"  {_short(row.example_id)}: {heading}"
    question = content.get("question")
    if question:
        yield f"    question: {_short(question)}"
    expected = references(content)
    if expected:
        yield f"    expected: {_short(' | '.join(expected))}"
    if baseline is not None:
        yield f"    baseline: {_response(baseline)}"
    yield f"    response: {_response(row)}"


def _response(row: EvalRow) -> str:
    if row.errors:
        return f"failed: {_short(row.errors[0])}"
    return "(no text)" if row.response is None else _short(row.response) or "(empty)"


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}..."
    return escape_control(text, lines=False)

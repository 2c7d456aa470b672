"""The main table: what the metrics say of each system, in words and numbers for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen


@frozen
class SummaryTable:
    """A table of texts.

    Attributes:
        headings: Of the columns, ``system`` first.
        lines: Cells of each line.
    """

    headings: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def main_tables(result: Any) -> tuple[SummaryTable, SummaryTable]:
    """Return a line for each value that a metric gives, in the order that the metrics declare, and a column for each system.

    The first table holds what the table of the terminal shows, in its words; the second what a metric declares as a detail.
    """
    shown, _ = result.table()
    every, lines = result.table(everything=True)
    rows = [
        (heading, *(cells[number] for cells in lines))
        for number, heading in enumerate(every)
        if number
    ]
    first = tuple(row for row in rows if row[0] in shown)
    second = tuple(row for row in rows if row[0] not in shown)
    headings = ("value", *result.summary)
    return SummaryTable(headings, first), SummaryTable(headings, second)


def score_table(result: Any) -> SummaryTable:
    """Return a line for each score of each evaluator: the mean of each system, and how many rows have none."""
    by_system = [values.get("scores", {}) for values in result.summary.values()]
    names = list(
        dict.fromkeys(
            (evaluator, key)
            for scores in by_system
            for evaluator in scores
            for key in scores[evaluator]
        )
    )
    lines = []
    for evaluator, key in names:
        found = [scores.get(evaluator, {}).get(key) or {} for scores in by_system]
        unscored = sum(int(score.get("unscored") or 0) for score in found)
        means = map(_mean_text, found)
        lines.append((key, evaluator.strip("*"), *means, str(unscored)))
    return SummaryTable(("score", "evaluator", *result.summary, "unscored"), tuple(lines))


def _mean_text(score: Mapping[str, Any]) -> str:
    """Return the mean of a score as text, with its interval where there is one."""
    if not score.get("n"):
        return "-"
    mean = f"{score['mean']:.4f}"
    return (
        f"{mean} ({_end_text(score['low'])} to {_end_text(score['high'])})"
        if "low" in score
        else mean
    )


def _end_text(value: float) -> str:
    """Return the end of an interval as the table of the terminal shows it."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 10 else f"{value:.4f}"

"""The main table: what the metrics say of each system, in words and numbers for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench_html.svg import number

_NESTED = ("scores", "sources")


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

    The first table holds what matters, the second what a metric declares as a detail.
    """
    declared = {key: value for metric in result.metrics for key, value in metric.values.items()}
    keys = list(
        dict.fromkeys(
            key for values in result.summary.values() for key in values if key not in _NESTED
        )
    )
    tables: tuple[list[tuple[int, tuple[str, ...]]], ...] = ([], [])
    for key in keys:
        pattern = _pattern(declared, key)
        meaning = declared.get(pattern)
        is_alone = (
            pattern.endswith("*")
            and sum(_pattern(declared, other) == pattern for other in keys) == 1
        )
        if is_alone:  # one dataset is the whole
            continue
        heading = key if meaning is None else meaning.heading.replace("*", key[len(pattern) - 1 :])
        form = "number" if meaning is None else meaning.format
        cells = (heading, *(_cell(values, key, form) for values in result.summary.values()))
        tables[bool(meaning and meaning.detail)].append(
            (500 if meaning is None else meaning.order, cells)
        )
    headings = ("value", *result.summary)
    first, second = (
        tuple(line for _, line in sorted(table, key=lambda line: line[0])) for table in tables
    )
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
        means = (number(score.get("mean")) if score.get("n") else "–" for score in found)
        lines.append((key, evaluator.strip("*"), *means, str(unscored)))
    return SummaryTable(("score", "evaluator", *result.summary, "unscored"), tuple(lines))


def _pattern(declared: Mapping[str, Any], key: str) -> str:
    if key in declared:
        return key
    return next(
        (name for name in declared if name.endswith("*") and key.startswith(name[:-1])), key
    )


def _cell(values: Mapping[str, Any], key: str, form: str) -> str:
    value = values.get(key)
    covered = values.get("sources", {}).get(key, {}).get("covered", 1)
    if covered < 1:
        return f"– ({covered:.0%} of rows)"
    if value is None or isinstance(value, Mapping):
        return "–"
    if isinstance(value, float) and not math.isfinite(value):
        return "never"
    return _FORMS.get(form, number)(value)


_FORMS = {
    "score": lambda value: f"{value:.4f}",
    "percent": lambda value: f"{100 * value:.1f} %",
    "count": lambda value: f"{value:,.0f}",
    "factor": lambda value: f"{value:.3g}×",
    "seconds": lambda value: f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.3g} ms",
}

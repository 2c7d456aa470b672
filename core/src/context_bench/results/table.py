"""The summary as text: its columns, the format of a value, and the table of the scores below it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.plugins.manifest import SummaryValue
from context_bench.records import ANY_KEY, shown_seconds
from context_bench.results.columns import SOURCES
from context_bench.results.registry import RunMetric
from context_bench.results.summary import NESTED, SCORES

Summary = Mapping[str, Mapping[str, Any]]
"""Values of the metrics by key, by system."""
_NO_SCORE: Mapping[str, Any] = {"n": 0, "failed": 0, "unscored": 0}
_LARGE = 100
_COUNT = 10


def _format_number(value: float) -> str:
    if not math.isfinite(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"


def _format_money(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"


_FORMATTERS: Mapping[str, Callable[[float], str]] = {
    "score": "{:.4f}".format,
    "percent": lambda value: f"{100 * value:.1f} %",
    "count": "{:.0f}".format,
    "money": _format_money,
    "factor": "{:.3g}x".format,
    "seconds": shown_seconds,
    "number": _format_number,
}


@frozen
class Column:
    """One column of the summary.

    Attributes:
        key: Summary key.
        heading: Its heading.
        format: One of :data:`~context_bench.plugins.manifest.FORMATS`.
        until: Summary key of the end of an interval, of which ``key`` is the beginning; empty for
            a single value.
    """

    key: str
    heading: str
    format: str = "number"
    until: str = ""

    def text(self, values: Mapping[str, Any]) -> str:
        """Return the value of a system as text; a dash when it has no value."""
        source = values.get(SOURCES, {}).get(self.key)
        if source is not None and source["covered"] < 1:
            return f"- ({100 * source['covered']:.0f} %)"
        shown = [_FORMATTERS[self.format](value) for value in self._values(values)]
        return " to ".join(shown) or "-"

    def _values(self, values: Mapping[str, Any]) -> list[float]:
        """Return the value of a system, or both ends of its interval; nothing where it has none."""
        keys = (self.key, self.until) if self.until else (self.key,)
        found = [values[key] for key in keys if values.get(key) is not None]
        return found if len(found) == len(keys) else []


def summary_columns(
    metrics: Iterable[RunMetric], summary: Summary, everything: bool = False
) -> list[Column]:
    """Return the columns for which some system has a value, in the order that the metrics declare.

    Args:
        metrics: The metrics.
        summary: Their values.
        everything: Whether to include columns that only files show.
    """
    declared: dict[str, SummaryValue] = {}
    for metric in metrics:
        declared.update(metric.values)
    pattern_by_key = {key: _pattern(declared, key) for key in _keys(summary)}
    patterns = list(pattern_by_key.values())
    ends = {value.until for value in declared.values()}
    ordered = []
    for key, pattern in pattern_by_key.items():
        if key in ends:
            continue
        value = declared.get(pattern, SummaryValue(heading=key, format="score"))
        if pattern.endswith("*") and patterns.count(pattern) == 1:
            continue  # the mean of a single dataset is the mean of all rows
        if value.detail and not everything:
            continue
        heading = value.heading.replace("*", key[len(pattern) - 1 :])
        ordered.append((value.order, Column(key, heading, value.format, value.until)))
    ordered.sort(key=lambda pair: pair[0])
    return [column for _, column in ordered]


def _keys(summary: Summary) -> list[str]:
    """Return the keys of all systems: those with a value, then those that only have a source."""
    keys: dict[str, None] = {}
    for values in summary.values():
        keys.update(dict.fromkeys(key for key in values if key not in NESTED))
    for values in summary.values():
        keys.update(dict.fromkeys(values.get(SOURCES, ())))
    return list(keys)


def _pattern(declared: Mapping[str, SummaryValue], key: str) -> str:
    """Return the declared key that matches a key; the key itself when no declared key does."""
    if key in declared:
        return key
    for name in declared:
        if name.endswith("*") and key.startswith(name[:-1]):
            return name
    return key


def score_table(summary: Summary, left_out: Iterable[str]) -> tuple[list[str], list[list[str]]]:
    """Return headings and lines of the mean of every score, and how many rows have none.

    A score that no row of any system has is left to the warnings.

    Args:
        summary: The summary.
        left_out: Keys of scores that are shown elsewhere.
    """
    scores_by_system = [values[SCORES] for values in summary.values()]
    excluded = set(left_out)
    lines = []
    unscored = []
    for evaluator, key in _score_keys(scores_by_system):
        scores = [scores.get(evaluator, {}).get(key, _NO_SCORE) for scores in scores_by_system]
        if key in excluded or not any(score["n"] - score["failed"] for score in scores):
            continue
        short_name = evaluator.rpartition("/")[2].strip(ANY_KEY)
        lines.append([key, short_name, *map(mean_text, scores)])
        unscored.append(sum(score["unscored"] for score in scores))
    headings = ["score", "by", *summary]
    if any(unscored):
        headings.append("unscored")
        lines = [[*line, str(count)] for line, count in zip(lines, unscored)]
    return headings, lines


def _score_keys(scores_by_system: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return evaluator and key of every score, each once, in the order of appearance."""
    keys: dict[tuple[str, str], None] = {}
    for scores_by_evaluator in scores_by_system:
        for evaluator, scores in scores_by_evaluator.items():
            keys.update(dict.fromkeys((evaluator, key) for key in scores))
    return list(keys)


def mean_text(score: Mapping[str, Any]) -> str:
    """Return the mean of a score as text, with its interval where there is one."""
    if not score.get("n"):
        return "-"
    mean = _FORMATTERS["score"](score["mean"])
    if "low" not in score:
        return mean
    return f"{mean} ({_end_text(score['low'])} to {_end_text(score['high'])})"


def _end_text(value: float) -> str:
    """Return the end of an interval as text: of a count, such as tokens, to three digits."""
    return _format_number(value) if abs(value) >= _COUNT else _FORMATTERS["score"](value)

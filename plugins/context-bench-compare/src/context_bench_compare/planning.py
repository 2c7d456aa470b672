"""What a run would take before money is spent on it: rows for a margin, calls, tokens, minutes and money, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError
from context_bench.runs import Run
from context_bench_compare.columns import read_columns
from context_bench_compare.entrants import baseline_of, entrants_of
from context_bench_compare.intervals import difference_interval, too_few
from context_bench_compare.matching import paired
from context_bench_compare.power import (
    MOST_PRECISE,
    imagined_by,
    reach_of,
    rows_for_margin,
    standard_error,
)
from context_bench_compare.verdicts import require_above_zero, require_confidence

PILOT_ROWS = 10
"""Fewer matched rows of a pilot tell nothing about the spread, and fewer clusters than an interval takes do not either."""


@frozen
class Plan:
    """What it takes to decide about one system.

    Attributes:
        system, baseline: Names of the two.
        metric: What is decided about.
        margin: What may be lost.
        pilot_rows: Matched rows that the plan rests on.
        deviation: Standard deviation of the differences of single rows; with clusters, as if each row stood alone.
        rows: Matched rows that show the margin in four runs of five, if the two are equally good.
        calls: Requests, of both systems, retries of the pilot included.
        tokens: Prompt and response tokens of both; None when nobody counted them.
        minutes: At the pilot's rate; None when it is unknown.
        cost: Money; None when nobody knows it.
        pilot_shows: Smallest difference that the pilot itself finds four times in five; infinite where its clusters are too few.
    """

    system: str
    baseline: str
    metric: str
    margin: float
    pilot_rows: int
    deviation: float
    rows: int
    calls: int
    tokens: int | None
    minutes: float | None
    cost: float | None
    pilot_shows: float

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-like values."""
        from attrs import asdict

        return {key: None if value == math.inf else value for key, value in asdict(self).items()}


def plans(
    run: Run,
    metric: str,
    margin: float,
    baseline: str | None = None,
    confidence: float = 0.95,
    requests_per_minute: float | None = None,
) -> list[Plan]:
    """Return what it takes to show each system of a pilot no worse than the baseline by more than a margin.

    Args:
        run: The pilot.
        metric: Score to decide about.
        margin: What may be lost, above zero.
        baseline: Label of the baseline; None takes the run's own, or its first system.
        confidence: Of the interval that decides.
        requests_per_minute: Limit of the endpoint; None goes by the pilot's latency, one call at a time.

    Raises:
        ConfigurationError: The margin or the limit is not above zero, the confidence is none, or the pilot has too
            few rows or systems.
        UnknownNameError: The metric or the baseline is unknown.
    """
    require_above_zero("The margin", margin, ": it is what may be lost")
    require_confidence(confidence)
    if requests_per_minute is not None:
        require_above_zero("--rpm", requests_per_minute)
    entrants = entrants_of([run], [baseline])
    if len(entrants) < 2:
        raise ConfigurationError(
            f"{run.path} holds one system only. A pilot needs the baseline beside it."
        )
    against = baseline_of(entrants, baseline)
    columns = read_columns(run, [metric])
    spent = _spent(run)
    found = []
    for one in entrants:
        if (
            one is against
            or (one.system, metric) not in columns
            or (against.system, metric) not in columns
        ):
            continue
        pairs = paired(columns[one.system, metric], columns[against.system, metric])
        rows = len(pairs.ours)
        missing = too_few(rows, pairs.clusters, PILOT_ROWS)
        if missing is not None:
            raise ConfigurationError(
                f"The pilot {run.path} tells nothing about the spread: {missing.reason}."
            )
        differences = pairs.ours - pairs.theirs
        error = standard_error(differences, pairs.clusters)
        deviation = error * math.sqrt(rows)
        size = pairs.largest
        if margin < MOST_PRECISE * max(size, deviation):
            raise ConfigurationError(
                f"No run shows a margin of {margin:g} beside differences of {size:g} in the pilot."
            )
        interval = difference_interval(differences, pairs.clusters, confidence, pairs.measured)
        imagined = imagined_by(interval, differences, pairs.clusters)
        needed = rows_for_margin(deviation, margin, 0.0, confidence, size=size, imagined=imagined)
        both = [spent[name.system] for name in (one, against)]
        calls = math.ceil(needed * sum(each["attempts"] for each in both))
        found.append(
            Plan(
                one.name,
                against.name,
                metric,
                margin,
                rows,
                deviation,
                needed,
                calls,
                _total([each["tokens"] for each in both], needed),
                calls / requests_per_minute
                if requests_per_minute
                else needed * sum(each["latency"] for each in both) / 60,
                _total([each["cost"] for each in both], needed),
                reach_of(differences, pairs.clusters, interval, size, pairs.measured).shows(
                    confidence
                ),
            )
        )
    if not found:
        raise ConfigurationError(f"No two systems of {run.path} have a value of {metric}.")
    return found


def _spent(run: Run) -> Mapping[str, Mapping[str, Any]]:
    """Return what a row of each system took on average: attempts, seconds, tokens and money."""
    sums: dict[str, dict[str, Any]] = {}
    for row in run.rows():
        each = sums.setdefault(
            row.system, {"rows": 0, "attempts": 0, "latency": 0.0, "tokens": 0, "cost": 0.0}
        )
        each["rows"] += 1
        each["attempts"] += row.attempts
        each["latency"] += row.latency
        tokens = None if row.prompt_tokens is None else row.prompt_tokens + row.response_tokens
        each["tokens"] = (
            None
            if each["tokens"] is None or (tokens is None and not row.failed)
            else each["tokens"] + (tokens or 0)
        )
        each["cost"] = (
            None
            if each["cost"] is None or (row.cost is None and not row.failed)
            else each["cost"] + (row.cost or 0.0)
        )
    return {
        system: {
            key: None if value is None else value / each["rows"] for key, value in each.items()
        }
        for system, each in sums.items()
    }


def _total(each: list[float | None], rows: int) -> Any:
    if any(one is None for one in each):
        return None
    total = rows * sum(one or 0.0 for one in each)
    return math.ceil(total) if total > 100 else total

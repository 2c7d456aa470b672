"""What a run would take before money is spent on it: rows for a margin, calls, tokens, minutes and money, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import frozen

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run
from context_bench_compare.columns import read_columns
from context_bench_compare.differences import too_few_units
from context_bench_compare.entrants import baseline_of, entrants_of
from context_bench_compare.gates import BASES, GUARANTEE, TEST
from context_bench_compare.intervals import Floats, TooFew, counted
from context_bench_compare.matching import paired
from context_bench_compare.power import (
    LARGEST,
    MOST_PRECISE,
    POWER,
    Reach,
    least_rows,
    reach_of,
    rows_for_margin,
    standard_error,
)
from context_bench_compare.sign_flip import MINIMUM_UNITS
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
        rows_low, rows_high: Between which that number lies in four pilots of five.
        basis: What decides: the guarantee or the test.
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
    rows_low: int
    rows_high: int
    basis: str
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
    basis: str = GUARANTEE,
) -> list[Plan]:
    """Return what it takes to show each system of a pilot no worse than the baseline by more than a margin.

    Args:
        run: The pilot.
        metric: Score to decide about.
        margin: What may be lost, above zero.
        baseline: Label of the baseline; None takes the run's own, or its first system.
        confidence: Of the interval that decides.
        requests_per_minute: Limit of the endpoint; None goes by the pilot's latency, one call at a time.
        basis: ``"guarantee"`` or ``"test"``: whose interval decides.

    Raises:
        ConfigurationError: The margin or the limit is not above zero, the confidence is none, or the pilot has too
            few rows or systems.
        UnknownNameError: The metric or the baseline is unknown.
    """
    require_above_zero("The margin", margin, ": it is what may be lost")
    require_confidence(confidence)
    if basis not in BASES:
        raise UnknownNameError("basis of a plan", basis, BASES)
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
        missing = _too_few(rows, pairs.clusters)
        if missing is not None:
            raise ConfigurationError(
                f"The pilot {run.path} tells nothing about the spread: {missing.reason}."
            )
        differences = pairs.ours - pairs.theirs
        deviation = standard_error(differences, pairs.clusters) * math.sqrt(rows)
        size = pairs.largest
        if margin < MOST_PRECISE * max(size, deviation):
            raise ConfigurationError(
                f"No run shows a margin of {margin:g} beside differences of {size:g} in the pilot."
            )
        reach = reach_of(differences, pairs.clusters, pairs.measured, size)
        needed = rows_needed(reach, margin, confidence, basis)
        low, high = _range(reach, deviation, margin, confidence, needed)
        both = [spent[name.system] for name in (one, against)]
        calls = math.ceil(needed * sum(each["attempts"] for each in both))
        minutes = needed * sum(each["latency"] for each in both) / 60
        found.append(
            Plan(
                system=one.name,
                baseline=against.name,
                metric=metric,
                margin=margin,
                pilot_rows=rows,
                deviation=deviation,
                rows=needed,
                rows_low=low,
                rows_high=high,
                basis=basis,
                calls=calls,
                tokens=_total([each["tokens"] for each in both], needed),
                minutes=calls / requests_per_minute if requests_per_minute else minutes,
                cost=_total([each["cost"] for each in both], needed),
                pilot_shows=reach.shows(confidence),
            )
        )
    if not found:
        raise ConfigurationError(f"No two systems of {run.path} have a value of {metric}.")
    return found


def _too_few(rows: int, clusters: Any) -> TooFew | None:
    if rows < PILOT_ROWS:
        return TooFew(f"{counted(rows, 'row')}, {PILOT_ROWS} are needed")
    return too_few_units(rows, clusters)


def rows_needed(reach: Reach, margin: float, confidence: float, basis: str) -> int:
    """Return how many rows show a margin in four runs of five of equal systems, by simulating what decides.

    More units than are simulated, and those of a pilot of which hardly any differ, are found by the normal distribution.

    Args:
        reach: What the pilot knows of the differences.
        margin: What may be lost.
        confidence: Of the interval that decides.
        basis: ``"guarantee"`` or ``"test"``.
    """
    rows = float(reach.sizes.sum())
    deviation = reach.error * math.sqrt(rows)
    imagined = 0.0
    if basis == GUARANTEE:
        imagined = reach.largest * rows / len(reach.sums)
    start = rows_for_margin(
        deviation, margin, 0.0, confidence, size=reach.largest, imagined=imagined
    )
    if start * len(reach.sums) / rows > LARGEST or reach.differing < MINIMUM_UNITS:
        return start
    by_test = basis == TEST
    return least_rows(
        lambda count: reach.rules_out(margin, count, confidence, by_test=by_test), start, POWER
    )


def _range(
    reach: Reach, deviation: float, margin: float, confidence: float, needed: int
) -> tuple[int, int]:
    """Return between which numbers of rows four pilots of five put what is needed: pilots are drawn from this one."""
    units, rows = len(reach.sums), float(reach.sizes.sum())
    at = rows_for_margin(deviation, margin, 0.0, confidence, size=reach.largest)
    if not reach.differing:
        unseen = 1 - 0.1 ** (1 / units)
        return needed, max(
            needed, rows_for_margin(reach.largest * math.sqrt(unseen), margin, 0.0, confidence)
        )
    places = np.random.default_rng(0).integers(0, units, (400, units))
    sums, sizes = reach.sums[places], reach.sizes[places]
    totals = sizes.sum(axis=1)
    means = sums.sum(axis=1) / totals
    squares = ((sums - means[:, None] * sizes) ** 2).sum(axis=1)
    variances = squares * units / (units - 1) / totals**2
    spreads = np.sqrt(variances * rows)
    drawn: Floats = np.array(
        [
            rows_for_margin(float(one), margin, 0.0, confidence, size=reach.largest)
            for one in spreads
        ]
    )
    low, high = np.quantile(drawn, (0.1, 0.9)) * needed / at
    return min(needed, _two_digits(float(low))), max(needed, _two_digits(float(high)))


def _two_digits(rows: float) -> int:
    step = 10 ** max(0, math.floor(math.log10(max(rows, 1))) - 1)
    return int(round(rows / step) * step)


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

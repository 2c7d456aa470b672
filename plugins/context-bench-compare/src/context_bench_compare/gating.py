"""Gates held against runs: which rows and which baseline each of them looks at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run, open_run
from context_bench_compare.baselines import BASELINES, find_baseline
from context_bench_compare.columns import (
    MEASURES,
    PRIMARY,
    Column,
    currency_of,
    read_columns,
    threshold_of,
)
from context_bench_compare.differences import difference_test, guaranteed_difference
from context_bench_compare.entrants import Entrant, baseline_of, difference_between, entrants_of
from context_bench_compare.gates import (
    FAILED,
    INCONCLUSIVE,
    PASSED,
    TEST,
    TIMES,
    Gate,
    Outcome,
    judge_difference,
    judge_value,
)
from context_bench_compare.intervals import (
    MINIMUM_ROWS,
    Clusters,
    Floats,
    Interval,
    TooFew,
    counted,
    mean_interval,
    percentile_interval,
    plain_mean_interval,
)
from context_bench_compare.matching import clusters_of, paired
from context_bench_compare.places import dataset_at
from context_bench_compare.power import standard_error
from context_bench_compare.ratio_intervals import mean_of_any_interval, unbounded_mean_interval
from context_bench_compare.strata import Growing, interval_over, weights_of
from context_bench_compare.verdicts import Pairs

PASS_RATE = "pass_rate"

_SHOWN_SCORES = 20
"""Scores at most that are listed where one is misspelt."""

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
"""Percentiles of the latency, in seconds."""

_OWN_NAMES = (PASS_RATE, *PERCENTILES)
"""What gates hold that is neither a score nor a measure."""

_NO_PERCENTILE = TooFew("a percentile over several datasets takes all rows")

SUMS = ("cost",)
"""Measures of which the sum is held against a bound, and not the mean."""


def judge(
    run: Run,
    gates: Sequence[Gate],
    systems: Sequence[str] = (),
    baseline: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
    folder: Path = BASELINES,
    until: int | None = None,
    growing: Growing | None = None,
    anyway: bool = False,
) -> list[Outcome]:
    """Return how each gate came out for each system, the baseline's own aside.

    Args:
        run: The run.
        gates: The gates.
        systems: Labels of the systems to hold; empty takes all but the baseline.
        baseline: Label of the run's baseline; None takes its own.
        threshold: Score that passes, for ``pass_rate``; None takes that of the run.
        cluster: As for :func:`~context_bench_compare.comparing.compare_runs`.
        folder: Where named baselines lie.
        until: Packed place of the first row that is left out; None takes all.
        growing: Of which of several datasets rows are still to come; None when all rows are there, or there is one dataset.

        anyway: Whether to hold scores of other versions or layouts against each other.

    Raises:
        ConfigurationError: A gate needs a baseline and there is none, or one that was scored or asked in another way.
        UnknownNameError: A metric or a baseline is unknown.
        StoreError: A baseline cannot be read.
    """
    entrants = entrants_of([run], [baseline, *systems])
    needs_own = any(gate.is_paired and gate.against is None for gate in gates)
    against = baseline_of(entrants, baseline) if needs_own or baseline is not None else None
    held = (
        [one for one in entrants if one.system in systems]
        if systems
        else [one for one in entrants if one is not against]
    )
    if not held:
        _require_own(run, gates)
    threshold = threshold_of(run) if threshold is None else threshold
    metrics = sorted({_metric_of(gate, run) for gate in gates})
    columns = read_columns(run, metrics, until, other_names=_OWN_NAMES)
    outcomes = []
    for gate in gates:
        for one in held:
            name = gate if len(held) == 1 else _named(gate, one)
            ours = _column(columns, one, gate, threshold)
            if not gate.is_paired:
                outcomes.append(_valued(name, gate, ours, cluster, growing))
            elif gate.against is None:
                assert against is not None
                theirs = _column(columns, against, gate, threshold)
                _require_alike(
                    gate,
                    against.name,
                    None if anyway else difference_between(one, against, ours, theirs),
                )
                outcomes.append(_against(name, gate, ours, theirs, cluster, growing))
            else:
                with open_run(find_baseline(gate.against, folder)) as other:
                    theirs = _theirs(other, one, gate, threshold)
                    why = difference_between(
                        one, Entrant(theirs.system, other, theirs.system), ours, theirs
                    )
                    _require_alike(gate, gate.against, None if anyway else why)
                    outcomes.append(_against(name, gate, ours, theirs, cluster, growing))
    return outcomes


def _require_alike(gate: Gate, against: str, why: str | None) -> None:
    if why is not None:
        raise ConfigurationError(f"The gate {gate} cannot be judged against {against}: {why}.")


def require_judgeable(run: Run, gates: Sequence[Gate], score_keys: Sequence[str]) -> None:
    """Refuse gates of scores that no row will have, before the rows are paid for.

    Args:
        run: The run, as it begins.
        gates: The gates.
        score_keys: Keys that its scores can have.

    Raises:
        UnknownNameError: No evaluator gives its score.
    """
    known = {*score_keys, *MEASURES, PRIMARY, *_OWN_NAMES}
    for gate in gates:
        if _metric_of(gate, run) not in known:
            is_short = 0 < len(score_keys) <= _SHOWN_SCORES
            hint = f"The scores are {', '.join(score_keys)}." if is_short else ""
            raise UnknownNameError("score", gate.metric, known, hint)


def require_baseline(run: Run, gates: Sequence[Gate]) -> None:
    """Refuse gates that compare with a baseline in a run of one system.

    Raises:
        ConfigurationError: A gate needs a baseline and names none.
    """
    if len(entrants_of([run])) < 2:
        _require_own(run, gates)


def _require_own(run: Run, gates: Sequence[Gate]) -> None:
    if any(gate.is_paired and gate.against is None for gate in gates):
        raise ConfigurationError(
            f"{run.path} holds one system only, so it has no baseline. Write vs=@NAME behind the gate, or run a baseline "
            "beside it."
        )


def _named(gate: Gate, entrant: Entrant) -> Gate:
    return evolve(gate, metric=f"{entrant.name} {gate.metric}")


def _metric_of(gate: Gate, run: Run) -> str:
    """Return what a gate looks at; the share of rows that pass is that of the run's own ``score_field``."""
    if gate.metric == PASS_RATE:
        return str(run.request.get("score_field") or PRIMARY)
    return "latency" if gate.metric in PERCENTILES else gate.metric


def _column(
    columns: Mapping[tuple[str, str], Column], entrant: Entrant, gate: Gate, threshold: float
) -> Column:
    metric = _metric_of(gate, entrant.run)
    found = columns.get((entrant.system, metric))
    if found is None:
        raise ConfigurationError(
            f"{entrant.name} has no value of {metric}, so the gate {gate} cannot be judged."
        )
    return found.passed(threshold) if gate.metric == PASS_RATE else found


def _theirs(other: Run, one: Entrant, gate: Gate, threshold: float) -> Column:
    """Return the column of a named baseline: that of the system of the same name, or of its only system."""
    columns = read_columns(other, [_metric_of(gate, other)])
    labels = [str(system["label"]) for system in other.systems]
    label = one.system if one.system in labels else labels[0] if len(labels) == 1 else None
    if label is None:
        raise ConfigurationError(
            f"The baseline {other.path} holds {', '.join(labels)}, but no {one.system}. Give the systems the same labels."
        )
    return _column(columns, Entrant(label, other, label), gate, threshold)


def _valued(
    name: Gate, gate: Gate, column: Column, cluster: str | None, growing: Growing | None
) -> Outcome:
    values, unit = column.values, _unit_of(gate, column.run)
    if gate.metric in SUMS:
        return _of_known(
            judge_value(name, float(values.sum()), None, len(values), unit), column.unknown
        )
    clusters = clusters_of(column.run, column.places, cluster)
    if gate.metric in PERCENTILES:
        share = PERCENTILES[gate.metric]
        interval = _of_percentile((values,), share, clusters, growing, gate.confidence)
        return judge_value(name, float(np.quantile(values, share)), interval, len(values), unit)
    is_share = bool(((values >= 0) & (values <= 1)).all())
    datasets = dataset_at(column.places)
    if gate.basis == TEST:
        estimate = plain_mean_interval if is_share else mean_of_any_interval
    elif gate.metric in MEASURES:
        estimate = unbounded_mean_interval
    else:
        estimate = mean_interval if is_share else mean_of_any_interval
    interval = interval_over(values, datasets, clusters, growing, gate.confidence, estimate)
    mean = float((values * weights_of(datasets, growing)).mean())
    found = judge_value(name, mean, interval, len(values), unit)
    if (
        found.state != INCONCLUSIVE
        or gate.metric != "latency"
        or found.more_rows is None
        or isinstance(interval, TooFew)
    ):
        return found
    has_both = math.isfinite(interval.low) and math.isfinite(interval.high)
    return (
        found if has_both else evolve(found, sentence=f"{found.sentence}; p50 takes {MINIMUM_ROWS}")
    )


def _unit_of(gate: Gate, run: Run) -> str:
    """Return what the values of a gate are told in; empty for a score."""
    if gate.metric == "cost":
        return currency_of(run)
    return "s" if gate.metric in TIMES else "tokens" if gate.metric in MEASURES else ""


def _of_known(outcome: Outcome, unknown: int) -> Outcome:
    """Return how a sum came out of which some parts are unknown: what is above a bound without them stays above it."""
    if not unknown or (outcome.gate.kind, outcome.state) in (("max", FAILED), ("min", PASSED)):
        return outcome
    have = "has" if unknown == 1 else "have"
    told = f"{outcome.sentence}; {counted(unknown, 'answered row')} {have} no known value, so it may be more"
    return Outcome(outcome.gate, INCONCLUSIVE, told)


def _against(
    name: Gate,
    gate: Gate,
    ours: Column,
    theirs: Column,
    cluster: str | None,
    growing: Growing | None,
) -> Outcome:
    pairs = paired(ours, theirs, cluster)
    if not len(pairs.ours):
        raise ConfigurationError(
            f"{ours.run.path} and its baseline {theirs.run.path} have no row in common."
        )
    found = _judged(name, gate, pairs, growing, _unit_of(gate, ours.run))
    if gate.metric in SUMS:
        found = _of_known(found, ours.unknown + theirs.unknown)
    if not pairs.unmatched:
        return found
    return evolve(found, sentence=f"{found.sentence}; {_left_out(pairs.unmatched)}")


def _left_out(unmatched: int) -> str:
    return f"{counted(unmatched, 'row')} without a counterpart {'is' if unmatched == 1 else 'are'} left out"


def _judged(name: Gate, gate: Gate, pairs: Pairs, growing: Growing | None, unit: str) -> Outcome:
    mine, other = pairs.ours, pairs.theirs
    if gate.metric in PERCENTILES:
        share = PERCENTILES[gate.metric]
        interval = _of_percentile((mine, other), share, pairs.clusters, growing, gate.confidence)
        base = float(np.quantile(other, share))
        difference = float(np.quantile(mine, share)) - base
        return judge_difference(
            name, difference, interval, len(mine), float("nan"), base, unit=unit
        )
    differences = mine - other
    if gate.metric in SUMS and not gate.relative:
        total = float(differences.sum())
        exact = Interval(total, total, "exact", gate.confidence)
        return judge_difference(name, total, exact, len(mine), 0.0, unit=unit)
    datasets = np.zeros(len(mine), dtype=np.int64) if pairs.datasets is None else pairs.datasets
    estimate = partial(guaranteed_difference, measured=pairs.measured)
    if gate.basis == TEST:
        estimate = partial(_tested, measured=pairs.measured)
    elif gate.metric in MEASURES:
        end = "low" if gate.kind == "max-drop" else "high"
        estimate = partial(guaranteed_difference, measured=pairs.measured, open_end=end)
    interval = interval_over(
        differences, datasets, pairs.clusters, growing, gate.confidence, estimate
    )
    deviation = standard_error(differences, pairs.clusters) * math.sqrt(len(differences))
    found, base = (
        float((values * weights_of(datasets, growing)).mean()) for values in (differences, other)
    )
    return judge_difference(name, found, interval, len(mine), deviation, base, pairs.largest, unit)


def _tested(
    differences: Floats, clusters: Clusters | None, confidence: float, measured: float | None
) -> Interval | TooFew:
    return difference_test(differences, clusters, confidence, measured).interval


def _of_percentile(
    columns: tuple[Floats, ...],
    share: float,
    clusters: Clusters | None,
    growing: Growing | None,
    confidence: float,
) -> Interval | TooFew:
    """Return the interval of a percentile of one column, or of what parts those of two; whole clusters are drawn."""
    if growing:
        return _NO_PERCENTILE
    return percentile_interval(columns, share, clusters, confidence)

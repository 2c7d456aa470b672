"""`assert_not_worse`: a result is not worse than a baseline by more than a margin, row by row.

The rules are those of `context-bench compare --gate KEY:max-drop=MARGIN`, from context-bench-compare.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from attrs import evolve, frozen

from context_bench import EvalResult
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import Run, open_run
from context_bench_compare.baselines import find_baseline
from context_bench_compare.columns import PRIMARY, Column, read_columns, threshold_of
from context_bench_compare.entrants import Entrant, difference_between
from context_bench_compare.gates import (
    FAILED,
    GUARANTEE,
    INCONCLUSIVE,
    PASSED,
    Gate,
    Outcome,
    gates_of,
)
from context_bench_compare.gating import PASS_RATE, PERCENTILES, judge
from context_bench_compare.matching import in_common, places_of
from context_bench_compare.places import identity_of, sample_at
from context_bench_pytest.row_texts import SHOWN_ROWS, row_lines, run_file_of
from context_bench_pytest.score_assertion import OBSERVED, gate_text, require_whole, system_of

_ROUNDING = 1e-9
_ON_INCONCLUSIVE = ("fail", "warn")


class InconclusiveWarning(UserWarning):
    """The rows are too few to show that a result is not worse than its baseline, or that it is."""


def assert_not_worse(
    result: EvalResult,
    baseline: EvalResult | str | os.PathLike[str],
    *,
    margin: float | str,
    key: str = PRIMARY,
    system: str | None = None,
    basis: str = GUARANTEE,
    confidence: float = 0.95,
    inconclusive: str = "fail",
) -> None:
    """Fail unless a system is at most a margin worse than a baseline; the message shows the rows that lost most.

    Rows are matched by the content of their examples. What is worse depends on the score: a lower value, or a higher one
    of a score such as latency.

    Args:
        result: What the fixture or :func:`context_bench.evaluate` returned.
        baseline: Another result; a run file (a path, or text that ends with `.sqlite`); `@NAME` of a baseline that
            `context-bench baseline promote` stored in the folder
            `baselines`; or the label of another system of this result.
        margin: Loss that is accepted: 0.02, `"2pp"`, or `"5%"` of the baseline's value for a score of which less is
            better.
        key: Score, `score` for the primary score, `pass_rate`, or a measure such as `latency`, `p95` or `cost`.
        system: Label of the system; needed only for a result of several.
        basis: `guarantee` rules out a greater loss whatever the rows did not show; `test` by the paired test, which
            takes fewer rows; `observed` compares the means of these rows only, without confidence in other rows.
        confidence: Of the interval; not used with `observed`.
        inconclusive: `fail` if the interval contains the margin, so that more rows are needed; or `warn`.

    Raises:
        AssertionError: The loss is greater than the margin, or not shown to be smaller.
        ConfigurationError: The two cannot be compared, or an argument has a wrong value.
        UnknownNameError: No score, system or baseline has the name.
    """
    __tracebackhide__ = True
    if inconclusive not in _ON_INCONCLUSIVE:
        raise UnknownNameError("value of inconclusive", inconclusive, _ON_INCONCLUSIVE)
    require_whole(result)
    with ExitStack() as opened:
        run = opened.enter_context(open_run(run_file_of(result)))
        ours = _side(run, system_of(result, system), key)
        path = _baseline_file(baseline)
        if path is None:
            theirs = _side(run, str(baseline), key)
        else:
            other = opened.enter_context(open_run(path))
            theirs = _side(other, _label_in(other, ours.label), key)
        for side in (ours, theirs):
            _require_complete(side.run)
        gate = _gate(ours, key, margin, basis, confidence)
        if basis == OBSERVED:
            outcome = _observed(gate, ours, theirs)
        elif path is None:
            [outcome] = judge(run, [gate], [ours.label], theirs.label)
        else:
            [outcome] = judge(run, [evolve(gate, against=str(path))], [ours.label])
        if outcome.state == PASSED:
            return
        lines = [f"{ours.label}: {gate_text(outcome.state, outcome.sentence, outcome.more_rows)}"]
        if key not in PERCENTILES:
            lines += _changed_rows(ours, theirs, key)
        lines.append(f"Run file: {run.path}")
    message = "\n".join(lines)
    if outcome.state == INCONCLUSIVE and inconclusive == "warn":
        warnings.warn(InconclusiveWarning(message), stacklevel=2)
        return
    raise AssertionError(message)


@frozen(eq=False)
class Side:
    """One of the two systems that are compared.

    Attributes:
        run: Its run.
        label: Its label there.
        column: Its values; where the key is `pass_rate`, 1.0 for each row that passes and 0.0 for the others.
    """

    run: Run
    label: str
    column: Column


def _side(run: Run, label: str, key: str) -> Side:
    """Read the values of a system.

    Raises:
        UnknownNameError: The run has no such system, or no such score.
        ConfigurationError: The system has no value of the score.
    """
    labels = [str(system["label"]) for system in run.systems]
    if label not in labels:
        raise UnknownNameError(f"system in {run.path}", label, labels)
    metric = key
    if key == PASS_RATE:
        metric = str(run.request.get("score_field") or PRIMARY)
    elif key in PERCENTILES:
        metric = "latency"
    column = read_columns(run, [metric], other_names=(PASS_RATE, *PERCENTILES)).get((label, metric))
    if column is None:
        raise ConfigurationError(f"{label} has no value of {metric} in {run.path}.")
    return Side(run, label, column.passed(threshold_of(run)) if key == PASS_RATE else column)


def _baseline_file(baseline: EvalResult | str | os.PathLike[str]) -> Path | None:
    """Return the run file of a baseline; None if it is the label of a system in the same result."""
    if isinstance(baseline, EvalResult):
        require_whole(baseline)
        return run_file_of(baseline)
    name = os.fspath(baseline)
    is_file = not isinstance(baseline, str) or name.startswith("@") or name.endswith(".sqlite")
    return find_baseline(name) if is_file else None


def _label_in(run: Run, label: str) -> str:
    """Return the label of the counterpart of a system in another run: the same label, or the only system.

    Raises:
        ConfigurationError: There are several systems, and none with the label.
    """
    labels = [str(system["label"]) for system in run.systems]
    if label in labels:
        return label
    if len(labels) == 1:
        return labels[0]
    raise ConfigurationError(
        f"The baseline {run.path} has {', '.join(labels)}, but not {label}. Use equal labels."
    )


def _require_complete(run: Run) -> None:
    if not run.completeness.is_complete:
        raise ConfigurationError(f"{run.path} cannot be compared: {run.completeness.sentence}")


def _gate(side: Side, key: str, margin: float | str, basis: str, confidence: float) -> Gate:
    """Return the gate that decides.

    Raises:
        ConfigurationError: No value of the score is better than another, or the margin has a wrong form.
    """
    kinds = {"higher": "max-drop", "lower": "max-rise"}
    if side.column.better not in kinds:
        raise ConfigurationError(
            f"{key} has no direction that is better on all rows, so that none can be worse."
        )
    settings = {kinds[side.column.better]: margin, "confidence": confidence}
    settings["basis"] = GUARANTEE if basis == OBSERVED else basis
    [gate] = gates_of(key, settings, "assert_not_worse()")
    return gate


def _observed(gate: Gate, ours: Side, theirs: Side) -> Outcome:
    """Compare the mean difference of the matched rows with the margin, without an interval.

    Raises:
        ConfigurationError: The two were scored or called in different ways, or the key is a percentile.
    """
    if gate.metric in PERCENTILES:
        raise ConfigurationError("A percentile has no observed difference. Use basis='guarantee'.")
    why = difference_between(
        Entrant(ours.label, ours.run, ours.label),
        Entrant(theirs.label, theirs.run, theirs.label),
        ours.column,
        theirs.column,
    )
    if why is not None:
        raise ConfigurationError(f"{ours.label} cannot be compared with {theirs.label}: {why}.")
    matched = _matched(ours, theirs)
    difference = float(matched.changes.mean())
    base = float(theirs.column.values[matched.theirs].mean())
    amount = gate.amount * abs(base) if gate.relative else gate.amount
    loss = -difference if gate.kind == "max-drop" else difference
    sentence = (
        f"{gate.metric} changed by {difference:+.4g}, {gate.kind} {amount:g} "
        f"(observed, {len(matched.changes)} rows)"
    )
    return Outcome(gate, PASSED if loss <= amount + _ROUNDING else FAILED, sentence)


@frozen(eq=False)
class Matched:
    """The rows that two systems share.

    Attributes:
        ours, theirs: Indexes into the columns of the two, shape (rows,).
        changes: Value of the system less that of the baseline, shape (rows,).
    """

    ours: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    theirs: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    changes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def _matched(ours: Side, theirs: Side) -> Matched:
    """Return the rows with equal examples.

    Raises:
        ConfigurationError: There are none.
    """
    is_across = ours.run is not theirs.run
    places = [places_of(side.column, is_across) for side in (ours, theirs)]
    shared, (at_ours, at_theirs) = in_common(places)
    if not len(shared):
        raise ConfigurationError(f"{ours.run.path} and {theirs.run.path} have no row in common.")
    changes = ours.column.values[at_ours] - theirs.column.values[at_theirs]
    return Matched(at_ours, at_theirs, changes)


def _changed_rows(ours: Side, theirs: Side, key: str) -> Iterator[str]:
    """Yield the rows that lost most against the baseline."""
    matched = _matched(ours, theirs)
    sign = 1.0 if ours.column.better == "higher" else -1.0
    order = np.argsort(sign * matched.changes, kind="stable")
    lost = [index for index in order.tolist() if sign * matched.changes[index] < 0]
    if not lost:
        yield "No row is worse than in the baseline."
        return
    yield f"{len(lost)} of {len(order)} rows are worse than in the baseline:"
    for index in lost[:SHOWN_ROWS]:
        at_ours = int(matched.ours[index])
        at_theirs = int(matched.theirs[index])
        heading = (
            f"{key} {ours.column.values[at_ours]:.4g}, "
            f"baseline {theirs.column.values[at_theirs]:.4g}"
        )
        row = ours.run.row(_identity(ours, at_ours))
        yield from row_lines(ours.run, row, heading, theirs.run.row(_identity(theirs, at_theirs)))


def _identity(side: Side, index: int) -> tuple[int, int, int, int]:
    """Return the identity of a row in its run: dataset, position, system number, repetition."""
    place = int(side.column.places[index])
    dataset, position = identity_of(place)
    numbers = {system["label"]: system["system_number"] for system in side.run.systems}
    return dataset, position, int(numbers[side.label]), sample_at(place)

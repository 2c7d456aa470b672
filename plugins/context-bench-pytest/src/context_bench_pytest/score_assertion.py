"""`assert_score`: a score of a result is at least, or at most, a number."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench import EvalResult, EvalRow
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import open_run
from context_bench_pytest.row_texts import SHOWN_ROWS, row_lines, run_file_of

if TYPE_CHECKING:
    from context_bench_compare.gates import Gate

OBSERVED = "observed"
_ROUNDING = 1e-9
"""Difference that comes from adding up numbers in another order."""

_OF_PRIMARY = {"score": "mean_score", "mean_score": "mean_score", "pass_rate": "pass_rate"}
"""Names of what the summary has of each row's primary score."""


def assert_score(
    result: EvalResult,
    key: str = "score",
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    system: str | None = None,
    basis: str = OBSERVED,
    confidence: float = 0.95,
) -> None:
    """Fail unless a score is within bounds; the message shows the rows that are farthest off.

    Failed rows count as the worst value of the score, as everywhere; unscored rows are left out.

    Args:
        result: What the fixture or :func:`context_bench.evaluate` returned.
        key: A score of an evaluator; `score` for the primary score; or a value of the summary, such as `pass_rate` or
            `latency_p95`.
        at_least: Lower bound, in the unit of the score.
        at_most: Upper bound.
        system: Label of the system; needed only for a result of several.
        basis: `observed` compares the mean of these rows. `guarantee` and `test` require that the whole interval of the
            mean is within the bound, as `context-bench compare --gate` does; too few rows fail.
        confidence: Of that interval; not used with `observed`.

    Raises:
        AssertionError: A bound is violated, or with an interval not shown to hold, or the result is not complete.
        ConfigurationError: There is no bound, or no system is named where there are several.
        UnknownNameError: No score or system has the name.
    """
    __tracebackhide__ = True
    bounds = [Bound("min", at_least, 1.0), Bound("max", at_most, -1.0)]
    chosen = [bound for bound in bounds if bound.amount is not None]
    if not chosen:
        raise ConfigurationError("assert_score() has no bound. Pass at_least or at_most.")
    if not result.is_complete:
        raise AssertionError(f"The result is not complete: {result.completeness.sentence}")
    label = system_of(result, system)
    for bound in chosen:
        if basis == OBSERVED:
            problem = _problem(result, key, label, bound)
        else:
            problem = _problem_of_gate(result, label, _gate(key, bound, basis, confidence))
        if problem:
            lines = [problem, *_worst_rows(result, key, label, bound)]
            raise AssertionError("\n".join(lines))


@frozen
class Bound:
    """A bound of a score.

    Attributes:
        kind: `min` or `max`.
        amount: The bound; None where the caller has none.
        sign: 1.0 if more is better with this bound, else -1.0.
    """

    kind: str
    amount: float | None
    sign: float


def system_of(result: EvalResult, system: str | None) -> str:
    """Return the label of the system that is meant: the one named, or the only one besides baseline and controls.

    Raises:
        UnknownNameError: No system has the label.
        ConfigurationError: There are several.
    """
    labels = list(result.summary)
    if system is not None:
        if system not in labels:
            raise UnknownNameError("system of this result", system, labels)
        return system
    others = {result.config.get("baseline"), *result.config.get("derived", ())}
    held = [label for label in labels if label not in others] or labels
    if len(held) != 1:
        raise ConfigurationError(
            f"The result has several systems, so name one with system=: {', '.join(labels)}."
        )
    return held[0]


def _problem(result: EvalResult, key: str, label: str, bound: Bound) -> str:
    """Return why the mean of the rows violates a bound; an empty text if it does not."""
    amount = bound.amount
    assert amount is not None
    value = _value(result.summary[label], key, label)
    if math.isfinite(value) and bound.sign * (value - amount) >= -_ROUNDING:
        return ""
    word = "at least" if bound.kind == "min" else "at most"
    counts = _counts(result.summary[label])
    return f"{key} of {label} is {value:.4g}, but must be {word} {amount:g} ({counts})."


def _gate(key: str, bound: Bound, basis: str, confidence: float) -> Gate:
    from context_bench_compare.gates import gates_of

    settings = {bound.kind: bound.amount, "basis": basis, "confidence": confidence}
    [gate] = gates_of(key, settings, "assert_score()")
    return gate


def _problem_of_gate(result: EvalResult, label: str, gate: Gate) -> str:
    """Return how a gate came out; an empty text if it passed."""
    from context_bench_compare.gates import PASSED
    from context_bench_compare.gating import judge

    require_whole(result)
    with open_run(run_file_of(result)) as run:
        [outcome] = judge(run, [gate], [label])
    if outcome.state == PASSED:
        return ""
    return f"{label}: {gate_text(outcome.state, outcome.sentence, outcome.more_rows)}"


def gate_text(state: str, sentence: str, more_rows: int | None) -> str:
    """Return how a gate came out, and how many more rows would decide an inconclusive one."""
    text = f"{state}: {sentence}."
    return f"{text} {more_rows} more rows would decide." if more_rows else text


def require_whole(result: EvalResult) -> None:
    """Refuse a part of a result, since an interval is computed from the whole run file.

    Raises:
        ConfigurationError: The result is filtered.
    """
    if "filter" in result.config:
        raise ConfigurationError(
            "A filtered result has no interval of its own. Run the benchmark on these examples alone."
        )


def _value(summary: Mapping[str, Any], key: str, label: str) -> float:
    """Return the mean of a score, or a value of the summary.

    Raises:
        UnknownNameError: There is none with the name.
    """
    means = {name: score["mean"] for name, score in _scores(summary)}
    if key in means:
        return math.nan if means[key] is None else float(means[key])
    name = _OF_PRIMARY.get(key, key)
    if isinstance(summary.get(name), int | float):
        return float(summary[name])
    if name in _OF_PRIMARY.values():
        return math.nan  # no row was scored
    numbers = [known for known, value in summary.items() if isinstance(value, int | float)]
    raise UnknownNameError(f"score of {label}", key, sorted({*means, "score", *numbers}))


def _scores(summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for scores in summary.get("scores", {}).values():
        yield from scores.items()


def _counts(summary: Mapping[str, Any]) -> str:
    counts = [f"{summary.get('num_rows', 0)} rows"]
    for state in ("failed", "unscored"):
        number = summary.get(f"num_{state}")
        counts += [f"{number} {state}"] if number else []
    return ", ".join(counts)


def _worst_rows(result: EvalResult, key: str, label: str, bound: Bound) -> Iterator[str]:
    """Yield the rows that are farthest on the wrong side of a bound; nothing for a value that no single row has."""
    measure = _measure(result, key, label)
    if measure is None:
        return
    found: list[tuple[float, int, EvalRow]] = []
    for row in result.rows:
        value = measure(row) if row.system == label and not row.is_extra else None
        if value is not None:
            found.append((bound.sign * value, len(found), row))
    worst = heapq.nsmallest(SHOWN_ROWS, found, key=lambda entry: entry[:2])
    if not worst:
        return
    path = run_file_of(result)
    yield "Rows with the lowest values:" if bound.sign > 0 else "Rows with the highest values:"
    with open_run(path) as run:
        for signed, _, row in worst:
            yield from row_lines(run, row, f"{key} {bound.sign * signed:.4g}")
    yield f"Run file: {path}"


def _measure(result: EvalResult, key: str, label: str) -> Callable[[EvalRow], float | None] | None:
    """Return what a row contributes to a value of the summary; None if a single row says nothing about it."""
    known = {name for name, _ in _scores(result.summary[label])}
    if key in known:
        return lambda row: row.value(key)
    if key in _OF_PRIMARY:
        field = str(result.config.get("score_field", "score"))
        return lambda row: row.value(field)
    if key.startswith("latency"):
        return lambda row: None if row.failed else row.latency
    return None

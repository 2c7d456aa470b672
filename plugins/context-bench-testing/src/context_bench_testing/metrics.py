"""Conformance of a metric: the keys and values that it adds to the summary of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_testing.samples import examples_of
from context_bench_testing.small_run import small_run
from context_bench_testing.subject import Outcome, Subject, same

_METHODS = ("compute", "compute_columns", "compare")
_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "compute": ([],),
    "compute_columns": (None,),
    "compare": ({},),
}


class _NotAList(Sequence[Any]):
    """Rows as a run passes them: they can be iterated again, and are not a list."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, position: Any) -> Any:
        return self._rows[position]


def check_metric(subject: Subject) -> None:
    """Check a metric with each of its examples: in a run, and without rows."""
    for example in examples_of(subject.component):
        metric = subject.build(example)
        if metric is None:
            continue
        subject.require_name(metric)
        methods = [name for name in _METHODS if callable(getattr(metric, name, None))]
        if not methods:
            text = f"what its class builds has none of {', '.join(_METHODS)}"
            subject.report.fault("signature", text)
            continue
        bound = [
            subject.require_binding(name, getattr(metric, name), *_ARGUMENTS[name])
            for name in methods
        ]
        if all(bound):
            _check_in_run(subject, metric)
            if "compute" in methods:
                _check_compute(subject, metric)


def _check_in_run(subject: Subject, metric: Any) -> None:
    """Check the values that a metric adds to the summary of a small run."""
    outcome = subject.call("the metric", lambda: small_run(metrics=["counts", metric]))
    if outcome.error is not None:
        if not subject.is_refused(outcome):
            text = f"a run that computes it ends with {outcome.error_text}"
            subject.report.fault("raises", text)
        return
    result = outcome.value
    keys = result.keys_by_metric.get(getattr(metric, "name", ""), ())
    values = {
        key: system_values[key]
        for system_values in result.summary.values()
        for key in keys
        if key in system_values
    }
    if not values:
        subject.report.note("no-value", "it has no value in a small run of two systems")
    _check_values(subject, values, "in a small run")
    declared = subject.component.metric.values
    if values and declared:
        never = sorted(key for key in declared if not key.endswith("*") and key not in values)
        if never:
            text = f"in a small run it does not return {', '.join(never)}, which values declares"
            subject.report.note("missing-key", text)


def _check_values(subject: Subject, values: Mapping[Any, Any], when: str) -> None:
    declared = subject.component.metric.values
    for key, value in values.items():
        if not isinstance(key, str):
            subject.report.fault("undeclared-key", f"it returns the key {key!r}, not a text")
            continue
        is_declared = any(
            key == name or (name.endswith("*") and key.startswith(name[:-1])) for name in declared
        )
        if declared and not is_declared:
            text = f"it returns the key {key!r}, which values does not declare"
            subject.report.fault("undeclared-key", text)
        if value is None:
            continue
        if isinstance(value, str | bytes) or not isinstance(value, int | float):
            subject.report.fault("not-a-number", f"{key} is {value!r}, not a number, {when}")
        elif math.isnan(value):
            subject.report.fault("not-finite", f"{key} is {value} {when}")
        elif math.isinf(value):  # a cost per passing row, when no row passes
            subject.report.note("not-finite", f"{key} is {value} {when}")


def _check_compute(subject: Subject, metric: Any) -> None:
    rows = [row for row in small_run().rows if row.system == "first"]
    before = [_content(row) for row in rows]
    first = subject.call("compute()", metric.compute, _NotAList(rows))
    if _checked(subject, first, "with four rows") is None:
        return
    if [_content(row) for row in rows] != before:
        subject.report.fault("mutation", "compute() changes the rows that it receives")
    second = subject.call("compute()", metric.compute, _NotAList(rows))
    if subject.component.manifest.deterministic and not same(second.value, first.value):
        text = "a second call returns other values; set deterministic = false"
        subject.report.fault("not-deterministic", text)
    one_failed = [row for row in rows if row.failed]
    for chosen, when in (([], "without rows"), (one_failed, "with only a failed row")):
        _checked(subject, subject.call("compute()", metric.compute, _NotAList(chosen)), when)


def _content(row: Any) -> str:
    return repr((dict(row.scores), dict(row.metadata), row.response))


def _checked(subject: Subject, outcome: Outcome, when: str) -> Mapping[str, Any] | None:
    if outcome.error is not None:
        if not subject.is_refused(outcome):
            subject.report.fault("raises", f"compute() raises {outcome.error_text} {when}")
        return None
    if not isinstance(outcome.value, Mapping):
        kind = type(outcome.value).__name__
        subject.report.fault("return-type", f"compute() returns {kind}, not a mapping, {when}")
        return None
    _check_values(subject, outcome.value, when)
    values: Mapping[str, Any] = outcome.value
    return values

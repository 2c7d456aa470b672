"""The summary of a result: the values of every metric and the mean of every score, by system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from typing import Any

from attrs import Factory, define, frozen

from context_bench.errors import ContextBenchError, MetricError, did_you_mean, message_of
from context_bench.protocols import Metric
from context_bench.records import ANY_KEY, EvalRow
from context_bench.results.columns import (
    SOURCES,
    Columns,
    further_scores,
    no_unit,
    read_columns,
    units_of,
)
from context_bench.results.findings import outcome_warnings, silence_warnings, weak_baseline
from context_bench.results.registry import RunMetric
from context_bench.run.stopping import CaughtError, capture
from context_bench.runs import StoredRows
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader

SCORES = "scores"
"""Key of a system's summary: the mean of every score, by evaluator."""
NESTED = (SCORES, SOURCES)
"""Keys of a system's summary whose value is not a number."""
_LARGEST = 10**300


@frozen
class Summary:
    """What the metrics of a run return.

    Attributes:
        values: Values by key, by system, in the order of the systems; with :data:`SCORES` and
            :data:`SOURCES`.
        keys: The keys that each metric returned, by its name.
        findings: Warnings about the numbers.
    """

    values: dict[str, dict[str, Any]]
    keys: dict[str, list[str]]
    findings: tuple[str, ...]


def summarize(
    rows: Sequence[EvalRow],
    metrics: Sequence[RunMetric],
    declared: Sequence[str],
    config: Mapping[str, Any],
) -> Summary:
    """Return the summary of rows. Metrics that compare systems are called after all other metrics.

    Args:
        rows: The rows of all systems.
        metrics: The metrics.
        declared: Score keys that the manifests of the wired evaluators declare.
        config: What the result records of the run: ``systems``, their labels (else those of the
            rows); ``baseline``, the system that others are compared with; ``baselines``, the
            baseline of systems that have another one; and ``derived``, the systems whose rows are
            made of another system's.

    Raises:
        MetricError: A metric needs a score that no row has, raises, or returns something else than
            numbers by key.
    """
    for metric in metrics:
        check_score_field(metric.metric, rows, declared)
    fields = []
    for metric in metrics:
        field = getattr(metric.metric, "score_field", None)
        if field:
            fields.append(field)
    has_units = any(getattr(metric.metric, "reads_units", False) for metric in metrics)
    columns_of_rows = _columns(rows, fields, has_units)
    labels = config.get("systems") or columns_of_rows
    columns_by_system = {label: columns_of_rows.get(label) or Columns(fields) for label in labels}
    for label, columns in columns_by_system.items():
        columns.is_derived = label in config.get("derived", ())
    computation = _Computation(columns_by_system)
    for label in columns_by_system:
        own_rows = ChosenRows(rows, _is_row_of(label))
        for metric in metrics:
            computation.compute(metric.metric, label, own_rows)
    for metric in metrics:
        computation.compare(metric.metric)
    summary: dict[str, dict[str, Any]] = {}
    for label, columns in columns_by_system.items():
        summary[label] = {**columns.summary, SCORES: _scores_of(columns)}
        if columns.sources:
            summary[label][SOURCES] = {
                key: {"source": source, "covered": share}
                for key, (source, share) in columns.sources.items()
            }
    findings = list(outcome_warnings(columns_by_system))
    findings += silence_warnings(rows, {label: summary[label][SCORES] for label in summary})
    for baseline in dict.fromkeys((config.get("baseline"), *config.get("baselines", {}).values())):
        findings += weak_baseline(columns_by_system, baseline)
    keys = {name: list(keys) for name, keys in computation.keys.items()}
    return Summary(summary, keys, tuple(findings))


def _scores_of(columns: Columns) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the mean of every score, with ``low`` and ``high`` where a metric noted its
    interval."""
    found = columns.scores.to_dict()
    for scores in found.values():
        for key, score in scores.items():
            ends = columns.score_ends.get(key)
            if ends is not None and score["n"] == len(columns.values(key)):
                score["low"], score["high"] = ends
    return found


@define
class _Computation:
    """Calls metrics and adds their values to the columns of the systems.

    Attributes:
        columns_by_system: The columns.
        keys: The keys that each metric returned so far, by its name.
    """

    columns_by_system: Mapping[str, Columns]
    keys: dict[str, dict[str, None]] = Factory(dict)

    def compute(self, metric: Any, label: str, rows: Sequence[EvalRow]) -> None:
        """Add what a metric returns of one system; nothing when it only compares."""
        if hasattr(metric, "compute_columns"):
            values = _call(metric, metric.compute_columns, self.columns_by_system[label])
        elif hasattr(metric, "compute"):
            values = _call(metric, metric.compute, rows)
        else:
            values = {}
        self._add(metric, label, values)

    def compare(self, metric: Any) -> None:
        """Add what a metric returns of all systems; nothing when it does not compare."""
        if not hasattr(metric, "compare"):
            return
        for label, values in _call(metric, metric.compare, self.columns_by_system).items():
            self._add(metric, label, _require_mapping(metric, values))

    def _add(self, metric: Metric, label: str, values: Mapping[str, Any]) -> None:
        summary = self.columns_by_system[label].summary
        for key, value in values.items():
            summary[key] = _number(metric, key, value)
        self.keys.setdefault(metric.name, {}).update(dict.fromkeys(values))


def metric_notes(
    metrics: Iterable[RunMetric],
    summary: Mapping[str, Mapping[str, Any]],
    config: Mapping[str, Any],
) -> Iterator[str]:
    """Yield the notes of the metrics that have a method ``notes``.

    Raises:
        MetricError: The method raises, or yields something else than text.
    """
    for metric in metrics:
        notes = getattr(metric.metric, "notes", None)
        if notes is None:
            continue
        lines = capture(_list_of, notes, summary, config)
        if isinstance(lines, CaughtError):
            raise _raised(metric.metric, lines) from lines.error
        for line in lines:
            if not isinstance(line, str):
                raise _broken(metric.metric, f"returned the note {line!r:.80}, which is not a text")
            yield line


def check_score_field(metric: Metric, rows: Iterable[EvalRow], declared: Iterable[str]) -> None:
    """Refuse a metric whose ``score_field`` no row has.

    Args:
        metric: The metric.
        rows: All rows; read only when the field is not declared.
        declared: Keys that the manifests of the wired evaluators declare.

    Raises:
        MetricError: No evaluator of the run returns the score; the message suggests close names.
    """
    field = getattr(metric, "score_field", None)
    known = dict.fromkeys(key for key in declared if key != ANY_KEY)
    if field in (None, "score") or field in known:
        return
    is_known = bool(known)
    for row in rows:
        if field in row.scores:
            return
        known |= dict.fromkeys(row.scores)
        is_known = is_known or not row.failed
    if is_known:  # where every row failed, the failures explain why the score is missing
        hint = did_you_mean(str(field), known) or f"The scores are {_some(list(known))}."
        raise MetricError(
            f"--score-field, or the option score_field of a metric, is {field!r}, and no evaluator "
            f"of this run returns that score. {hint}"
        )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    return f"{shown} and {rest} others" if rest > 0 else shown


_MOST_NAMES = 20


class ChosenRows(Sequence[EvalRow]):
    """The rows for which a function is true, each read when it is needed."""

    def __init__(self, rows: Sequence[EvalRow], is_chosen: Callable[[EvalRow], bool]) -> None:
        self._rows = rows
        self._is_chosen = is_chosen

    @property
    def reader(self) -> RunReader | None:
        """The run file that the rows are of; None for rows of none."""
        reader: RunReader | None = getattr(self._rows, "reader", None)
        return reader

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[EvalRow]:
        yield from filter(self._is_chosen, self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) or index < 0:
            return list(self)[index]
        for row in islice(self, index, None):
            return row
        raise IndexError(f"there is no row {index}: there are {len(self)} rows")


def _is_row_of(label: str) -> Callable[[EvalRow], bool]:
    return lambda row: row.system == label and not row.is_extra


def _columns(rows: Sequence[EvalRow], fields: Sequence[str], has_units: bool) -> dict[str, Columns]:
    if isinstance(rows, StoredRows):
        return read_columns(rows.reader, fields, has_units)
    reader = rows.reader if isinstance(rows, ChosenRows) else None
    units = units_of(reader) if has_units and reader is not None else None
    unit_at = no_unit if units is None else units.reader()
    further = further_scores(reader) if has_units and reader is not None else ()
    columns: dict[str, Columns] = {}
    for row in rows:
        if row.system not in columns:
            columns[row.system] = Columns(fields, units, further)
        columns[row.system].add(row, unit_at(RowId(row.dataset_number, row.position).pack()))
    return columns


def _list_of(function: Callable[..., Iterable[Any]], *arguments: Any) -> list[Any]:
    return list(function(*arguments))


def _call(metric: Metric, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
    """Return what a method of a metric returns.

    Raises:
        MetricError: It raises, or returns something else than a mapping.
    """
    values = capture(function, *arguments)
    if isinstance(values, CaughtError):
        raise _raised(metric, values) from values.error
    return _require_mapping(metric, values)


def _require_mapping(metric: Metric, values: object) -> Mapping[str, Any]:
    if isinstance(values, Mapping):
        return values
    raise _broken(metric, f"returned {type(values).__name__}, not a mapping of keys to numbers")


def _number(metric: Metric, key: object, value: Any) -> Any:
    """Return a value of a metric as an ``int`` or ``float``; None where it has no value."""
    if isinstance(key, str):
        if value is None or isinstance(value, float):
            return value
        exact: Any = int(value) if isinstance(value, Integral) else value
        if isinstance(value, Real) and -_LARGEST < exact < _LARGEST:
            return exact if isinstance(value, Integral) else float(value)
    raise _broken(
        metric, f"returned {value!r:.80} for {key!r:.80}, which is not a number for a key"
    )


def _raised(metric: Metric, raised: CaughtError) -> ContextBenchError:
    error = raised.error
    if isinstance(error, ContextBenchError):
        return error
    return _broken(metric, f"raised {type(error).__name__}: {message_of(error)}")


def _broken(metric: Metric, what: str) -> MetricError:
    return MetricError(
        f"The metric {metric.name} {what}. Fix it, or leave it out; for a report of a run that has "
        f"it, CONTEXT_BENCH_DISABLE_PLUGINS={metric.name} does so."
    )

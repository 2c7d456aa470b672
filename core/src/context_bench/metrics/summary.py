"""The summary: what the metrics of a run make of its rows, by system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, overload

from context_bench.aggregation import Columns, read_columns
from context_bench.answers import UNREADABLE
from context_bench.metrics import check_score_field
from context_bench.metrics.registry import RunMetric
from context_bench.protocols import Metric
from context_bench.records import ANY_KEY, EvalRow
from context_bench.runs import StoredRows

SCORES = "scores"
"""Key of a summary under which every score of every evaluator stands."""
SOURCES = "sources"
"""Key of a summary under which stands where values come from, and which share of the answered rows they cover."""
NESTED = (SCORES, SOURCES)
"""Keys of a summary that hold no number."""
_FEW_ANSWERS = 0.25
_NEAR_ZERO = 0.05


def summarise(
    rows: Sequence[EvalRow],
    metrics: Sequence[RunMetric],
    declared: Sequence[str] = (),
    systems: Sequence[str] = (),
    baseline: str | None = None,
    paired: Mapping[str, str] | None = None,
    derived: Collection[str] = (),
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]], tuple[str, ...]]:
    """Return the values of each metric and the mean of every score, by system, in the order of the systems.

    Beside them, the keys that each metric gave, by its name, and what the numbers warn of. Metrics that compare systems are
    asked when all others have answered.

    Args:
        rows: The rows of all systems.
        metrics: The metrics.
        declared: Score keys that the manifests of the wired evaluators promise.
        systems: Labels of the systems; none takes those of the rows.
        baseline: Label of the system that the others are held against.
        paired: Labels of systems that are held against another one, and its label.
        derived: Labels of systems whose rows are made of another one's.

    Raises:
        MetricError: A metric asks for a score that no row has.
    """
    inner = [metric.metric for metric in metrics]
    for metric in inner:
        check_score_field(metric, rows, declared)
    fields = [field for metric in inner if (field := getattr(metric, "score_field", None))]
    found = _columns(rows, fields)
    columns_by_system = {label: found.get(label) or Columns(fields) for label in systems or found}
    said: dict[str, dict[str, None]] = {}

    def note(metric: Metric, label: str, values: Mapping[str, float]) -> None:
        columns_by_system[label].summary |= values
        said.setdefault(metric.name, {}).update(dict.fromkeys(values))

    for label, columns in columns_by_system.items():
        columns.is_derived = label in derived
        own = ChosenRows(rows, partial(_counts_for, label))
        for metric in inner:
            note(metric, label, _alone(metric, columns, own))
    for metric in inner:
        compare = getattr(metric, "compare", None)
        for label, values in compare(columns_by_system).items() if compare is not None else ():
            note(metric, label, values)
    summary = {
        label: {**columns.summary, SCORES: columns.scores.to_dict(), **_sources(columns)}
        for label, columns in columns_by_system.items()
    }
    findings = list(silences_of(rows, summary))
    for one in dict.fromkeys((baseline, *(paired or {}).values())):
        findings += weak_baseline(columns_by_system, one)
    return summary, {name: list(keys) for name, keys in said.items()}, tuple(findings)


class ChosenRows(Sequence[EvalRow]):
    """Those of some rows that a function keeps, each read when it is asked for."""

    def __init__(self, rows: Sequence[EvalRow], keep: Callable[[EvalRow], bool]) -> None:
        self._rows, self._keep = rows, keep

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[EvalRow]:
        yield from filter(self._keep, self._rows)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | Sequence[EvalRow]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0:
            index += len(self)
        for row in islice(self, index, None) if index >= 0 else ():
            return row
        raise IndexError(f"there are {len(self)} rows, and none at {index}")


def _sources(columns: Columns) -> dict[str, dict[str, dict[str, Any]]]:
    found = {key: {"source": name, "covered": share} for key, (name, share) in columns.sources.items()}
    return {SOURCES: found} if found else {}


def weak_baseline(columns_by_system: Mapping[str, Columns], baseline: str | None) -> Iterator[str]:
    """Yield a warning when the baseline cannot do the task: savings are cheap when nobody answers."""
    columns = columns_by_system.get(baseline or "")
    others = [other for label, other in columns_by_system.items() if label != baseline]
    if columns is None or not columns.rows or not others:
        return
    most = max(other.answered for other in others)
    if columns.answered < _FEW_ANSWERS * most:
        told = f"answered {columns.answered} of {columns.rows} rows, another system {most}"
    else:
        values = columns.values("score")
        if not values or sum(values) / len(values) >= _NEAR_ZERO:
            return
        told = f"scores {sum(values) / len(values):.4f}"
    yield f"The baseline {baseline} cannot do the task: it {told}. Savings are cheap when nobody answers."


def _alone(metric: Any, columns: Columns, rows: Sequence[EvalRow]) -> Mapping[str, float]:
    """Return what a metric says of one system alone; nothing when it only compares."""
    compute_columns = getattr(metric, "compute_columns", None)
    if compute_columns is not None:
        return compute_columns(columns)  # type: ignore[no-any-return]
    compute = getattr(metric, "compute", None)
    return {} if compute is None else compute(rows)


def _columns(rows: Sequence[EvalRow], fields: Sequence[str]) -> dict[str, Columns]:
    if isinstance(rows, StoredRows):
        return read_columns(rows.reader, fields)
    columns: dict[str, Columns] = {}
    for row in rows:
        columns.setdefault(row.system, Columns(fields)).add(row)
    return columns


def _counts_for(label: str, row: EvalRow) -> bool:
    """Whether a row is one of a system's that metrics see: not what only tells how far a reference agrees with itself."""
    return row.system == label and not row.is_extra


def silences_of(rows: Sequence[EvalRow], summary: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a warning for each evaluator that scored no row of a system, where the table would only lack its line.

    And one for each evaluator and system with replies of a judge that could not be read, with their share.
    """
    asked: dict[tuple[str, str], int] = {}
    silent: dict[str, dict[str, int]] = {}
    speaking: set[str] = set()
    for system, values in summary.items():
        for evaluator, scores in values[SCORES].items():
            unscored = max((score["unscored"] for score in scores.values()), default=0)
            if unscored:
                asked[evaluator, system] = max(s["n"] - s["failed"] + s["unscored"] for s in scores.values())
            if evaluator == ANY_KEY or not scores or any(score["n"] - score["failed"] for score in scores.values()):
                speaking.add(evaluator)
            else:
                silent.setdefault(evaluator, {})[system] = unscored
    reasons: dict[str, Counter[str]] = {evaluator: Counter() for evaluator in silent}
    unread: Counter[tuple[str, str]] = Counter()
    for system, evaluator, reason, count in _silences(rows) if asked else ():
        if system in silent.get(evaluator, ()):
            reasons[evaluator][reason] += count
        if (evaluator, system) in asked and reason.startswith(UNREADABLE):
            unread[evaluator, system] += count
    for evaluator, counts in silent.items():
        if not any(counts.values()):
            continue
        where = f" of {', '.join(counts)}" if evaluator in speaking else ""
        why = "; ".join(f"{reason} ({times})" for reason, times in reasons[evaluator].most_common(3))
        yield f"{evaluator} scored none of {sum(counts.values())} rows{where}{': ' + why if why else ''}."
    for (evaluator, system), count in unread.items():
        of = asked[evaluator, system]
        share = f"{count} of {of} rows of {system} ({100 * count / of:.1f} %)"
        yield f"{evaluator}: the judge's reply could not be read in {share}."


def _silences(rows: Sequence[EvalRow]) -> Iterable[tuple[Any, ...]]:
    """Return system, evaluator, reason and number of rows, of rows that an evaluator had nothing to say about."""
    if isinstance(rows, StoredRows):
        from context_bench.store.questions import silences

        return silences(rows.reader)
    return ((row.system, name, why, 1) for row in rows if not row.is_extra for name, why in row.unscored.items())

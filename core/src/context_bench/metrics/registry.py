"""The registry: which metrics a run computes, by name or as objects, what their values mean, and what a run file keeps.

A metric is declared in the manifest of its package, core's own like any other's: ``[metrics.NAME]`` says whether it is on
by default, ``[metrics.NAME.values.KEY]`` the heading and the format of each of its keys. What a run computed is recorded
with it, so that a report says the same later. The summary is what they make of the rows, by system.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any

from attrs import Factory, frozen

from context_bench.aggregation import Columns, read_columns
from context_bench.answers import UNREADABLE
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    MetricError,
    PluginError,
    message_of,
    misfit,
)
from context_bench.metrics import check_score_field
from context_bench.plugins.catalog import BLOCKED, Catalog, Component, component_of, install_line
from context_bench.plugins.component_metadata import SummaryValue
from context_bench.plugins.loading import build, unfit, written_options
from context_bench.plugins.settings import CORE, PluginSettings
from context_bench.protocols import Metric
from context_bench.records import ANY_KEY, EvalRow
from context_bench.run.stopping import CaughtError, capture
from context_bench.runs import StoredRows

_MOST = 10**300


@frozen(eq=False)
class RunMetric:
    """A metric of a run, with what is known of it.

    Attributes:
        metric: The metric itself.
        values: What its keys mean; ``*`` at the end of a key stands for anything.
        component: Canonical id of its component; empty for an object of the caller's.
        version: Version of the distribution that brings it.
        options: Options that it was given, score field and threshold included where it declares them.
    """

    metric: Any
    values: Mapping[str, SummaryValue] = Factory(dict)
    component: str = ""
    version: str = ""
    options: Mapping[str, Any] = Factory(dict)

    @property
    def name(self) -> str:
        """Name of the metric."""
        return str(self.metric.name)

    def compute(self, rows: Sequence[EvalRow]) -> Mapping[str, float]:
        """Return the values of the rows of one system by key."""
        return self.metric.compute(rows)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Return what a run file keeps of it."""
        return {
            "name": self.name,
            "component": self.component,
            "version": self.version,
            "options": dict(self.options),
            "values": {key: dict(value._asdict()) for key, value in self.values.items()},
        }


def metrics_for(
    catalog: Catalog,
    request_metrics: Sequence[str | Metric] | None = None,
    add_metrics: Sequence[str | Metric] = (),
    without: Iterable[str] = (),
    score_field: str = "score",
    threshold: float = 0.7,
) -> list[RunMetric]:
    """Return the metrics of a run.

    Args:
        catalog: What is installed.
        request_metrics: Exactly these, as names, ``NAME:option=value,...``, or objects; None takes those that are on by
            default.
        add_metrics: Metrics on top of them.
        without: Names of metrics to leave out.
        score_field, threshold: What metrics look at, and what passes; for those that declare such options.

    Raises:
        UnknownNameError: No metric has that name.
        PluginError: A metric cannot be used.
        ConfigurationError: One is no metric, or an option does not fit.
    """
    shared = {"score_field": score_field, "threshold": threshold}
    if request_metrics is None:
        found = [_built(component, {}, shared) for component in _usual(catalog, without)]
    else:
        found = [_of(catalog, one, shared) for one in request_metrics]
    have = {metric.component for metric in found} - {""}
    for one in add_metrics:
        metric = _of(catalog, one, shared)
        if metric.component in have:
            found = [metric if before.component == metric.component else before for before in found]
        else:
            found.append(metric)
    return found


def active_metrics(
    catalog: Catalog,
    request_metrics: Sequence[str | Metric] | None,
    add_metrics: Sequence[str | Metric],
    without: Iterable[str],
) -> tuple[list[Component], set[str]]:
    """Return the metrics of packages that a run computes, and the ids of those that are asked for by name; none is imported.

    Raises:
        ContextBenchError: A name is unknown, or contested.
    """
    asked = [one for one in (*(request_metrics or ()), *add_metrics) if isinstance(one, str)]
    named = [catalog.find("metrics", _parsed(one)[0]) for one in asked]
    usual = _usual(catalog, without) if request_metrics is None else []
    found = {c.id: c for c in (*usual, *named) if c.distribution.name != CORE}
    return [found[name] for name in sorted(found)], {c.id for c in named if c.id in found}


def stored_metrics(
    catalog: Catalog, recorded: Sequence[Mapping[str, Any]], changes: Mapping[str, Any]
) -> tuple[list[RunMetric], list[Mapping[str, Any]]]:
    """Return the metrics that a run recorded, and the records of those that cannot be had now, each with a ``reason``.

    Args:
        catalog: What is installed.
        recorded: What the run file keeps of each.
        changes: Options that take the place of recorded ones, for metrics that have them.
    """
    found: list[RunMetric] = []
    absent: list[Mapping[str, Any]] = []
    for entry in recorded:
        options = entry["options"]
        try:
            component = _recorded(catalog, entry["component"])
            found.append(
                _built(
                    component, {**options, **{k: v for k, v in changes.items() if k in options}}, {}
                )
            )
        except ContextBenchError as error:
            absent.append({**entry, "reason": str(error).rstrip(".")})
    return found, absent


def _recorded(catalog: Catalog, name: str) -> Component:
    """Return the component that a run file names; core's own of then may be another package's now.

    Raises:
        PluginError: It is not installed, or the metric was no component.
    """
    if not name:
        raise PluginError("it was given to evaluate() as an object")
    owner, _, short = name.partition("/")
    found = catalog.named("metrics", name) or (
        catalog.named("metrics", short) if owner == CORE else ()
    )
    if found:
        return found[0].called_by_id()
    from context_bench.plugins.first_party import COMPONENTS

    _, home = COMPONENTS["metrics"].get(short, ("", ""))
    raise PluginError(
        f"{short} comes with {home}: `{install_line(home)}`" if home else f"{name} is not installed"
    )


def with_declarations(metric: Metric, catalog: Catalog | None = None) -> RunMetric:
    """Return a metric with what its values mean: as it says itself under ``values``, or as the manifest of its package says.

    Args:
        metric: The metric.
        catalog: What is installed; None looks.
    """
    if isinstance(metric, RunMetric):
        return metric
    own = getattr(metric, "values", None)
    if isinstance(own, Mapping):
        return RunMetric(metric, {str(key): _value(str(key), value) for key, value in own.items()})
    if catalog is None:
        from context_bench.plugins.discovery import remembered_catalog

        catalog = remembered_catalog(PluginSettings.read(environ=os.environ))
    component = component_of(catalog, "metrics", metric)
    return RunMetric(metric, component.manifest.values if component else {})


def _usual(catalog: Catalog, without: Iterable[str]) -> list[Component]:
    """Return the metrics that are on by default, and that nobody switched off."""
    left_out, metrics = set(without), catalog.of_kind("metrics")
    usable = [one for one in metrics if one.state != BLOCKED and one.overridden_by is None]
    return [one for one in usable if one.manifest.default and not left_out & one.names]


def _of(catalog: Catalog, one: str | Metric, shared: Mapping[str, Any]) -> RunMetric:
    if isinstance(one, str):
        name, options = _parsed(one)
        return _built(catalog.find("metrics", name), options, shared)
    if isinstance(one, type) or not _is_metric(one):
        raise misfit(
            one, "metric", "it has no name, or none of compute(), compute_columns() and compare()"
        )
    return with_declarations(one, catalog)


def _is_metric(found: Any) -> bool:
    computes = any(
        callable(getattr(found, method, None))
        for method in ("compute", "compute_columns", "compare")
    )
    return computes and isinstance(getattr(found, "name", None), str)


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    options = written_options(
        [part for part in rest.split(",") if part], f"metric {name.strip()!r}"
    )
    return name.strip(), {key.strip(): value.strip() for key, value in options.items()}


def _built(
    component: Component, options: Mapping[str, Any], shared: Mapping[str, Any]
) -> RunMetric:
    declared = component.manifest.options
    given = {**{name: value for name, value in shared.items() if name in declared}, **options}
    metric = build(component, given)
    if not _is_metric(metric):
        raise unfit(
            component, "it has no name, or none of compute(), compute_columns() and compare()"
        )
    return RunMetric(
        metric, component.manifest.values, component.id, component.distribution.version, given
    )


def _value(key: str, found: Any) -> SummaryValue:
    if isinstance(found, SummaryValue):
        return found
    if isinstance(found, Mapping) and set(found) <= set(SummaryValue._fields):
        return SummaryValue(**{"heading": key, **found})
    raise ConfigurationError(
        f"What the metric's value {key!r} means is {found!r}, but must be a table of {', '.join(SummaryValue._fields)}."
    )


def metrics_record(
    metrics: Sequence[RunMetric],
    summary: Mapping[str, Mapping[str, Any]] | None = None,
    said: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Return what a run file keeps of metrics, and of what they said where they have said it.

    Args:
        metrics: The metrics.
        summary: Their values by key, by system.
        said: Which keys each of them gave, by its name.
    """
    keys = said or {}
    record: dict[str, Any] = {
        "metrics": [{**one.to_dict(), "keys": list(keys.get(one.name, ()))} for one in metrics]
    }
    return record if summary is None else {**record, "summary": summary}


def recalled(
    record: Mapping[str, Any], summary: Mapping[str, Mapping[str, Any]]
) -> tuple[RunMetric, str]:
    """Return a metric that cannot be had as the run file keeps it, and what to tell of that.

    Args:
        record: What :func:`~context_bench.metrics.registry.stored_metrics` says of it.
        summary: The summary that the run file keeps.
    """
    values = {key: SummaryValue(**value) for key, value in record["values"].items()}
    name = str(record["name"])
    said = {
        system: {
            key: float(kept[key]) for key in record.get("keys", ()) if key in kept
        }  # once written as "inf"
        for system, kept in summary.items()
    }
    what = (
        "its values are those of when the run ended"
        if any(said.values())
        else "it said nothing when the run ended"
    )

    def compare(columns_by_system: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
        return {label: told for label, told in said.items() if label in columns_by_system}

    return RunMetric(
        SimpleNamespace(name=name, compare=compare), values
    ), f"Metric {name} is not computed: {record['reason']}; {what}."


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
    declared: Sequence[str],
    config: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]], tuple[str, ...]]:
    """Return the values of each metric and the mean of every score, by system, in the order of the systems.

    Beside them, the keys that each metric gave, by its name, and what the numbers warn of. Metrics that compare systems are
    asked when all others have answered.

    Args:
        rows: The rows of all systems.
        metrics: The metrics.
        declared: Score keys that the manifests of the wired evaluators promise.
        config: What the result says of the run: ``systems``, whose labels are those of the rows where it has none; ``baseline``,
            that the others are held against; ``baselines`` of systems that are held against another one, by label; and
            ``derived``, the systems whose rows are made of another one's.

    Raises:
        MetricError: A metric asks for a score that no row has.
    """
    inner = [metric.metric for metric in metrics]
    for metric in inner:
        check_score_field(metric, rows, declared)
    fields = [field for metric in inner if (field := getattr(metric, "score_field", None))]
    found = _columns(rows, fields)
    columns_by_system = {
        label: found.get(label) or Columns(fields) for label in config.get("systems") or found
    }
    said: dict[str, dict[str, None]] = {}

    def note(metric: Metric, label: str, values: Mapping[str, float]) -> None:
        columns_by_system[label].summary |= {
            key: _value_of(metric, key, value) for key, value in values.items()
        }
        said.setdefault(metric.name, {}).update(dict.fromkeys(values))

    for label, columns in columns_by_system.items():
        columns.is_derived = label in config.get("derived", ())
        own = ChosenRows(rows, lambda row, label=label: row.system == label and not row.is_extra)  # type: ignore[misc]
        for metric in inner:
            note(metric, label, _told(metric, _alone, metric, columns, own))
    for metric in inner:
        compare = getattr(metric, "compare", None)
        for label, values in (
            _told(metric, compare, columns_by_system).items() if compare is not None else ()
        ):
            note(metric, label, _told(metric, lambda found: found, values))
    summary = {
        label: {**columns.summary, SCORES: columns.scores.to_dict(), **_sources(columns)}
        for label, columns in columns_by_system.items()
    }
    findings = list(silences_of(rows, summary))
    for one in dict.fromkeys((config.get("baseline"), *config.get("baselines", {}).values())):
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

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) or index < 0:
            return list(self)[index]
        for row in islice(self, index, None):
            return row
        raise IndexError(f"there are {len(self)} rows, and none at {index}")


def _sources(columns: Columns) -> dict[str, dict[str, dict[str, Any]]]:
    found = {
        key: {"source": name, "covered": share} for key, (name, share) in columns.sources.items()
    }
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
        if (
            columns.better("score") != "higher"
            or not values
            or sum(values) / len(values) >= _NEAR_ZERO
        ):
            return
        told = f"scores {sum(values) / len(values):.4f}"
    yield f"The baseline {baseline} cannot do the task: it {told}. Savings are cheap when nobody answers."


def _told(metric: Metric, function: Callable[..., Any], *arguments: Any) -> Mapping[str, Any]:
    """Return what a metric says.

    Raises:
        MetricError: It broke, or says what is no mapping.
    """
    found = capture(function, *arguments)
    if isinstance(found, Mapping):
        return found
    error = found.error if isinstance(found, CaughtError) else None
    if isinstance(error, ContextBenchError):
        raise error
    if error is None:
        raise _broken(metric, f"returned {type(found).__name__}, not a mapping of keys to numbers")
    raise _broken(metric, f"broke: {type(error).__name__}: {message_of(error)}") from error


def _value_of(metric: Metric, key: object, value: Any) -> Any:
    """Return a value of a metric as the ``int`` or ``float`` that it is; None where it has none."""
    if isinstance(key, str):
        if value is None or isinstance(value, float):
            return value
        exact: Any = int(value) if isinstance(value, Integral) else value
        if isinstance(value, Real) and -_MOST < exact < _MOST:
            return exact if isinstance(value, Integral) else float(value)
    raise _broken(metric, f"returned {value!r:.80} for {key!r:.80}, which is no number for a key")


def _broken(metric: Metric, how: str) -> MetricError:
    return MetricError(
        f"The metric {metric.name} {how}. Mend it, or leave it out; for a report of a run that has it, "
        f"CONTEXT_BENCH_DISABLE_PLUGINS={metric.name} does so."
    )


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


def silences_of(rows: Sequence[EvalRow], summary: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a warning for each evaluator that scored no row of a system, where the table would only lack its line.

    And one for each evaluator and system with replies of a judge that could not be read, with their share.
    """
    asked: dict[tuple[str, str], int] = {}
    silent: dict[str, list[str]] = {}
    speaking: set[str] = set()
    for system, values in summary.items():
        for evaluator, scores in values[SCORES].items():
            if any(score["unscored"] for score in scores.values()):
                asked[evaluator, system] = max(
                    s["n"] - s["failed"] + s["unscored"] for s in scores.values()
                )
            if (
                evaluator == ANY_KEY
                or not scores
                or any(score["n"] - score["failed"] for score in scores.values())
            ):
                speaking.add(evaluator)
            else:
                silent.setdefault(evaluator, []).append(system)
    reasons: dict[str, Counter[str]] = {evaluator: Counter() for evaluator in silent}
    unread: Counter[tuple[str, str]] = Counter()
    for system, evaluator, reason, count, has_spoken in _silences(rows, bool(asked)):
        if system in silent.get(evaluator, ()) or not (
            has_spoken or evaluator in speaking or evaluator in silent
        ):
            reasons.setdefault(evaluator, Counter())[reason] += count
        if (evaluator, system) in asked and reason.startswith(UNREADABLE):
            unread[evaluator, system] += count
    for evaluator, counts in reasons.items():
        if counts:
            where = f" of {', '.join(silent[evaluator])}" if evaluator in speaking else ""
            why = "; ".join(
                f"{' '.join(reason.split())} ({times})" for reason, times in counts.most_common(3)
            )
            yield f"{evaluator} scored none of {counts.total()} rows{where}: {why}."
    for (evaluator, system), count in unread.items():
        of = asked[evaluator, system]
        share = f"{count} of {of} rows of {system} ({100 * count / of:.1f} %)"
        yield f"{evaluator}: the judge's reply could not be read in {share}."


def _silences(rows: Sequence[EvalRow], is_unscored: bool) -> Iterator[tuple[Any, ...]]:
    """Yield system, evaluator, reason, number of rows, and whether it scored others, of rows that it gave no score."""
    if isinstance(rows, StoredRows):
        from context_bench.store.questions import silences

        yield from silences(rows.reader, is_unscored)
        return
    for row in rows:
        if not row.is_extra:
            failures = (
                (error.evaluator, f"{error.kind}: {error.message}")
                for error in row.errors
                if error.evaluator
            )
            yield from (
                (row.system, name, why, 1, True) for name, why in (*row.unscored.items(), *failures)
            )

"""The registry: which metrics a run computes, by name or as objects, what their values mean, and what a run file keeps.

A metric is declared in the manifest of its package, core's own like any other's: ``[metrics.NAME]`` says whether it is on
by default, ``[metrics.NAME.values.KEY]`` the heading and the format of each of its keys. What a run computed is recorded
with it, so that a report says the same later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import Factory, fields_dict, frozen

from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench.plugins.catalog import BLOCKED, OK, Catalog, Component
from context_bench.plugins.component_metadata import SummaryValue
from context_bench.plugins.loading import build
from context_bench.plugins.settings import CORE
from context_bench.protocols import Metric
from context_bench.records import EvalRow


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
    also_metrics: Sequence[str | Metric] = (),
    without: Iterable[str] = (),
    score_field: str = "score",
    threshold: float = 0.7,
) -> list[RunMetric]:
    """Return the metrics of a run.

    Args:
        catalog: What is installed.
        request_metrics: Exactly these, as names, ``NAME:option=value,...``, or objects; None takes those that are on by
            default.
        also_metrics: Metrics on top of them.
        without: Names of metrics to leave out.
        score_field, threshold: What metrics look at, and what passes; for those that declare such options.

    Raises:
        UnknownNameError: No metric has that name.
        PluginError: A metric cannot be used.
        ConfigurationError: One is no metric, or an option does not fit.
    """
    shared = {"score_field": score_field, "threshold": threshold}
    if isinstance(request_metrics, str):
        request_metrics = [request_metrics]
    if request_metrics is None:
        found = [_built(component, {}, shared) for component in _usual(catalog, without)]
    else:
        found = [_of(catalog, one, shared) for one in request_metrics]
    have = {metric.component for metric in found} - {""}
    for one in also_metrics:
        metric = _of(catalog, one, shared)
        if metric.component in have:
            found = [metric if before.component == metric.component else before for before in found]
        else:
            found.append(metric)
    return found


def active_metrics(
    catalog: Catalog,
    request_metrics: Sequence[str | Metric] | None,
    also_metrics: Sequence[str | Metric],
    without: Iterable[str],
) -> tuple[list[Component], set[str]]:
    """Return the metrics of packages that a run computes, and the ids of those that are asked for by name; none is imported.

    Raises:
        ContextBenchError: A name is unknown, or contested.
    """
    asked = [one for one in (*(request_metrics or ()), *also_metrics) if isinstance(one, str)]
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
        name = entry["component"]
        if not name:
            absent.append({**entry, "reason": "it was given to evaluate() as an object"})
            continue
        components = catalog.named("metrics", name)
        if not components and name.startswith("context-bench/"):  # a package of its own has it now
            components = catalog.named("metrics", name.partition("/")[2])
        component = components[0].called_by_id() if components else None
        if component is None or component.state != OK:
            reason = f"{name} is {'not installed' if component is None else component.state}"
            absent.append({**entry, "reason": reason})
            continue
        options = entry["options"]
        try:
            found.append(_built(component, {**options, **{k: v for k, v in changes.items() if k in options}}, {}))
        except ContextBenchError as error:
            absent.append({**entry, "reason": str(error).rstrip(".")})
    return found, absent


def with_declarations(metric: Metric) -> RunMetric:
    """Return a metric with what its values mean: as it says itself under ``values``, or as core's manifest says."""
    if isinstance(metric, RunMetric):
        return metric
    kind: Any = type(metric)
    own = getattr(metric, "values", None)
    if isinstance(own, Mapping):
        return RunMetric(metric, {str(key): _value(str(key), value) for key, value in own.items()})
    if kind.__module__ == "context_bench.metrics":
        component = str(fields_dict(kind)["name"].default).replace("_", "-")
        return RunMetric(metric, core_values().get(component, {}))
    return RunMetric(metric)


@lru_cache(1)
def core_values() -> Mapping[str, Mapping[str, SummaryValue]]:
    """Return what the values of core's own metrics mean, by component, as core's manifest says."""
    from importlib.resources import files

    from context_bench.plugins.manifest import FILE_NAME, parse_manifest

    manifest = parse_manifest((files("context_bench") / FILE_NAME).read_bytes())
    return {name: facts.values for (kind, name), facts in manifest.components.items() if kind == "metrics"}


def _usual(catalog: Catalog, without: Iterable[str]) -> list[Component]:
    """Return the metrics that are on by default, and that nobody switched off."""
    left_out, metrics = set(without), catalog.of_kind("metrics")
    usable = [one for one in metrics if one.state != BLOCKED and one.outranked_by is None]
    return [one for one in usable if one.said.default and not left_out & one.names]


def _of(catalog: Catalog, one: str | Metric, shared: Mapping[str, Any]) -> RunMetric:
    if isinstance(one, str):
        name, options = _parsed(one)
        return _built(catalog.find("metrics", name), options, shared)
    if isinstance(one, type) or not _is_metric(one):
        raise ConfigurationError(
            f"{one!r} is no metric: it has no name, or none of compute(), compute_columns() and compare(). A class must be "
            "called first."
        )
    return with_declarations(one)


def _is_metric(found: Any) -> bool:
    computes = any(callable(getattr(found, method, None)) for method in ("compute", "compute_columns", "compare"))
    return computes and isinstance(getattr(found, "name", None), str)


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    options = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ConfigurationError(
                f"The metric {text!r} has the option {pair!r} without a value. Write NAME:option=value."
            )
        options[key.strip()] = value.strip()
    return name.strip(), options


def _built(component: Component, options: Mapping[str, Any], shared: Mapping[str, Any]) -> RunMetric:
    declared = component.said.options
    given = {**{name: value for name, value in shared.items() if name in declared}, **options}
    metric = build(component, given)
    if not _is_metric(metric):
        raise ConfigurationError(
            f"Metric {component.id} is no metric: it has no name, or none of compute(), compute_columns() and compare()."
        )
    return RunMetric(metric, component.said.values, component.id, component.distribution.version, given)


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
    record: dict[str, Any] = {"metrics": [{**one.to_dict(), "keys": list(keys.get(one.name, ()))} for one in metrics]}
    return record if summary is None else {**record, "summary": _kept(summary)}


@frozen(eq=False)
class StoredMetric:
    """A metric that cannot be computed any more, with what it said when the run ended.

    Attributes:
        name: Its name.
        said: What it said, by system and key.
    """

    name: str
    said: Mapping[str, Mapping[str, float]]

    def compare(self, columns_by_system: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
        """Return what it said of the systems that there are."""
        return {label: values for label, values in self.said.items() if label in columns_by_system}


def recalled(record: Mapping[str, Any], summary: Mapping[str, Mapping[str, Any]]) -> tuple[RunMetric, str]:
    """Return a metric that cannot be had as the run file keeps it, and what to tell of that.

    Args:
        record: What :func:`~context_bench.metrics.registry.stored_metrics` says of it.
        summary: The summary that the run file keeps.
    """
    values = {key: SummaryValue(**value) for key, value in record["values"].items()}
    name = str(record["name"])
    said = {
        system: {key: _number(kept[key]) for key in record.get("keys", ()) if key in kept}
        for system, kept in summary.items()
    }
    has_said = any(said.values())
    what = "its values are those of when the run ended" if has_said else "it said nothing when the run ended"
    return RunMetric(StoredMetric(name, said), values), f"Metric {name} is not computed: {record['reason']}; {what}."


def _kept(value: Any) -> Any:
    """Return JSON values; what JSON has no number for becomes its name."""
    if isinstance(value, Mapping):
        return {str(key): _kept(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _number(value: Any) -> float:
    return float(value) if isinstance(value, str) else value

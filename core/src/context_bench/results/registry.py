"""The registry: which metrics a run computes, by name or as objects, and what a run file stores of
them.

Every metric is declared in the manifest of its package, core's too: ``[metrics.NAME]`` sets whether
a run computes it by default, ``[metrics.NAME.values.KEY]`` the heading and the format of a key. The
run file stores the declarations with the values, so a later report shows the same.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from attrs import Factory, asdict, fields_dict, frozen

from context_bench.errors import ConfigurationError, ContextBenchError, PluginError, misfit
from context_bench.installation import install_hint
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.component import BLOCKED, Component
from context_bench.plugins.loading import build, unfit
from context_bench.plugins.manifest import SummaryValue
from context_bench.plugins.options import written_options
from context_bench.plugins.settings import CORE, PluginSettings
from context_bench.protocols import Metric

METHODS = ("compute", "compute_columns", "compare")
"""Methods of a metric, of which it has at least one."""
_NOT_A_METRIC = "it has no name, or none of compute(), compute_columns() and compare()"


@frozen(eq=False)
class RunMetric:
    """A metric of a run, with its declarations.

    Attributes:
        metric: The metric.
        values: What its keys mean; ``*`` at the end of a key stands for anything.
        component: Canonical id of its component; empty for an object of the caller.
        version: Version of its distribution.
        options: Its options, score field and threshold included where it declares them.
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

    def compute(self, rows: Sequence[Any]) -> Mapping[str, float]:
        """Return the values of the rows of one system by key."""
        return self.metric.compute(rows)  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Return what a run file stores of it."""
        return {
            "name": self.name,
            "component": self.component,
            "version": self.version,
            "options": dict(self.options),
            "values": {key: asdict(value) for key, value in self.values.items()},
        }


def metrics_for(
    catalog: Catalog,
    request_metrics: Sequence[str | Metric] | None = None,
    add_metrics: Sequence[str | Metric] = (),
    without: Iterable[str] = (),
    *,
    score_field: str = "score",
    threshold: float = 0.7,
) -> list[RunMetric]:
    """Return the metrics of a run.

    Args:
        catalog: The installed components.
        request_metrics: Exactly these, as names, ``NAME:option=value,...``, or objects; None
            selects the default metrics.
        add_metrics: Further metrics; one that is selected already is replaced.
        without: Names of metrics to leave out.
        score_field, threshold: The score that metrics read, and the score that passes; for metrics
            with such options.

    Raises:
        UnknownNameError: No metric has that name.
        PluginError: A metric cannot be used.
        ConfigurationError: An object is not a metric, or an option does not fit.
    """
    shared = {"score_field": score_field, "threshold": threshold}
    if request_metrics is None:
        defaults = _default_components(catalog, without)
        metrics = [_build_metric(component, {}, shared) for component in defaults]
    else:
        metrics = [_resolve(catalog, metric, shared) for metric in request_metrics]
    selected = {metric.component for metric in metrics if metric.component}
    for name_or_metric in add_metrics:
        metric = _resolve(catalog, name_or_metric, shared)
        if metric.component in selected:
            metrics = [metric if old.component == metric.component else old for old in metrics]
        else:
            metrics.append(metric)
    return metrics


def active_metrics(
    catalog: Catalog,
    request_metrics: Sequence[str | Metric] | None,
    add_metrics: Sequence[str | Metric],
    without: Iterable[str],
) -> tuple[list[Component], set[str]]:
    """Return the metrics of packages that a run computes, and the ids of those requested by name;
    none is imported.

    Raises:
        ContextBenchError: A name is unknown, or contested.
    """
    names = [name for name in (*(request_metrics or ()), *add_metrics) if isinstance(name, str)]
    requested = [catalog.find("metrics", _parse(name)[0]) for name in names]
    defaults = _default_components(catalog, without) if request_metrics is None else []
    active = {}
    for component in (*defaults, *requested):
        if component.distribution.name != CORE:
            active[component.id] = component
    requested_ids = {component.id for component in requested if component.id in active}
    return [active[name] for name in sorted(active)], requested_ids


def stored_metrics(
    catalog: Catalog,
    records: Sequence[Mapping[str, Any]],
    changes: Mapping[str, Any],
    *,
    is_own: bool = True,
) -> tuple[list[RunMetric], list[Mapping[str, Any]]]:
    """Return the metrics of a run file, and the records of those that are not usable now, each with
    a ``reason``.

    Args:
        catalog: The installed components.
        records: What the run file stores of each metric.
        changes: Options that replace stored ones, for metrics that have them.
        is_own: Whether this installation wrote the records; in those of somebody else, no option
            names a file.
    """
    usable: list[RunMetric] = []
    absent: list[Mapping[str, Any]] = []
    for record in records:
        options = dict(record["options"])
        options |= {name: value for name, value in changes.items() if name in options}
        try:
            component = _stored_component(catalog, record["component"])
            _require_nothing(component, options, is_own)
            usable.append(_build_metric(component, options))
        except ContextBenchError as error:
            absent.append({**record, "reason": str(error).rstrip(".")})
    return usable, absent


def _require_nothing(component: Component, options: Mapping[str, Any], is_own: bool) -> None:
    """Refuse a metric that needs more than the rows, where a run is only looked at.

    Raises:
        PluginError: It needs a capability, or its options name a file and somebody else wrote them.
    """
    if component.capabilities:
        raise PluginError(f"it needs {', '.join(component.capabilities)}")
    declared = component.manifest.options
    names = [name.replace("-", "_") for name in options]
    if not is_own and any(
        name in declared and declared[name].type in ("path", "tables", "words") for name in names
    ):
        raise PluginError(
            "its options name a file, and this installation did not write the run file"
        )


def _stored_component(catalog: Catalog, name: str) -> Component:
    """Return the component that a run file names.

    Raises:
        PluginError: It is not installed, or the metric was not a component.
    """
    if not name:
        raise PluginError("it was given to evaluate() as an object")
    components = catalog.named("metrics", name)
    if components:
        return components[0].called_by_id()
    from context_bench.plugins.first_party import COMPONENTS

    distribution, _, short_name = name.partition("/")
    _, first_party = COMPONENTS["metrics"].get(short_name, ("", ""))
    if first_party == distribution:
        raise PluginError(f"{short_name} comes with {distribution}: {install_hint(distribution)}")
    raise PluginError(f"{name} is not installed")


def with_declarations(metric: Metric, catalog: Catalog | None = None) -> RunMetric:
    """Return a metric with the meaning of its values: its attribute ``values``, or those of its
    package's manifest.

    Args:
        metric: The metric.
        catalog: The installed components; None discovers them.
    """
    if isinstance(metric, RunMetric):
        return metric
    declared = getattr(metric, "values", None)
    if isinstance(declared, Mapping):
        return RunMetric(
            metric, {str(key): _summary_value(str(key), value) for key, value in declared.items()}
        )
    if catalog is None:
        from context_bench.plugins.catalog_cache import remembered_catalog

        catalog = remembered_catalog(PluginSettings.read(environ=os.environ))
    component = component_of(catalog, "metrics", metric)
    return RunMetric(metric, component.metric.values if component else {})


def _default_components(catalog: Catalog, without: Iterable[str]) -> list[Component]:
    """Return the metrics that are on by default, without those that the user switched off."""
    excluded = set(without)
    return [
        component
        for component in catalog.of_kind("metrics")
        if component.metric.default
        and component.state != BLOCKED
        and component.overridden_by is None
        and not excluded & component.names
    ]


def _resolve(catalog: Catalog, metric: str | Metric, shared: Mapping[str, Any]) -> RunMetric:
    if isinstance(metric, str):
        name, options = _parse(metric)
        return _build_metric(catalog.find("metrics", name), options, shared)
    if isinstance(metric, type) or not _is_metric(metric):
        raise misfit(metric, "metric", _NOT_A_METRIC)
    return with_declarations(metric, catalog)


def _is_metric(candidate: object) -> bool:
    has_method = any(callable(getattr(candidate, method, None)) for method in METHODS)
    return has_method and isinstance(getattr(candidate, "name", None), str)


def _parse(text: str) -> tuple[str, dict[str, str]]:
    """Return the name and the options of ``NAME:option=value,...``."""
    name, _, rest = text.partition(":")
    pairs = [pair for pair in rest.split(",") if pair]
    options = written_options(pairs, f"metric {name.strip()!r}")
    return name.strip(), {key.strip(): value.strip() for key, value in options.items()}


def _build_metric(
    component: Component, options: Mapping[str, Any], shared: Mapping[str, Any] | None = None
) -> RunMetric:
    declared = component.manifest.options
    used = {name: value for name, value in (shared or {}).items() if name in declared}
    used.update(options)
    metric = build(component, used)
    if not _is_metric(metric):
        raise unfit(component, _NOT_A_METRIC)
    return RunMetric(
        metric=metric,
        values=component.metric.values,
        component=component.id,
        version=component.distribution.version,
        options=used,
    )


def _summary_value(key: str, value: object) -> SummaryValue:
    if isinstance(value, SummaryValue):
        return value
    if isinstance(value, Mapping) and set(value) <= set(fields_dict(SummaryValue)):
        return SummaryValue(**{"heading": key, **value})
    raise ConfigurationError(
        f"What the metric's value {key!r} means is {value!r}, but must be a table of "
        f"{', '.join(fields_dict(SummaryValue))}."
    )


def metrics_record(
    metrics: Sequence[RunMetric],
    summary: Mapping[str, Mapping[str, Any]] | None = None,
    keys_by_metric: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Return what a run file stores of metrics, and of their values where they are computed.

    Args:
        metrics: The metrics.
        summary: Their values by key, by system.
        keys_by_metric: The keys that each metric returned, by its name.
    """
    keys = keys_by_metric or {}
    records = [{**metric.to_dict(), "keys": list(keys.get(metric.name, ()))} for metric in metrics]
    if summary is None:
        return {"metrics": records}
    return {
        "metrics": records,
        "summary": {system: _stored_values(values) for system, values in summary.items()},
    }


def _stored_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON, which has no infinity: such a value becomes its text."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def recalled(
    record: Mapping[str, Any], summary: Mapping[str, Mapping[str, Any]]
) -> tuple[RunMetric, str]:
    """Return a metric that returns the values of the run file, and a warning that says so.

    Args:
        record: What :func:`stored_metrics` returns of a metric that is not usable.
        summary: The summary of the run file.
    """
    name = str(record["name"])
    values_by_system: dict[str, dict[str, float]] = {}
    for system, stored in summary.items():
        values_by_system[system] = {
            key: float(stored[key])  # an infinite value is stored as "inf"
            for key in record.get("keys", ())
            if key in stored
        }
    if any(values_by_system.values()):
        consequence = "its values are those of when the run ended"
    else:
        consequence = "it had no values when the run ended"

    def compare(columns_by_system: Mapping[str, Any]) -> Mapping[str, Mapping[str, float]]:
        return {
            label: values
            for label, values in values_by_system.items()
            if label in columns_by_system
        }

    declared = {key: SummaryValue(**value) for key, value in record["values"].items()}
    metric = RunMetric(SimpleNamespace(name=name, compare=compare), declared)
    return metric, f"Metric {name} is not computed: {record['reason']}; {consequence}."

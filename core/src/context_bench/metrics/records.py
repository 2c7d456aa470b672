"""Metrics as a run file keeps them: which they were, and what they said, so that a report needs no package for that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench.metrics.registry import RunMetric, with_declarations
from context_bench.plugins.component_metadata import SummaryValue
from context_bench.protocols import Metric


def metrics_record(
    metrics: Sequence[Metric],
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
    found = [with_declarations(metric) for metric in metrics]
    record: dict[str, Any] = {
        "metrics": [{**metric.to_dict(), "keys": list(keys.get(metric.name, ()))} for metric in found]
    }
    if summary is not None:
        record["summary"] = _kept(summary)
    return record


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

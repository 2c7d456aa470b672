"""Seconds: latency, what endpoints make a run wait, and the time to the first token."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from attrs import frozen

from context_bench.metrics import ColumnMetric, Columns, percentiles

_SHARES = {"median": 0.5, "p95": 0.95, "p99": 0.99}


@frozen
class Latency(ColumnMetric):
    """Seconds from the first sending to the answer, over the answered rows. Percentiles interpolate linearly.

    A response that was reused from an earlier run took no time and is left out.

    Keys: ``latency_mean``, ``latency_median``, ``latency_p95`` and ``latency_p99``; where it is known how long the system
    took without its model, also ``system_latency_median``, ``system_latency_p95``, ``model_latency_median`` and
    ``model_latency_p95``, over the rows of which it is known.
    """

    name: str = "latency"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the percentiles."""
        values = {}
        if columns.latencies:
            values["latency_mean"] = math.fsum(columns.latencies) / len(columns.latencies)
        values |= _spread("latency", columns.latencies, ("median", "p95", "p99"))
        values |= _spread("system_latency", columns.system_latencies, ("median", "p95"))
        values |= _spread("model_latency", columns.model_latencies, ("median", "p95"))
        return values


@frozen
class Waiting:
    """How long endpoints made the rows wait, and how often calls were repeated; nothing where no system had to wait.

    Keys: ``waiting``, seconds of all rows together (refusals, ``Retry-After``, learned and advertised rates, also before the
    first sending); ``retries``, those of failed rows included; ``rows_per_minute``, how many rows fit into a minute, one after
    the other, waiting included.
    """

    name: str = "waiting"

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the waiting of each system, where one of them waited."""
        if not any(columns.waiting or columns.retries for columns in columns_by_system.values()):
            return {}
        values_by_system: dict[str, dict[str, float]] = {}
        for label, columns in columns_by_system.items():
            if not columns.durations and not columns.retries:
                continue
            values: dict[str, float] = {}
            if columns.durations:
                values["waiting"] = columns.waiting
            values["retries"] = columns.retries
            seconds = math.fsum(columns.durations)
            if seconds > 0:
                values["rows_per_minute"] = 60 * len(columns.durations) / seconds
            values_by_system[label] = values
        return values_by_system


@frozen
class TimeToFirstToken(ColumnMetric):
    """Seconds to the first token of the answer, where systems measure it.

    Keys: ``first_token_median`` and ``first_token_p95``.
    """

    name: str = "time_to_first_token"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the percentiles."""
        return _spread("first_token", columns.first_tokens, ("median", "p95"))


def _spread(key: str, seconds: array[float], names: tuple[str, ...]) -> dict[str, float]:
    """Return percentiles of seconds by key; an empty dict without seconds."""
    if not seconds:
        return {}
    values = percentiles(seconds, [_SHARES[name] for name in names])
    return {f"{key}_{name}": value for name, value in zip(names, values)}

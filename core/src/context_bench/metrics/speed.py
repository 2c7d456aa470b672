"""Metrics of time: how long answers took."""

from __future__ import annotations

import math
from array import array

from attrs import frozen

from context_bench.aggregation import Columns, percentiles
from context_bench.metrics.by_columns import ByColumns


@frozen
class Latency(ByColumns):
    """Seconds that the system took, over the rows that it answered. Percentiles interpolate linearly.

    Keys: ``latency_mean``, ``latency_median``, ``latency_p95`` and ``latency_p99``; where it is known how long the system
    took without its model, also ``system_latency_median``, ``system_latency_p95``, ``model_latency_median`` and
    ``model_latency_p95``, over the rows of which it is known.
    """

    name: str = "latency"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the mean and the percentiles."""
        values = columns.latencies
        if not values:
            return {}
        median, p95, p99 = columns.latencies_at((0.5, 0.95, 0.99))
        return {
            "latency_mean": math.fsum(values) / len(values),
            "latency_median": median,
            "latency_p95": p95,
            "latency_p99": p99,
            **_split_latency("system", columns.system_latencies),
            **_split_latency("model", columns.model_latencies),
        }


def _split_latency(who: str, values: array[float]) -> dict[str, float]:
    if not values:
        return {}
    median, p95 = percentiles(values, (0.5, 0.95))
    return {f"{who}_latency_median": median, f"{who}_latency_p95": p95}

"""Metrics of time: how long answers took."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping

from attrs import frozen

from context_bench.aggregation import Columns, percentiles
from context_bench.metrics.scores import ByColumns


@frozen
class Latency(ByColumns):
    """Seconds from the first sending to the answer, over the answered rows. Percentiles interpolate linearly.

    A response that was taken from an earlier run took no time here, and is left out.

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


@frozen
class Waiting:
    """What endpoints made the rows wait, and how often they were asked again; nothing where no system had to.

    Keys: ``waiting``, seconds of all rows together: refusals, what ``Retry-After`` asks for, learned and advertised rates,
    also before the first sending; ``retries``, those of failed rows included; ``rows_per_minute``, how many rows a minute has
    room for, one after the other, waiting included.
    """

    name: str = "waiting"

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the waiting of each system, where one of them waited."""
        if not any(columns.waiting or columns.retries for columns in columns_by_system.values()):
            return {}
        found: dict[str, dict[str, float]] = {}
        for label, columns in columns_by_system.items():
            if columns.durations or columns.retries:
                waiting = {"waiting": columns.waiting} if columns.durations else {}
                found[label] = {**waiting, "retries": columns.retries}
            if columns.durations and (seconds := math.fsum(columns.durations)) > 0:
                found[label]["rows_per_minute"] = 60 * len(columns.durations) / seconds
        return found


@frozen
class SpeedRank:
    """Where a system stands among the others in speed: 1 + the systems that are no slower and wait no longer.

    Both count: seconds of the median row from the first sending to its answer, and what the endpoint makes a row wait on
    average. Key: ``speed_rank``, with two systems or more.
    """

    name: str = "speed_rank"

    def compare(self, columns_by_system: Mapping[str, Columns]) -> dict[str, dict[str, float]]:
        """Return the rank of each system that has a latency."""
        points = {
            label: (columns.latencies_at((0.5,))[0], columns.waiting / len(columns.latencies))
            for label, columns in columns_by_system.items()
            if columns.latencies and not columns.is_derived
        }
        if len(points) < 2:
            return {}

        def is_beaten(one: tuple[float, float], other: tuple[float, float]) -> bool:
            return other != one and other[0] <= one[0] and other[1] <= one[1]

        return {
            label: {self.name: 1 + sum(is_beaten(point, other) for other in points.values())}
            for label, point in points.items()
        }


@frozen
class TimeToFirstToken(ByColumns):
    """Seconds to the first token of the answer, where systems measured it.

    Keys: ``first_token_median`` and ``first_token_p95``.
    """

    name: str = "time_to_first_token"

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the percentiles."""
        if not columns.first_tokens:
            return {}
        median, p95 = percentiles(columns.first_tokens, (0.5, 0.95))
        return {"first_token_median": median, "first_token_p95": p95}


def _split_latency(who: str, values: array[float]) -> dict[str, float]:
    if not values:
        return {}
    median, p95 = percentiles(values, (0.5, 0.95))
    return {f"{who}_latency_median": median, f"{who}_latency_p95": p95}

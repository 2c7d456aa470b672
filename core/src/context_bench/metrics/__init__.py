"""Metrics: the values of all rows of one system, or of all systems.

A metric has a ``name`` and at least one of three methods, each of which returns values by key:

* ``compute(rows)`` reads the rows of one system;
* ``compute_columns(columns)`` reads the :class:`Columns` of one system, at a tenth of the cost;
* ``compare(columns_by_system)`` reads all systems, after all other metrics, and returns values by system.

Optional: ``notes(summary, config)`` returns sentences that reports print with the values, such as where counts come from.

Core has the metrics of scores. The metrics of installed packages are here, too, by the names of their classes:
``from context_bench.metrics import CostOfPass``.
"""

from __future__ import annotations

from context_bench.aggregation import NO_SOURCE, REPORTED, Columns, percentiles
from context_bench.metrics.scores import (
    ColumnMetric,
    Counts,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
)
from context_bench.plugins.loading import facade

__all__ = [
    "NO_SOURCE",
    "REPORTED",
    "SOURCES",
    "ColumnMetric",
    "Columns",
    "Counts",
    "MeanScore",
    "PassRate",
    "PerDatasetBreakdown",
    "percentiles",
]

SOURCES = "sources"
"""Key of a system's summary: the source of its values and the share of the answered rows with that source, by key."""

__getattr__ = facade("metrics", globals())[0]

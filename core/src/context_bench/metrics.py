"""Metrics: the values of all rows of one system, or of all systems.

A metric has a ``name`` and at least one of three methods, each of which returns values by key:

* ``compute(rows)`` reads the rows of one system;
* ``compute_columns(columns)`` reads the :class:`Columns` of one system, at a tenth of the cost;
* ``compare(columns_by_system)`` reads all systems, after all other metrics, and returns values by
  system.

Optional: ``notes(summary, config)`` returns sentences that reports print with the values, such as
where counts come from.

Core has the metrics of scores. The metrics of installed packages are here, too, by the names of
their classes: ``from context_bench.metrics import CostOfPass``.
"""

from __future__ import annotations

from context_bench.plugins.loading import facade
from context_bench.results.columns import NO_SOURCE, REPORTED, SOURCES, Columns
from context_bench.results.metrics import (
    ColumnMetric,
    Counts,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
)
from context_bench.results.percentiles import percentiles

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

__getattr__ = facade("metrics", globals())[0]

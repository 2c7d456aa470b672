"""Metrics: what the rows of one system, or of all of them, add up to."""

from __future__ import annotations

from context_bench.metrics.calls import (
    CompressionRatio,
    CostOfPass,
    Latency,
    PromptTokens,
    SpeedRank,
    TimeToFirstToken,
    TrueCompression,
    Waiting,
)
from context_bench.metrics.scores import (
    Counts,
    MeanScore,
    ParetoRank,
    PassRate,
    PerDatasetBreakdown,
    check_score_field,
    percentile,
)

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Counts",
    "Latency",
    "MeanScore",
    "ParetoRank",
    "PassRate",
    "PerDatasetBreakdown",
    "PromptTokens",
    "SpeedRank",
    "TimeToFirstToken",
    "TrueCompression",
    "Waiting",
    "check_score_field",
    "percentile",
]

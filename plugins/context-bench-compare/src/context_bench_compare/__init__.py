"""Deciding between systems: paired differences with intervals, verdicts in words, ranks, gates, baselines and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_bench_compare.ranks import ParetoRank, SpeedRank
from context_bench_compare.spread import MeanInterval, Samples

if TYPE_CHECKING:
    from context_bench_compare.gate_extension import Gates

__all__ = ["Gates", "MeanInterval", "ParetoRank", "Samples", "SpeedRank"]


def __getattr__(name: str) -> Any:
    """Return the extension, which is imported when it is used: importing the statistics takes a second."""
    if name == "Gates":
        from context_bench_compare.gate_extension import Gates

        return Gates
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

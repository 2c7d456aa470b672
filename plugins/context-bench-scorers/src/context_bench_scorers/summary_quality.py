"""The page's submodule `summary_quality`: forwards to context-bench-scorers-judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_judge.summary_quality import SummaryQuality as SummaryQuality  # type: ignore[import-not-found, unused-ignore]
else:
    SummaryQuality = brought("summary_quality").SummaryQuality

__all__ = ["SummaryQuality"]

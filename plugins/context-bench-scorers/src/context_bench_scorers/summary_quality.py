"""The page's submodule `summary_quality`: forwards to context-bench-scorers-judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_judge.summary_quality import (  # type: ignore[import-not-found, unused-ignore]
        SummaryQuality as SummaryQuality,
    )
    from context_bench_scorers_judge.summary_quality import (
        truncate_input_text as truncate_input_text,
    )
else:
    SummaryQuality = brought("summary_quality").SummaryQuality
    truncate_input_text = brought("summary_quality").truncate_input_text

__all__ = ["SummaryQuality", "truncate_input_text"]

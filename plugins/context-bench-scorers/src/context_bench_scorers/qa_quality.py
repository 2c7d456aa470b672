"""The page's submodule `qa_quality`: forwards to context-bench-scorers-judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_judge.qa_quality import QAQualityCorrectness as QAQualityCorrectness  # type: ignore[import-not-found, unused-ignore]
else:
    QAQualityCorrectness = brought("qa_quality").QAQualityCorrectness

__all__ = ["QAQualityCorrectness"]

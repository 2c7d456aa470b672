"""The page's submodule `hallucination`: forwards to context-bench-scorers-judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_judge.hallucination import Hallucination as Hallucination  # type: ignore[import-not-found, unused-ignore]
else:
    Hallucination = brought("hallucination").Hallucination

__all__ = ["Hallucination"]

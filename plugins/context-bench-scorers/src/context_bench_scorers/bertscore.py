"""The page's submodule `bertscore`: forwards to context-bench-scorers-embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_embedding.bertscore import BERTScore as BERTScore  # type: ignore[import-not-found, unused-ignore]
else:
    BERTScore = brought("bertscore").BERTScore

__all__ = ["BERTScore"]

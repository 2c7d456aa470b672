"""The page's submodule `specificity`: forwards to context-bench-scorers-text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_text.specificity import Specificity as Specificity  # type: ignore[import-not-found, unused-ignore]
else:
    Specificity = brought("specificity").Specificity

__all__ = ["Specificity"]

"""The page's submodule `hedging_language`: forwards to context-bench-scorers-embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_embedding.hedging_language import HedgingLanguage as HedgingLanguage  # type: ignore[import-not-found, unused-ignore]
else:
    HedgingLanguage = brought("hedging_language").HedgingLanguage

__all__ = ["HedgingLanguage"]

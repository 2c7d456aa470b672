"""The page's submodule `exact_match`: forwards to context-bench-scorers-text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_text.exact_match import ExactMatch as ExactMatch  # type: ignore[import-not-found, unused-ignore]
else:
    ExactMatch = brought("exact_match").ExactMatch

__all__ = ["ExactMatch"]

"""The page's submodule `word_count_match`: forwards to context-bench-scorers-text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_text.word_count_match import WordCountMatch as WordCountMatch  # type: ignore[import-not-found, unused-ignore]
else:
    WordCountMatch = brought("word_count_match").WordCountMatch

__all__ = ["WordCountMatch"]

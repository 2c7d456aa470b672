"""The page's submodule `readability`: forwards to context-bench-scorers-text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_bench_scorers.forwarding import brought

if TYPE_CHECKING:
    from context_bench_scorers_text.readability import Readability as Readability  # type: ignore[import-not-found, unused-ignore]
else:
    Readability = brought("readability").Readability

__all__ = ["Readability"]

"""Tokenizers for context-bench: the encodings of tiktoken, without a download."""

from __future__ import annotations

from context_bench_tokenizers.encodings import Cl100kBase, O200kBase

__all__ = ["Cl100kBase", "O200kBase"]

"""Context compressors that need no model: identity, head, tail, lead sentences and BM25 passages."""

from __future__ import annotations

from context_bench_compress.bm25 import BM25Passages
from context_bench_compress.lead import LeadSentences
from context_bench_compress.tokens import count_tokens
from context_bench_compress.truncation import Head, Identity, Tail

__all__ = ["BM25Passages", "Head", "Identity", "LeadSentences", "Tail", "count_tokens"]

"""Context compressors: truncation, lead sentences, passages by BM25, TF-IDF and embeddings, sumy's summaries, LLMLingua."""

from __future__ import annotations

from context_bench_compress.bm25 import BM25Passages, bm25_scores
from context_bench_compress.by_message import ByMessage
from context_bench_compress.embeddings import EmbeddingPassages
from context_bench_compress.lead import LeadSentences
from context_bench_compress.lingua import LLMLingua, LLMLingua2
from context_bench_compress.summarizers import LexRankSummary, LSASummary, LuhnSummary
from context_bench_compress.terms import terms_of
from context_bench_compress.tfidf import TfidfPassages
from context_bench_compress.tokens import count_tokens
from context_bench_compress.truncation import Head, Identity, Tail

__all__ = [
    "BM25Passages",
    "ByMessage",
    "EmbeddingPassages",
    "Head",
    "Identity",
    "LLMLingua",
    "LLMLingua2",
    "LSASummary",
    "LeadSentences",
    "LexRankSummary",
    "LuhnSummary",
    "Tail",
    "TfidfPassages",
    "bm25_scores",
    "count_tokens",
    "terms_of",
]

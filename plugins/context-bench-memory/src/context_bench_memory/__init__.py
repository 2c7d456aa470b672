"""Memory systems as systems under test: reset, ingest the sessions of a row, ask its question."""

from __future__ import annotations

from context_bench_memory.adapter import MemoryAdapter
from context_bench_memory.bm25 import BM25Memory, BM25MemorySystem
from context_bench_memory.history import History, HistorySystem
from context_bench_memory.named import NamedMemory
from context_bench_memory.sessions import sessions_of

__all__ = [
    "BM25Memory",
    "BM25MemorySystem",
    "History",
    "HistorySystem",
    "MemoryAdapter",
    "NamedMemory",
    "sessions_of",
]

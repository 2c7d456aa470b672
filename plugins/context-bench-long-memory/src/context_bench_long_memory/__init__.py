"""LongMemEval and LoCoMo: their questions as examples, their scores, and what came back of the evidence."""

from context_bench_long_memory.answers import MemoryAnswer
from context_bench_long_memory.evidence import EvidenceWords
from context_bench_long_memory.judge import MemoryJudge
from context_bench_long_memory.locomo import locomo
from context_bench_long_memory.locomo_f1 import LoCoMoF1

__all__ = ["EvidenceWords", "LoCoMoF1", "MemoryAnswer", "MemoryJudge", "locomo"]

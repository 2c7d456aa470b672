"""Label accuracy for context-bench on natural language inference and claim verification."""

from __future__ import annotations

from context_bench.records import Scores
from context_bench_nli.evaluator import NLILabelMatch

__all__ = ["NLILabelMatch", "Scores"]

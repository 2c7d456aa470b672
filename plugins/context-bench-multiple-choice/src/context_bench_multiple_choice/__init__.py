"""Multiple-choice accuracy for context-bench: the letter of the concluding statement against the right one."""

from __future__ import annotations

from context_bench.records import Scores
from context_bench_multiple_choice.evaluator import MultipleChoiceAccuracy, mmlu_pro_letter
from context_bench_multiple_choice.extraction import Finding, find_letter

__all__ = ["Finding", "MultipleChoiceAccuracy", "Scores", "find_letter", "mmlu_pro_letter"]

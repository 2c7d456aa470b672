"""Scores of short answers: SQuAD's token F1 and exact match, and whether a reply concludes with the answer."""

from context_bench_answer_quality.evaluator import AnswerQuality
from context_bench_answer_quality.normalization import normalize_answer
from context_bench_answer_quality.short_answer import ShortAnswer

__all__ = ["AnswerQuality", "ShortAnswer", "normalize_answer"]

"""SQuAD answer quality: token F1, exact match, recall and containment."""

from context_bench_answer_quality.evaluator import AnswerQuality
from context_bench_answer_quality.normalization import normalize_answer

__all__ = ["AnswerQuality", "normalize_answer"]

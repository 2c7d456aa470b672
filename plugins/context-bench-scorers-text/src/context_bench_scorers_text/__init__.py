"""Arthur's scorers of texts that need no model: exact match, word count, readability, specificity."""

from context_bench_scorers_text.evaluators import (
    ExactMatchEvaluator,
    ReadabilityEvaluator,
    SpecificityEvaluator,
    WordCountMatchEvaluator,
)
from context_bench_scorers_text.exact_match import ExactMatch
from context_bench_scorers_text.readability import Readability
from context_bench_scorers_text.specificity import Specificity
from context_bench_scorers_text.syllables import syllables
from context_bench_scorers_text.word_count_match import WordCountMatch

__all__ = [
    "ExactMatch",
    "ExactMatchEvaluator",
    "Readability",
    "ReadabilityEvaluator",
    "Specificity",
    "SpecificityEvaluator",
    "WordCountMatch",
    "WordCountMatchEvaluator",
    "syllables",
]

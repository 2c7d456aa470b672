"""The scorers as evaluators of a run."""

from __future__ import annotations

from context_bench_scorers import ScorerEvaluator
from context_bench_scorers_text.exact_match import ExactMatch
from context_bench_scorers_text.readability import Readability
from context_bench_scorers_text.specificity import Specificity
from context_bench_scorers_text.word_count_match import WordCountMatch


class ExactMatchEvaluator(ScorerEvaluator):
    """`ExactMatch` of the response and the best reference, under ``scorer_exact_match``.

    >>> ExactMatchEvaluator().score({"answers": ["Rome", "Roma"]}, {"response": "Roma"})
    {'scorer_exact_match': 1.0}

    Args:
        case_sensitive: Whether case counts.
        parity: ``"arthur"`` for the predecessor's values.
    """

    def __init__(self, *, case_sensitive: bool = True, parity: str | None = None) -> None:
        super().__init__(ExactMatch(case_sensitive, parity=parity), key="scorer_exact_match")


class WordCountMatchEvaluator(ScorerEvaluator):
    """`WordCountMatch` of the response and the best reference, under ``word_count_match``."""

    def __init__(self) -> None:
        super().__init__(WordCountMatch())


class ReadabilityEvaluator(ScorerEvaluator):
    """`Readability` of the response, under ``readability``."""

    def __init__(self) -> None:
        super().__init__(Readability())


class SpecificityEvaluator(ScorerEvaluator):
    """`Specificity` of the response, under ``specificity``.

    Args:
        parity: ``"arthur"`` for the predecessor's values.
    """

    def __init__(self, *, parity: str | None = None) -> None:
        super().__init__(Specificity(parity=parity))

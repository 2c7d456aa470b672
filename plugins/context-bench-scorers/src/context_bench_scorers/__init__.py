"""Arthur-style scorers: the base class, batches, categories, and adapters to and from evaluators.

The built-in scorers are in packages of their own and are imported when they are asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from context_bench_scorers.adapters import EvaluatorScorer, ScorerEvaluator, as_evaluator, as_scorer
from context_bench_scorers.errors import (
    MissingParameterError,
    ScorerError,
    ScorerInternalError,
    ScorerUserError,
    UserTypeError,
    UserValueError,
)
from context_bench_scorers.results import Category, ScoreResult
from context_bench_scorers.scorer import Scorer
from context_bench_scorers.scoring_method import (
    CLASSES,
    ScorerOutputType,
    ScoringMethod,
    ScoringMethodName,
    ScoringMethodType,
    scorer_from_string,
)

if TYPE_CHECKING:
    from context_bench_scorers.bertscore import BERTScore as BERTScore
    from context_bench_scorers.exact_match import ExactMatch as ExactMatch
    from context_bench_scorers.hallucination import Hallucination as Hallucination
    from context_bench_scorers.hedging_language import HedgingLanguage as HedgingLanguage
    from context_bench_scorers.python_unit_testing import PythonUnitTesting as PythonUnitTesting
    from context_bench_scorers.qa_quality import QAQualityCorrectness as QAQualityCorrectness
    from context_bench_scorers.readability import Readability as Readability
    from context_bench_scorers.specificity import Specificity as Specificity
    from context_bench_scorers.summary_quality import SummaryQuality as SummaryQuality
    from context_bench_scorers.word_count_match import WordCountMatch as WordCountMatch

_FORWARDED = {name: module for module, name in CLASSES.values()}

__all__ = [
    "Category",
    "EvaluatorScorer",
    "MissingParameterError",
    "ScoreResult",
    "Scorer",
    "ScorerError",
    "ScorerEvaluator",
    "ScorerInternalError",
    "ScorerOutputType",
    "ScorerUserError",
    "ScoringMethod",
    "ScoringMethodName",
    "ScoringMethodType",
    "UserTypeError",
    "UserValueError",
    "as_evaluator",
    "as_scorer",
    "scorer_from_string",
]


def __getattr__(name: str) -> Any:
    if name in _FORWARDED:
        return getattr(import_module(f"{__name__}.{_FORWARDED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

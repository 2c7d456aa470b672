"""The scorers by name, and what describes one."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from attrs import Factory, frozen

from context_bench.errors import did_you_mean
from context_bench_scorers.errors import UserValueError
from context_bench_scorers.results import Category

if TYPE_CHECKING:
    from context_bench_scorers.scorer import Scorer


class ScoringMethodName(str, Enum):
    """The built-in scorers."""

    BERTScore = "bertscore"
    ExactMatch = "exact_match"
    Hallucination = "hallucination"
    HedgingLanguage = "hedging_language"
    PythonUnitTesting = "python_unit_testing"
    QACorrectness = "qa_correctness"
    Readability = "readability"
    Specificity = "specificity"
    SummaryQuality = "summary_quality"
    WordCountMatch = "word_count_match"


class ScoringMethodType(str, Enum):
    """Whether a scorer is one of ours."""

    BuiltIn = "built_in"
    Custom = "custom"


class ScorerOutputType(str, Enum):
    """What a scorer gives."""

    Continuous = "continuous"
    Categorical = "categorical"


@frozen
class ScoringMethod:
    """A scorer as a record.

    Attributes:
        name: Its name.
        type: Whether it is built in.
        config: What `Scorer.from_dict` makes it from again.
        output_type: Whether it gives categories.
        categories: Those it gives; None where it gives none.

    Raises:
        UserValueError: It gives categories and names none, or the other way round.
    """

    name: str
    type: ScoringMethodType
    config: dict[str, Any] = Factory(dict)
    output_type: ScorerOutputType = ScorerOutputType.Continuous
    categories: list[Category] | None = None

    def __attrs_post_init__(self) -> None:
        is_categorical = self.output_type is ScorerOutputType.Categorical
        if is_categorical and not self.categories:
            raise UserValueError(
                f"The scorer {self.name!r} is categorical; its categories() must name its categories."
            )
        if not is_categorical and self.categories:
            raise UserValueError(
                f"The scorer {self.name!r} is not categorical; its categories() must be None."
            )


CLASSES = {
    ScoringMethodName.BERTScore: ("bertscore", "BERTScore"),
    ScoringMethodName.ExactMatch: ("exact_match", "ExactMatch"),
    ScoringMethodName.Hallucination: ("hallucination", "Hallucination"),
    ScoringMethodName.HedgingLanguage: ("hedging_language", "HedgingLanguage"),
    ScoringMethodName.PythonUnitTesting: ("python_unit_testing", "PythonUnitTesting"),
    ScoringMethodName.QACorrectness: ("qa_quality", "QAQualityCorrectness"),
    ScoringMethodName.Readability: ("readability", "Readability"),
    ScoringMethodName.Specificity: ("specificity", "Specificity"),
    ScoringMethodName.SummaryQuality: ("summary_quality", "SummaryQuality"),
    ScoringMethodName.WordCountMatch: ("word_count_match", "WordCountMatch"),
}
"""Submodule and class of each built-in scorer."""


def scorer_from_string(method: str) -> type[Scorer]:
    """Return the class of a built-in scorer.

    Args:
        method: Its name, one of `ScoringMethodName`.

    Raises:
        UserValueError: There is no such scorer; the message lists those there are.
        ImportError: The package that brings it is not installed; the message has the install line.
    """
    from importlib import import_module

    try:
        module, name = CLASSES[ScoringMethodName(method)]
    except ValueError:
        known = [known.value for known in ScoringMethodName]
        listed = f"Choose from: {', '.join(known)}."
        hint = did_you_mean(str(method), known)
        message = (
            f"No scorer is called {method!r}. {listed if hint == listed else f'{hint} {listed}'}"
        )
        raise UserValueError(message) from None
    found: type[Scorer] = getattr(import_module(f"context_bench_scorers.{module}"), name)
    return found

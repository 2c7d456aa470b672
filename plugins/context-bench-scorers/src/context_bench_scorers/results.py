"""What a scorer says of one candidate."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from context_bench_scorers.errors import ScorerInternalError, UserValueError


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, numbers.Real):
        raise UserValueError(f"A score is a number, not {value!r}.")
    number = float(value)
    if math.isnan(number):
        raise UserValueError(
            "A score is a number, not NaN: leave it out (None) and say why in the category."
        )
    return number


@frozen
class Category:
    """A class that a candidate falls into.

    Attributes:
        name: Its name.
        description: What it means.
    """

    name: str
    description: str = ""


@frozen
class ScoreResult:
    """A score, a category, or both.

    >>> ScoreResult(1), ScoreResult(category=Category("invalid")).score
    (ScoreResult(score=1.0, category=None), None)

    Attributes:
        score: A number, or None when there is none: the candidate is left out of means and counted.
        category: The category of a categorical scorer.
        details: What led to it: JSON-like values that are stored with the row. They do not count in comparisons.

    Raises:
        UserValueError: Neither is given, or the score is no number.
    """

    score: float | None = field(default=None, converter=_number)
    category: Category | None = None
    details: Mapping[str, Any] = field(factory=dict, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.score is None and self.category is None:
            raise UserValueError(
                "A ScoreResult needs a score or a category, and this one has neither."
            )
        if self.category is not None and not isinstance(self.category, Category):
            raise UserValueError(
                f"The category of a ScoreResult is a Category, not {type(self.category).__name__}."
            )


def results_of(scorer: str, found: Any, count: int) -> list[ScoreResult]:
    """Return what a scorer's batch method returned, as results.

    Args:
        scorer: Its name, for messages.
        found: A sequence of results; numbers are taken with a warning, as the predecessor did.
        count: How many there must be.

    Raises:
        ScorerInternalError: They are too few, too many, or no results.
    """
    if isinstance(found, (str, bytes, Mapping)) or (
        not isinstance(found, Sequence) and not hasattr(found, "tolist")
    ):
        raise ScorerInternalError(
            f"The scorer {scorer!r} returned {type(found).__name__} instead of a list of results."
        )
    listed = found.tolist() if hasattr(found, "tolist") else list(found)
    if len(listed) != count:
        raise ScorerInternalError(
            f"The scorer {scorer!r} returned {len(listed)} results for {count} candidates."
        )
    if any(not isinstance(one, ScoreResult) for one in listed):
        warnings.warn(
            f"The scorer {scorer!r} returns numbers; a list of ScoreResult is what scorers return.",
            DeprecationWarning,
            stacklevel=3,
        )
    return [_result(scorer, one) for one in listed]


def _result(scorer: str, one: Any) -> ScoreResult:
    if isinstance(one, ScoreResult):
        return one
    try:
        return ScoreResult(one)
    except UserValueError as error:
        raise ScorerInternalError(f"The scorer {scorer!r} returned {one!r}: {error}") from error

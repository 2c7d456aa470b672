"""The evaluator of recorded scores: what inspect_ai computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from context_bench.records import Scores

KNOWN = (
    "match",
    "includes",
    "exact",
    "f1",
    "pattern",
    "answer",
    "choice",
    "math",
    "model_graded_qa",
    "model_graded_fact",
)
"""Scorers of inspect_ai that return one value from 0 to 1."""

_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_TRUTH = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def number_of(value: Any) -> float | None:
    """Return a recorded value as inspect_ai's ``value_to_float`` does; None where it is no number.

    inspect_ai counts a value that it cannot convert as 0. Here such a value is unscored, as NaN is there, too.

    >>> number_of("C"), number_of("P"), number_of(True), number_of("0.25"), number_of({"a": 1})
    (1.0, 0.5, 1.0, 0.25, None)
    """
    if isinstance(value, str):
        if value in _WORDS:
            return _WORDS[value]
        if value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class InspectRecorded:
    """The scores that inspect_ai recorded for each sample.

    ``inspect_recorded`` is the score of the first scorer, whatever its name. Scorers that inspect_ai brings have a key of
    their own; the values of others are in the details of the row.

    >>> InspectRecorded().score({}, {"response": "Paris"})
    {}
    """

    name = "inspect_recorded"

    def fingerprint(self) -> dict[str, Any]:
        """Return the parameters that can change a score: none."""
        return {}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the recorded scores of a row; nothing for the answer of another system."""
        recorded = processed.get("recorded_scores")
        numbers: dict[str, float] = {}
        others: dict[str, Any] = {}
        for name, value in recorded.items() if isinstance(recorded, Mapping) else ():
            number = number_of(value)
            if number is not None:
                numbers[str(name)] = number
            if number is None or name not in KNOWN:
                others[str(name)] = value
        details: dict[str, Any] = {"other_scores": others} if others else {}
        if not numbers:
            return Scores(
                {}, {"unscored": "inspect_ai recorded no score that is a number", **details}
            )
        scores = {"inspect_recorded": next(iter(numbers.values()))}
        for name in KNOWN:
            if name in numbers:
                scores[f"inspect_{name}"] = numbers[name]
        return Scores(scores, details)

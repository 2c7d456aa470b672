"""What evaluators say of an answer, in a form that another process can send."""

from __future__ import annotations

import math
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from attrs import frozen

from context_bench.records import Failure
from context_bench.run.stopping import failure_of
from context_bench.store.encoding import storable, to_json

BATCH_SECONDS = 0.1
"""Seconds of scoring that a process does at once. Between two batches it waits for threads of its
parent, for a millisecond or more."""

_MOST = 1e290
"""The largest score: 10**18 of them can still be added."""


@frozen
class Said:
    """What an evaluator said of an answer.

    Attributes:
        scores: Its scores, by the evaluator's own keys.
        details: Its details as JSON, or None.
        unscored: Why it has no score, if the details say so.
    """

    scores: Mapping[str, float]
    details: str | None = None
    unscored: str | None = None


def said_of(result: Any) -> Said:
    """Return what an evaluator said, given what its ``score`` returned.

    Raises:
        TypeError, ValueError: That is no mapping of texts to finite numbers, or its details cannot
            be stored.
    """
    details: Mapping[str, Any] | None = None
    if type(result) is not dict:
        if not isinstance(result, Mapping):
            raise TypeError(
                f"it returned {type(result).__name__}, not a mapping of score keys to numbers"
            )
        details = getattr(result, "details", None) or None
    scores = {name: _number(name, value) for name, value in result.items() if value is not None}
    if details is None:
        return Said(scores)
    reason = details.get("unscored")
    return Said(scores, to_json(dict(details)), reason if isinstance(reason, str) else None)


class EachOf:
    """What a process is that scores pairs, one after another.

    Args:
        evaluator: The evaluator.
        name: Its id.
    """

    def __init__(self, evaluator: Any, name: str) -> None:
        self._evaluator = evaluator
        self._name = name

    def score(self, *pairs: tuple[Any, Any]) -> list[Said | Failure]:
        """Return what the evaluator says of the first pairs, or how it failed: of as many as take
        :data:`BATCH_SECONDS`, and of one at least."""
        begun = perf_counter()
        said: list[Said | Failure] = []
        for pair in pairs:
            try:
                said.append(said_of(self._evaluator.score(*pair)))
            except BaseException as error:  # noqa: BLE001 - whatever it raises is this row's failure
                said.append(failure_of("evaluator", error, self._name))
            if perf_counter() - begun > BATCH_SECONDS:
                break
        return said


def _number(name: object, value: Any) -> float:
    if type(value) is float and type(name) is str and name.isascii() and -_MOST <= value <= _MOST:
        return value + 0.0  # a run file holds no minus before a zero
    if not isinstance(name, str) or storable(name) != name:
        raise TypeError(f"the score key {name!r} is no text")
    if isinstance(value, str | bytes):
        raise TypeError(f"the score {name!r} is {value!r}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"the score {name!r} is {value!r}, not a number") from error
    if not -_MOST <= number <= _MOST:
        raise ValueError(
            f"the score {name!r} is {number}, not a finite number of which a mean can be taken"
        )
    return number + 0.0

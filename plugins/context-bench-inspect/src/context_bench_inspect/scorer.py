"""The evaluator: a scorer of inspect_ai, called by its name."""

from __future__ import annotations

import json
import math
from collections.abc import Coroutine, Mapping, Sequence
from functools import cached_property
from typing import Any

from context_bench.answers import NO_ANSWER, references, reply_of
from context_bench.errors import ConfigurationError
from context_bench.records import Scores

SCORERS = ("match", "includes", "exact", "f1", "pattern", "answer", "choice")
"""Scorers of inspect_ai that need a response and a target, and no model."""


class InspectScorer:
    """A scorer of inspect_ai on any response.

    The response is scored as the system returned it. All answers of the example are the target. For ``choice`` the letters
    are read from the response as inspect_ai's solver ``multiple_choice`` reads them.

    Args:
        scorer: ``match``, ``includes``, ``exact``, ``f1``, ``pattern``, ``answer`` or ``choice``.
        args: Arguments of the scorer, each ``NAME=VALUE``; a value is JSON, or a text.

    Raises:
        ConfigurationError: There is no such scorer, or an argument has no value.
    """

    def __init__(self, scorer: str = "match", args: Sequence[str] = ()) -> None:
        if scorer not in SCORERS:
            raise ConfigurationError(
                f"Unknown scorer {scorer!r}. Choose from: {', '.join(SCORERS)}."
            )
        self.name = f"inspect_{scorer}"
        self._scorer_name = scorer
        self._arguments = dict(_argument(text) for text in args)

    def fingerprint(self) -> dict[str, Any]:
        """Return every parameter that can change a score."""
        return {"scorer": self._scorer_name, "arguments": self._arguments}

    @cached_property
    def _scorer(self) -> Any:
        from inspect_ai import scorer

        arguments = dict(self._arguments)
        required = {"pattern": "pattern", "answer": "pattern"}.get(self._scorer_name)
        if required is not None and required not in arguments:
            raise ConfigurationError(f"The scorer {self._scorer_name} needs args={required}=VALUE.")
        try:
            return getattr(scorer, self._scorer_name)(**arguments)
        except TypeError as error:
            raise ConfigurationError(f"The scorer {self._scorer_name}: {error}.") from error

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the value of the scorer as inspect_ai's metrics read it; nothing where the example has no reference."""
        from inspect_ai.scorer import Target, value_to_float

        response = reply_of(processed)
        targets = _targets(original, is_choice=self._scorer_name == "choice")
        if response is None or not targets:
            reason = NO_ANSWER if response is None else "the example has no reference"
            return Scores({}, {"unscored": reason})
        choices = original.get("choices")
        if self._scorer_name == "choice" and not choices:
            return Scores({}, {"unscored": "the example has no choices"})
        state = _state(response, targets, choices)
        result = _finished(self._scorer(state, Target(targets)))
        value = math.nan if result is None else value_to_float()(result.value)
        details: dict[str, Any] = {}
        if result is not None:
            details = {"answer": result.answer, "explanation": result.explanation}
        if not math.isfinite(value):
            return Scores({}, {"unscored": "the scorer returned no value", **details})
        return Scores({"inspect_score": value}, details)


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(f"args must be NAME=VALUE, got {text!r}.")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _targets(original: Mapping[str, Any], *, is_choice: bool) -> list[str]:
    """Return the target: the answers, and for a choice their letters."""
    if is_choice:
        letters = original.get("target_letters") or original.get("correct_letter") or []
        return [letters] if isinstance(letters, str) else [str(letter) for letter in letters]
    return list(references(original))


def _state(response: str, targets: Sequence[str], choices: Sequence[str] | None) -> Any:
    """Return the state in which a scorer finds the response; choices are marked as the solver marks them."""
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState
    from inspect_ai.solver._multiple_choice import (
        parse_answers,
        set_choices_based_on_generated_response,
    )

    output = ModelOutput.from_content("recorded", response)
    state = TaskState(
        model=ModelName("mockllm/model"),
        sample_id="1",
        epoch=1,
        input="",
        messages=[output.choices[0].message],
        target=Target(list(targets)),
        choices=None if choices is None else list(choices),
        output=output,
    )
    if choices:
        answers = parse_answers(state, len(targets) > 1)
        set_choices_based_on_generated_response(state, answers)
    return state


def _finished(call: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a scorer that is declared async and waits for nothing."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    call.close()
    raise RuntimeError("The scorer waits for something; only scorers of texts are supported.")

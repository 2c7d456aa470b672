"""The scores that an evaluator gives to responses that exist already."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench import EvalRow, Evaluator, evaluate
from context_bench.errors import ConfigurationError
from context_bench_validation.judgements import Answer


@frozen
class Length:
    """The number of words of a response: the simplest evaluator, and a strong one where judges prefer long answers."""

    name: str = "length"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Return the number of words."""
        return {"length": float(len(processed["response"].split()))}


BUILT_IN: dict[str, Evaluator] = {"length": Length()}
"""Evaluators of this package, which need not be installed."""


@frozen
class Scorer:
    """An evaluator with its settings.

    Attributes:
        name: Name of the evaluator.
        options: Its options.
        key: The score to use; None for the primary score.
        max_workers: Calls in flight; None leaves that to the run.
    """

    name: str
    options: Mapping[str, Any] = {}
    key: str | None = None
    max_workers: int | None = None


@frozen(eq=False)
class Scored:
    """What an evaluator gave to some responses.

    Attributes:
        name: Name of the evaluator.
        key: Key of the score.
        values: The score of each response, negated if lower is better; None where there is none.
        reasons: Why responses have no score, each reason once, with its count.
    """

    name: str
    key: str
    values: tuple[float | None, ...]
    reasons: Mapping[str, int]


@frozen
class _Recorded:
    """A system that returns the responses it was made with."""

    responses: Sequence[str]
    name: str = "recorded"

    def process(self, example: Mapping[str, Any]) -> dict[str, Any]:
        return {"response": self.responses[int(example["id"])]}


def score_answers(
    scorer: Scorer, answers: Sequence[Answer], on_warning: Callable[[str], None]
) -> Scored:
    """Return the scores of responses, by a run of a system that returns them. Equal responses are scored once.

    Raises:
        ContextBenchError: The evaluator is unknown or cannot be set up.
        ConfigurationError: It gives no score with the requested key to any response.
    """
    numbers: dict[str, int] = {}
    distinct: list[Answer] = []
    order = []
    for answer in answers:
        identity = json.dumps([answer.example, answer.response], sort_keys=True, default=str)
        if identity not in numbers:
            numbers[identity] = len(distinct)
            distinct.append(answer)
        order.append(numbers[identity])
    result = evaluate(
        _Recorded([answer.response for answer in distinct]),
        [{**answer.example, "id": str(number)} for number, answer in enumerate(distinct)],
        [BUILT_IN.get(scorer.name, scorer.name)],
        metrics=[],
        progress=False,
        max_workers=scorer.max_workers,
        options={scorer.name: dict(scorer.options)} if scorer.options else None,
        store_examples=False,
        keep_going=True,
        on_warning=on_warning,
    )
    rows = {int(str(row.example_id)): row for row in result.rows}
    key = scorer.key or _key_of(rows.values(), scorer.name)
    values = [_value_of(rows[number], key) for number in range(len(distinct))]
    reasons: dict[str, int] = {}
    for number, value in enumerate(values):
        if value is None:
            reason = _reason_of(rows[number])
            reasons[reason] = reasons.get(reason, 0) + 1
    if len(set(values)) == 1 and values[0] is None:
        keys = sorted({name for row in rows.values() for name in row.scores})
        given = (
            f"It gives: {', '.join(keys)}." if keys else f"The first reason: {next(iter(reasons))}."
        )
        raise ConfigurationError(f"{scorer.name} gives no score {key!r} to any response. {given}")
    return Scored(scorer.name, key, tuple(values[number] for number in order), reasons)


def _key_of(rows: Any, name: str) -> str:
    """Return the key of the primary score; the only key of an evaluator that declares none."""
    for row in rows:
        if row.primary is not None:
            return str(row.primary)
    keys = {key for row in rows for key in row.scores}
    if len(keys) == 1:
        return str(keys.pop())
    raise ConfigurationError(
        f"{name} has no primary score. Choose one with --score: {', '.join(sorted(keys)) or 'it gives none'}."
    )


def _value_of(row: EvalRow, key: str) -> float | None:
    value = row.scores.get(key)
    if value is None:
        return None
    return -float(value) if row.better(key) == "lower" else float(value)


def _reason_of(row: EvalRow) -> str:
    if row.errors:
        return str(row.errors[0])
    return next(iter(row.unscored.values()), "it gives no score to this response")

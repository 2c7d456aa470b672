"""From the rows of a run to evaluation events.

The names are those of the semantic conventions for generative AI: the event ``gen_ai.evaluation.result`` with
``gen_ai.evaluation.name``, ``.score.value``, ``.score.label``, ``.explanation``, ``gen_ai.response.id`` and ``error.type``.
They are in development there. What the conventions have no name for begins with ``context_bench.``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.records import EvalRow, Failure

EVENT_NAME = "gen_ai.evaluation.result"

NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
ERROR_TYPE = "error.type"

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-[0-9a-f]{2}")
_EXPLANATIONS = ("explanation", "reason", "reasoning")


@frozen
class Event:
    """One evaluation event.

    Attributes:
        attributes: Attributes of the event.
        trace_id: Trace of the operation that was evaluated; 0 where the row does not say.
        span_id: Span of that operation; 0 where the row does not say.
    """

    attributes: Mapping[str, str | float | int | bool]
    trace_id: int = 0
    span_id: int = 0


def events_of(
    rows: Iterable[EvalRow], *, scores: Collection[str] = (), explanations: bool = False
) -> Iterator[Event]:
    """Yield an event for each score of each row, and for each failure.

    A row that an evaluator left unscored has no event of that evaluator.

    Args:
        rows: Rows of a run.
        scores: Keys to send; empty for all.
        explanations: Whether the explanation of an evaluator is an attribute. It can quote the response.
    """
    for row in rows:
        trace_id, span_id = _parent(row.output)
        for attributes in _results(row, scores, explanations=explanations):
            yield Event({**_row_attributes(row), **attributes}, trace_id, span_id)


def _results(
    row: EvalRow, scores: Collection[str], *, explanations: bool
) -> Iterator[dict[str, Any]]:
    for key, value in row.scores.items():
        if scores and key not in scores:
            continue
        meaning = row.keys.get(key)
        attributes: dict[str, Any] = {
            NAME: key,
            VALUE: float(value),
            "context_bench.score.is_primary": key == row.primary,
        }
        if meaning is not None:
            attributes["context_bench.evaluator"] = meaning.evaluator
            attributes["context_bench.score.better"] = meaning.better
            if explanations:
                attributes.update(_explanation(row.details.get(meaning.evaluator)))
        yield attributes
    for failure in row.errors:
        yield _failed(row, failure)


def _failed(row: EvalRow, failure: Failure) -> dict[str, Any]:
    """Return the event of a failure: a name and an error, and no value, as nothing was measured."""
    name = failure.evaluator or row.primary or "system"
    attributes: dict[str, Any] = {
        NAME: name,
        LABEL: f"{failure.stage} failed",
        ERROR_TYPE: failure.kind,
    }
    if failure.evaluator is not None:
        attributes["context_bench.evaluator"] = failure.evaluator
    return attributes


def _row_attributes(row: EvalRow) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "context_bench.system": row.system,
        "context_bench.dataset": row.dataset,
        "context_bench.example.id": row.example_id,
        "context_bench.repetition": row.repetition,
    }
    response_id = row.output.get("response_id")
    if isinstance(response_id, str) and response_id:
        attributes[RESPONSE_ID] = response_id
    return attributes


def _explanation(details: Mapping[str, Any] | None) -> dict[str, str]:
    for name in _EXPLANATIONS:
        text = (details or {}).get(name)
        if isinstance(text, str) and text:
            return {EXPLANATION: text}
    return {}


def _parent(output: Mapping[str, Any]) -> tuple[int, int]:
    """Return trace and span of the operation that a system names in ``traceparent``, as W3C's header writes them."""
    traceparent = output.get("traceparent")
    match = _TRACEPARENT.fullmatch(traceparent) if isinstance(traceparent, str) else None
    if match is None:
        return 0, 0
    return int(match["trace"], 16), int(match["span"], 16)

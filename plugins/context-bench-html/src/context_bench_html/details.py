"""Everything that is known of one example and its rows: what a reader sees who opens a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench import EvalRow
from context_bench.answers import references

_SHOWN = ("id", "context", "question", "prompt", "answer", "answers", "messages", "turns")
_ANY = "*"  # stands for the keys of an evaluator that declares none


def detail_of(content: Mapping[str, Any] | None, rows: Sequence[EvalRow]) -> dict[str, Any]:
    """Return an example and its rows as JSON-like values.

    Args:
        content: Fields of the example; None when the run did not keep them.
        rows: Its rows, one for each system that has one.
    """
    fields = content or {}
    context = fields.get("context")
    return {
        "question": _text(fields.get("question", fields.get("prompt"))),
        "gold": list(references(fields)) if fields else [],
        "context": context if isinstance(context, str) else _text(context),
        "messages": [_message(one) for one in fields.get("messages") or fields.get("turns") or ()],
        "fields": {name: value for name, value in fields.items() if name not in _SHOWN},
        "rows": [_row(row) for row in rows],
    }


def _row(row: EvalRow) -> dict[str, Any]:
    context = row.output.get("context")
    return {
        "system": row.system,
        "response": row.response,
        "context": context if isinstance(context, str) else None,
        "score": row.score,
        "primary": row.primary,
        "failed": row.failed,
        "scores": [_score(row, key, value) for key, value in row.counted().items()],
        "details": {evaluator: dict(told) for evaluator, told in row.details.items() if told},
        "unscored": dict(row.unscored),
        "failures": [
            {"text": str(error), "attempts": error.attempts, "traceback": error.traceback}
            for error in row.errors
        ],
        "usage": {} if row.usage is None else row.usage.to_dict(),
        "tokens": {
            "input": row.input_tokens,
            "prompt": row.prompt_tokens,
            "context": row.context_tokens,
            "response": row.response_tokens,
            "saved": row.tokens_saved,
        },
        "cost": row.cost,
        "cost_source": row.cost_source,
        "latency": row.latency,
        "metadata": dict(row.metadata),
    }


def _score(row: EvalRow, key: str, value: float) -> dict[str, Any]:
    meaning = row.keys.get(key) or row.keys.get(_ANY)
    evaluator = meaning.evaluator if meaning else ""
    if evaluator in ("", _ANY) and len(row.details) == 1:
        [evaluator] = row.details
    return {
        "key": key,
        "value": value,
        "by": evaluator,
        "reason": _reason(row.details.get(evaluator, {}), key),
    }


def _reason(details: Mapping[str, Any], key: str) -> str | None:
    """Return why a score is what it is, where its evaluator says so."""
    own = details.get(key)
    for place in (own if isinstance(own, Mapping) else {}, details):
        for name in ("reason", "reasons", "explanation", "rationale", "why", f"{key}_reason"):
            if place.get(name):
                return _text(place[name])
    return own if isinstance(own, str) else None


def _message(message: Any) -> dict[str, str]:
    if isinstance(message, Mapping):
        return {"role": str(message.get("role", "")), "text": _text(message.get("content")) or ""}
    return {"role": "user", "text": _text(message) or ""}


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)

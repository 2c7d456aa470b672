"""Everything that is known of one example and its rows: what a reader sees who opens a line."""

from __future__ import annotations

import json
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
        "messages": _conversation(row.output),
        "has_transcript": isinstance(row.output.get("transcript"), Mapping),
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


def _message(message: Any) -> dict[str, Any]:
    """Return who says what in a message, and the tools that it calls."""
    if not isinstance(message, Mapping):
        return {"role": "user", "text": _text(message) or "", "calls": []}
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    role = str(message.get("role", ""))
    name = message.get("name") or message.get("tool_call_id")
    return {
        "role": f"{role} ({name})" if name else role,
        "text": "\n".join(text for text in map(_part, parts) if text),
        "calls": [_call(call) for call in message.get("tool_calls") or () if call],
    }


def _part(part: Any) -> str:
    """Return the text of a part of a message; a call or a result of a tool as it was written."""
    if isinstance(part, Mapping):
        text = part.get("text")
        return text if isinstance(text, str) else json.dumps(part, ensure_ascii=False, default=str)
    return _text(part) or ""


def _call(call: Any) -> dict[str, str]:
    """Return the name and the arguments of a call of a tool."""
    function = call.get("function", call) if isinstance(call, Mapping) else {}
    if not isinstance(function, Mapping):
        return {"name": str(call), "arguments": ""}
    arguments = function.get("arguments", function.get("input", ""))
    shown = (
        arguments
        if isinstance(arguments, str)
        else json.dumps(arguments, ensure_ascii=False, default=str)
    )
    return {"name": str(function.get("name", "")), "arguments": shown}


def _conversation(output: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that a system left or wrote; none where it answers with a text alone."""
    messages = output.get("messages")
    return [_message(one) for one in messages] if isinstance(messages, list) else []


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)

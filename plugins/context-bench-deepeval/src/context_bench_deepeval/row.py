"""The fields of deepeval's test case, read from a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, plain_value, references

_CONTEXTS = ("retrieved_contexts", "contexts", "context")
_QUESTIONS = ("question", "user_input")
_TEXTS = ("text", "content", "page_content")


def fields_of(original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the row fills.

    ``retrieval_context`` are the texts that the system returned, or else those of the example, ``context`` those of the
    example alone. ``expected_output`` is the first answer.
    """
    answers = references(original)
    given = _texts_of(original)
    fields = {
        "input": next((text for name in _QUESTIONS if _is_text(text := original.get(name))), None),
        "actual_output": answer_of(processed),
        "expected_output": answers[0] if answers else None,
        "retrieval_context": _texts_of(processed) or given,
        "context": given,
    }
    return {name: value for name, value in fields.items() if value}


def missing_reason(fields: Mapping[str, Any], needs: Sequence[str]) -> str | None:
    """Return why a row cannot be scored; None where it has all that is needed."""
    reasons = {
        "input": "the example has no question",
        "actual_output": NO_ANSWER,
        "expected_output": "the example has no reference",
        "retrieval_context": f"neither output nor example has {' or '.join(_CONTEXTS)}",
        "context": f"the example has no {' or '.join(_CONTEXTS)}",
    }
    for name in ("actual_output", "input", *needs):
        if name not in fields:
            return reasons.get(name, f"a row has no {name}")
    return None


def _texts_of(record: Mapping[str, Any]) -> list[str]:
    for name in _CONTEXTS:
        value = plain_value(record.get(name))
        listed = value if isinstance(value, (list, tuple)) else [value]
        texts = [text for text in map(_text, listed) if _is_text(text)]
        if texts:
            return texts
    return []


def _text(value: Any) -> Any:
    if isinstance(value, Mapping):
        return next((value[name] for name in _TEXTS if name in value), None)
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())

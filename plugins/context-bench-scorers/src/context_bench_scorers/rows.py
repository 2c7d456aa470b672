"""What of a row is the candidate, the reference, the input and the context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONTEXTS = ("context", "contexts", "retrieved_contexts", "reference_contexts")


def answer_of(processed: Mapping[str, Any]) -> str | None:
    """Return the response of an output; None where that is no text."""
    response = processed.get("response")
    return response if isinstance(response, str) else None


def references(original: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reference answers of an example, each once; none of them is blank.

    >>> references({"answers": ["Rome", "Rome", " "]}), references({"answer": 7})
    (('Rome',), ('7',))
    """
    for field in ("answers", "answer"):
        value = original.get(field)
        listed = value if isinstance(value, (list, tuple)) else [value]
        texts = [str(one) for one in listed if isinstance(one, (str, int, float)) and not isinstance(one, bool)]
        found = tuple(dict.fromkeys(text for text in texts if text.strip()))
        if found:
            return found
    return ()


def question_text(original: Mapping[str, Any]) -> str:
    """Return what was asked; empty where that is no text."""
    return _text(original.get("question"))


def context_text(original: Mapping[str, Any]) -> str:
    """Return the context of an example as one text: ``context``, or the passages of ``contexts`` and its like."""
    texts = (_text(original.get(name)) for name in _CONTEXTS)
    return next((text for text in texts if text.strip()), "")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return ""

"""What of a row is the input and the context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CONTEXTS = ("context", "contexts", "retrieved_contexts", "reference_contexts")


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

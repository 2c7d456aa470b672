"""What an example offers as its reference answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def references_of(example: Mapping[str, Any]) -> list[str] | None:
    """The reference texts of an example that are not blank. Empty: all are blank. None: it names no text.

    `answers` holds alternatives: a list, a single text, or the `{"text": [...]}` of some tables. Where it has
    nothing to compare with, `answer` counts. Numbers stand for their digits.
    """
    named = False
    for field in ("answers", "answer"):
        value = example.get(field)
        if field == "answers" and isinstance(value, Mapping):
            value = value.get("text")
        alternatives = value if field == "answers" and isinstance(value, (list, tuple)) else (value,)
        texts = [text for text in map(text_of, alternatives) if text is not None]
        if filled := [text for text in texts if text and not text.isspace()]:
            return filled
        named = named or bool(texts)
    return [] if named else None


def text_of(value: object) -> str | None:
    """The text of a field; None for what is no text, such as None, bytes, a list, or the NaN of a data frame."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else str(value)
    # Python refuses to print an integer of more than 4,300 digits.
    return str(value) if isinstance(value, int) and value.bit_length() < 14_000 else None

"""What an example offers as its reference answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def references_of(example: Mapping[str, Any]) -> list[str] | None:
    """The reference answers of an example that are not blank. Empty: all are blank. None: it names none.

    `answers` holds alternatives: a list, a single text, or the `{"text": [...]}` of the SQuAD tables. Where it is
    missing or has no text in it, `answer` counts. Numbers stand for their digits.
    """
    answers = example.get("answers")
    if isinstance(answers, list):
        if len(answers) == 1 and type(answers[0]) is str and answers[0] and not answers[0].isspace():
            return answers.copy()  # one reference, as most examples have
        texts = _texts(answers)
    elif answers is None:
        texts = []
    else:
        answers = answers.get("text", ()) if isinstance(answers, Mapping) else answers
        texts = _texts(answers if isinstance(answers, (list, tuple)) else (answers,))
    if texts:
        return texts
    answer = example.get("answer")
    if text_of(answer) is not None:
        return _texts((answer,))
    return None if answers is None else []


def _texts(values: Sequence[object]) -> list[str]:
    texts = [value if type(value) is str else text_of(value) for value in values]
    return [text for text in texts if text and not text.isspace()]


def text_of(value: object) -> str | None:
    """The text of a field; None for what is no text, such as None, bytes, a list, or the NaN of a data frame."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else str(value)
    # Python refuses to print an integer of more than 4,300 digits.
    return str(value) if isinstance(value, int) and value.bit_length() < 14_000 else None

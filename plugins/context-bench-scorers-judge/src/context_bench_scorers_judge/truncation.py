"""Making a text fit a model's window."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from context_bench_scorers import UserTypeError, UserValueError

PAD = 150
"""Tokens that are left for what the count does not see."""
_PIECE = re.compile(r"\w+|[^\w\s]")


def counter(tokenizer: Any) -> Callable[[str], int]:
    """Return what counts the tokens of a text.

    Args:
        tokenizer: Anything with ``encode(text)`` or ``count(text)``, a function, or None: then each four letters of a word are
            a token, and each mark, which is more than most models count.

    Raises:
        UserTypeError: It is none of them.
    """
    if tokenizer is None:
        return lambda text: sum((len(piece) + 3) // 4 for piece in _PIECE.findall(text))
    if callable(getattr(tokenizer, "count", None)) and not isinstance(tokenizer, str):
        return lambda text: int(tokenizer.count(text))
    if callable(getattr(tokenizer, "encode", None)) and not isinstance(tokenizer, str):
        return lambda text: len(tokenizer.encode(text))
    if callable(tokenizer):
        return lambda text: int(tokenizer(text))
    raise UserTypeError(
        f"A tokenizer has `encode` or `count`, or is a function; {type(tokenizer).__name__} is none of these."
    )


def fitted(text: str, budget: int, count: Callable[[str], int]) -> tuple[str, bool]:
    """Return the longest beginning of a text that has at most so many tokens, and whether anything was left out.

    Raises:
        UserValueError: Nothing fits.
    """
    if budget < 1:
        raise UserValueError(
            "the summaries alone do not fit the window of the judge: take a model with a larger one."
        )
    if count(text) <= budget:
        return text, False
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if count(text[:middle]) <= budget else (fits, middle)
    kept = text[:fits]
    at_space = kept.rfind(" ")
    return (kept[:at_space] if at_space > fits // 2 else kept).rstrip(), True

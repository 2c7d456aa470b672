"""The plainest compressors: everything, the beginning, the end."""

from __future__ import annotations

from typing import Any

from context_bench_compress.budget import Budget
from context_bench_compress.tokens import head_end, tail_start
from context_bench_compress.transform import Kept, transform


class Identity:
    """Leaves the context as it is: the yardstick for every other compressor.

    >>> Identity().process({"context": "All of it."})["context"]
    'All of it.'
    """

    name = "identity"
    reads = ("context",)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the context unchanged."""
        return transform(self.name, example, Budget(ratio=1.0), beginning)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output: nothing but the version."""
        return {}


class Head:
    r"""Keeps the beginning of the context.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that stays; half of them unless told.
        tokens: The number of tokens that stays, instead of a share.

    >>> Head(tokens=4).process({"context": "Rain fell. Time passed."})["context"]
    'Rain fell. Time'
    """

    name = "head"
    reads = ("context",)

    def __init__(self, ratio: float | None = None, tokens: int | None = None) -> None:
        self.budget = Budget.of(self.name, ratio, tokens)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the beginning of the context, white space as it was."""
        return transform(self.name, example, self.budget, beginning)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return self.budget.fingerprint()


class Tail:
    r"""Keeps the end of the context, where a conversation's latest turns are.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that stays; half of them unless told.
        tokens: The number of tokens that stays, instead of a share.

    >>> Tail(tokens=4).process({"context": "Rain fell. Time passed."})["context"]
    '. Time passed.'
    """

    name = "tail"
    reads = ("context",)

    def __init__(self, ratio: float | None = None, tokens: int | None = None) -> None:
        self.budget = Budget.of(self.name, ratio, tokens)

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the end of the context, white space as it was."""
        return transform(self.name, example, self.budget, _end)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return self.budget.fingerprint()


def beginning(texts: list[str], sizes: list[int], allowed: int) -> Kept:
    """Return the first ``allowed`` tokens of the texts together; texts of which nothing stays go."""
    kept = []
    for text, size in zip(texts, sizes):
        part = text[: head_end(text, allowed, size)]
        if part:
            kept.append(part)
        allowed -= size
        if allowed <= 0:
            break
    return kept, {}


def _end(texts: list[str], sizes: list[int], allowed: int) -> Kept:
    kept = []
    for text, size in zip(reversed(texts), reversed(sizes)):
        part = text[tail_start(text, allowed, size) :]
        if part:
            kept.append(part)
        allowed -= size
        if allowed <= 0:
            break
    return kept[::-1], {}

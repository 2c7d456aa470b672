"""What a response claims."""

from __future__ import annotations

from typing import NamedTuple

from context_bench_multiple_choice.replies import Strength

__all__ = ["Claim", "Strength"]


class Claim(NamedTuple):
    """An answer that the response gives at a place: a letter, or none with the reason.

    A claim that names no option ("A and B", "none of these") takes part like any other, and being no conclusion it is
    replaced by whatever follows it.
    """

    at: int
    strength: Strength
    letter: str | None
    how: str

"""What a response claims, and which of its claims is the conclusion."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple


class Strength(IntEnum):
    """How much a claim says "this is my answer"."""

    MENTIONED = 1
    CONCLUDED = 2
    STATED = 3


class Claim(NamedTuple):
    """An answer that the response gives at a place: a letter, or none with the reason."""

    at: int
    strength: Strength
    letter: str | None
    how: str


def conclusion(claims: Iterable[Claim], run_ons: Sequence[int] = (), retractions: Sequence[int] = ()) -> Claim | None:
    """The claim that stands at the end of the response.

    A later claim replaces an earlier one that is not stronger. A claim that names no option ("A and B", "none of these")
    takes part like any other, and being no conclusion it is replaced by whatever follows it.

    Args:
        claims: The claims in any order.
        run_ons: The tokens where the response goes on with a further question of its own. Nothing after one of them
            counts once an answer was stated.
        retractions: The tokens where it doubts what it said. A claim after one of them need not be stronger than a mention
            to replace what was claimed before.
    """
    held: Claim | None = None
    for claim in sorted(claims, key=lambda claim: (claim.at, claim.strength)):
        if held and held.letter and held.strength is Strength.STATED and _between(held, claim, run_ons):
            break
        if held and claim.strength > Strength.MENTIONED and _between(held, claim, retractions):
            held = None
        if held is None or held.letter is None or claim.strength >= held.strength:
            held = claim
    return held


def _between(first: Claim, second: Claim, places: Sequence[int]) -> bool:
    """Whether one of some sorted places lies after the first claim and not after the second."""
    index = bisect_right(places, first.at)
    return index < len(places) and places[index] <= second.at

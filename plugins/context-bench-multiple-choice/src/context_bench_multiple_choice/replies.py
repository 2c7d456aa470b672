"""What evaluators of free-text replies share: tokens, words of denial and doubt, and which of several claims concludes.

This module is public: context-bench-nli is built on it, and other packages may be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol, TypeVar

from context_bench.answers import part_answer

_HEAD, _TAIL = 4_000, 20_000  # characters


def words(listed: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(listed.split())


DENIALS = words("not never cannot no neither nor hardly without")
SUPPOSING = words("if whether suppose supposing assume assuming unless imagine")
RETRACTIONS = words("wait oops hmm correction reconsider reconsidering scratch")
MARKUP = frozenset("*_`$\"'“”‘’«»„#<>{}[]()（）|~\\")
ENDS = frozenset(".!?;。！？；")  # end of a sentence


class Token(NamedTuple):
    """One token: its text, the lower-case word or the sign that it is read as, and where it lies."""

    text: str
    word: str
    start: int
    end: int


class Strength(IntEnum):
    """How much a claim says "this is my answer"."""

    MENTIONED = 1
    CONCLUDED = 2
    STATED = 3


class AnyClaim(Protocol):
    """An answer that a reply gives, from a token on, with some strength."""

    @property
    def at(self) -> int: ...  # noqa: D102

    @property
    def strength(self) -> Strength: ...  # noqa: D102


ClaimT = TypeVar("ClaimT", bound=AnyClaim)


def concluding(
    claims: Iterable[ClaimT],
    retractions: Sequence[int],
    decides: Callable[[ClaimT], bool],
    narrowed: Callable[[ClaimT, ClaimT], ClaimT | None] = lambda held, claim: None,
    run_ons: Sequence[int] = (),
) -> ClaimT | None:
    """The claim that stands at the end of a reply: a later one replaces an earlier one that is not stronger.

    Args:
        claims: The claims in order.
        retractions: The tokens where the reply doubts what it said. A claim after one of them need not be stronger than a
            mention to replace what was claimed before.
        decides: Whether a claim names one answer; one that does not is replaced by whatever follows it.
        narrowed: The held claim as a later one narrows it, or None if that one is a claim of its own.
        run_ons: The tokens where the reply goes on with a further question of its own. Nothing after one of them counts
            once an answer was stated.
    """
    held: ClaimT | None = None
    for claim in claims:
        if (
            held
            and decides(held)
            and held.strength is Strength.STATED
            and _between(held, claim, run_ons)
        ):
            break
        if held and claim.strength > Strength.MENTIONED and _between(held, claim, retractions):
            held = None
        if held and (narrower := narrowed(held, claim)):
            held = narrower
        elif held is None or not decides(held) or claim.strength >= held.strength:
            held = claim
    return held


def _between(first: AnyClaim, second: AnyClaim, places: Sequence[int]) -> bool:
    """Whether one of some sorted places lies after the first claim and not after the second."""
    index = bisect_right(places, first.at)
    return index < len(places) and places[index] <= second.at


def answer_text(response: str) -> tuple[str, str]:
    """The answer of a response without its reasoning, and an empty string; or the reason why there is none.

    Of a huge text it is the first and the last characters, where an answer stands.
    """
    if not response.strip():
        return "", "the response is empty"
    text = part_answer(response).answer.strip()
    shortened = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
    return shortened, "" if text else "the response is all reasoning and no answer"


def quotation(text: str, tokens: Sequence[Token], at: int) -> str:
    """The text around a token, for the details of a score."""
    return (
        " ".join(text[max(tokens[at].start - 40, 0) : tokens[at].end + 20].split())
        if tokens
        else ""
    )


def negates(word: str, negations: frozenset[str] = DENIALS) -> bool:
    """Whether a word turns what follows into its opposite."""
    return word in negations or word.endswith("n't")


def question_after(tokens: Sequence[Token], index: int, reach: int) -> int | None:
    """The place of the question mark that ends the sentence going on at a token, within some tokens."""
    for position in range(index, min(index + reach, len(tokens))):
        first = tokens[position].text[0]
        if first in "?？":
            return position
        if first == "\n" or first in ENDS:
            return None
    return None

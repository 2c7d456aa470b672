"""From a response to its label: the statement that concludes it, and not the last label mentioned."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from context_bench.answers import part_answer
from context_bench_nli.assertions import Assertion, assertions
from context_bench_nli.concepts import lexicon
from context_bench_nli.grammar import word_set
from context_bench_nli.labels import LabelSet
from context_bench_nli.sentences import Claim, Strength, claims
from context_bench_nli.tokens import Token, plain, tokenize

_HEAD, _TAIL = 4_000, 20_000  # characters
_RETRACTIONS = word_set("wait correction sorry oops hmm reconsidering reconsider scratch")


class Finding(NamedTuple):
    """What was found in a response.

    `label` is the place of the label in its set, or None; `reason` then says why. Otherwise `how` names the rule and `quote` is
    the place in the response.
    """

    label: int | None
    how: str = ""
    quote: str = ""
    reason: str = ""


def find_label(response: str, labels: LabelSet, repeated: Iterable[str] = ()) -> Finding:
    """The label that a response concludes with.

    Args:
        response: What the model wrote.
        labels: The labels of the example.
        repeated: Texts of the example, such as the claim, whose words are no verdict where the response repeats them.
    """
    if not response.strip():
        return Finding(None, reason="the response is empty")
    text = plain(_shortened(part_answer(response).answer.strip()))
    if not text.strip():
        return Finding(None, reason="the response is all reasoning and no answer")
    text = reduce(_without, repeated, text)
    tokens = tokenize(text)
    made = assertions(tokens, lexicon(labels.labels).concepts(tokens))
    if not made:
        return Finding(None, reason="no label found")
    claimed = claims(tokens, made)
    concluding = _concluding([claim for claim in claimed if claim.strength > Strength.MENTIONED], _retractions(tokens))
    possible = concluding.possible if concluding else frozenset(range(len(labels.labels)))
    if len(possible) != 1:
        possible = _narrowed(possible, made)
    at = concluding.at if concluding else made[-1].start
    if len(possible) == 1:
        return Finding(min(possible), concluding.how if concluding else "mentioned", _quote(text, tokens, at))
    names = ", ".join(labels.labels[place].text for place in sorted(possible))
    reason = f"ruled out others, but left {names}" if possible else "several labels, no conclusion"
    return Finding(None, reason=reason, quote=_quote(text, tokens, at))


def _shortened(text: str) -> str:
    """The first and last characters of a huge text: an answer stands at the beginning or at the end."""
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"


def _concluding(found: list[Claim], retractions: list[int]) -> Claim | None:
    """The claim that stands at the end: a later one replaces an earlier one that is not stronger.

    A claim that leaves several labels possible only narrows what was claimed before, unless the two disagree.
    """
    held: Claim | None = None
    for claim in found:
        if held is not None and any(held.at < place <= claim.at for place in retractions):
            held = None
        if held is None:
            held = claim
        elif len(claim.possible) > 1 and held.possible & claim.possible:
            held = held._replace(possible=held.possible & claim.possible)
        elif claim.strength >= held.strength or len(held.possible) != 1:
            held = claim
    return held


def _narrowed(possible: frozenset[int], made: list[Assertion]) -> frozenset[int]:
    """What all assertions together leave of the possible labels; "Yes," and "No," only if they agree with the rest."""
    for assertion in made:
        if not assertion.opener:
            possible &= assertion.possible
    for assertion in made:
        if assertion.opener:
            possible = possible & assertion.possible or possible
    return possible


def _retractions(tokens: list[Token]) -> list[int]:
    return [index for index, token in enumerate(tokens) if token.word in _RETRACTIONS]


def _without(text: str, passage: str) -> str:
    """The text with every repetition of a passage replaced by a pronoun."""
    wanted = plain(passage).strip().rstrip(".").lower()
    lower = text.lower()
    if len(wanted) < 12 or len(lower) != len(text):
        return text
    pieces: list[str] = []
    position = 0
    while (place := lower.find(wanted, position)) >= 0:
        pieces += (text[position:place], "it")
        position = place + len(wanted)
    return "".join([*pieces, text[position:]])


def _quote(text: str, tokens: list[Token], at: int) -> str:
    place = tokens[at]
    return " ".join(text[max(place.start - 40, 0) : place.end + 20].split())

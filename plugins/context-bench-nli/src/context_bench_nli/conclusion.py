"""From a response to its label: the statement that concludes it, and not the last label mentioned."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

from context_bench.answers import read_reply
from context_bench_multiple_choice.replies import Strength, answer_text, concluding, quotation
from context_bench_nli.assertions import Assertion, assertions
from context_bench_nli.concepts import lexicon
from context_bench_nli.grammar import RETRACTIONS
from context_bench_nli.labels import LabelSet
from context_bench_nli.sentences import Claim, claims
from context_bench_nli.tokens import plain, tokenize


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
    answer, missing = answer_text(response)
    reply = read_reply(answer)
    if not reply.text.strip():
        return Finding(None, reason=missing or "the response is all signs that cannot be seen")
    passages = list(repeated)
    return reply.first(
        lambda words: _find(plain(words), labels, passages),
        lambda finding: finding.label is not None,
    )


def _find(text: str, labels: LabelSet, repeated: Iterable[str]) -> Finding:
    text = reduce(_without, repeated, text)
    tokens = tokenize(text)
    made = assertions(tokens, lexicon(labels.labels).concepts(tokens))
    if not made:
        return Finding(None, reason="no label found")
    claimed = claims(tokens, made)
    weighty = [claim for claim in claimed if claim.strength > Strength.MENTIONED]
    retractions = [index for index, token in enumerate(tokens) if token.word in RETRACTIONS]
    held = concluding(weighty, retractions, lambda claim: len(claim.possible) == 1, _narrower)
    possible = held.possible if held else frozenset(range(len(labels.labels)))
    if len(possible) != 1:
        possible = _narrowed(possible, made)
    at = held.at if held else made[-1].start
    if len(possible) == 1:
        return Finding(
            min(possible), held.how if held else "mentioned", quotation(text, tokens, at)
        )
    names = ", ".join(labels.labels[place].text for place in sorted(possible))
    reason = f"ruled out others, but left {names}" if possible else "several labels, no conclusion"
    return Finding(None, reason=reason, quote=quotation(text, tokens, at))


def _narrower(held: Claim, claim: Claim) -> Claim | None:
    """A claim as one that leaves several labels possible narrows it, unless the two disagree."""
    both = held.possible & claim.possible
    return held._replace(possible=both) if both and len(claim.possible) > 1 else None


def _narrowed(possible: frozenset[int], made: list[Assertion]) -> frozenset[int]:
    """What all assertions together leave of the possible labels; "Yes," and "No," only if they agree with the rest."""
    for assertion in made:
        if not assertion.opener:
            possible &= assertion.possible
    for assertion in made:
        if assertion.opener:
            possible = possible & assertion.possible or possible
    return possible


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

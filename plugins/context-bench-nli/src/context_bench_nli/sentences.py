"""The sentences of a response, and how much each of them is a conclusion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from context_bench_multiple_choice.replies import Strength
from context_bench_nli import grammar as g
from context_bench_nli.assertions import Assertion, after_markup
from context_bench_nli.tokens import Token

REACH = 40  # tokens between an announcement and the label

# Words that announce the label, by themselves or with a copula or a colon after them.
_ANNOUNCEMENTS = g.word_set(
    "answer label verdict classification prediction judgment judgement \\boxed choose pick select conclude"
)
_LINKED = g.word_set(
    "relation relationship decision stance category assessment determination class result output response choice "
    "option final inference evaluation status"
)
_MARKERS = g.word_set(
    "therefore thus hence so overall conclusion summary consequently accordingly finally ultimately means short "
    "summarize summarise -> => → ⇒ ➜ ∴"
)
_CORRECTIONS = g.RETRACTIONS - {"reconsider"}
# Words that add nothing to a sentence that gives a label.
_TRIVIAL = g.word_set(
    "the a an it it's this that these is are was be claim hypothesis statement i i'd would say think believe "
    "clearly definitely certainly probably likely not no does do"
)
# Words with which an explanation begins after a label, and words after a comma that may take the label back.
_EXPLAINING = g.word_set("because since as by given due based according considering")
_TURNING = g.word_set(
    "but however although though while whereas yet or and nor not if unless except only"
)
_CONDITION = g.word_set("if whether were")


class Claim(NamedTuple):
    """What a sentence claims: the labels that it leaves possible, from where on, and how it says so."""

    at: int
    strength: Strength
    possible: frozenset[int]
    how: str


def claims(tokens: list[Token], made: list[Assertion]) -> list[Claim]:
    """What each sentence of the response claims; of sentences that only mention labels, every assertion by itself."""
    found: list[Claim] = []
    sentences = _sentences(tokens)
    pending = iter(made)
    assertion = next(pending, None)
    for number, (start, stop) in enumerate(sentences):
        inside: list[Assertion] = []
        while assertion is not None and assertion.start < stop:
            inside.append(assertion)
            assertion = next(pending, None)
        if inside:
            at_edge = number == 0, number == len(sentences) - 1
            found.extend(_claims_of(tokens, start, stop, inside, *at_edge))
    return found


def _claims_of(
    tokens: list[Token], start: int, stop: int, inside: list[Assertion], first: bool, last: bool
) -> list[Claim]:
    begin = inside[0].start
    if after := _after_announcement(tokens, start, inside):
        return [_claim(after, Strength.STATED, "announced")]
    if after := _after_word(tokens, start, inside, _CORRECTIONS) or _after_actually(
        tokens, start, inside
    ):
        return [_claim(after, Strength.STATED, "corrected")]
    weighty = [assertion for assertion in inside if not assertion.opener]
    if weighty and _trivial(tokens, start, begin):
        if _all_trivial(tokens, inside, stop):
            return [
                _claim(inside, Strength.STATED if first or last else Strength.CONCLUDED, "alone")
            ]
        if first and weighty[0] is inside[0] and _closes(tokens, inside[0]):
            return [_claim(inside, Strength.STATED, "leading")]
    if after := _after_word(tokens, start, inside, _MARKERS):
        return [_claim(after, Strength.CONCLUDED, "concluded")]
    return [_claim([assertion], Strength.MENTIONED, "mentioned") for assertion in inside]


def _claim(made: Iterable[Assertion], strength: Strength, how: str) -> Claim:
    """The claim of a sentence: its first assertion, narrowed by those that agree with it. An opener yields to the rest."""
    ordered = sorted(made, key=lambda assertion: assertion.opener)
    possible = ordered[0].possible
    for assertion in ordered[1:]:
        possible = possible & assertion.possible or possible
    return Claim(ordered[0].start, strength, possible, how)


def _sentences(tokens: list[Token]) -> list[tuple[int, int]]:
    """The token ranges of the sentences. A line that only announces ("## Verdict", "Answer:") goes with the next one."""
    spans: list[tuple[int, int]] = []
    start = 0
    for index, token in enumerate(tokens):
        if token.word == "\n" and _is_heading(tokens, start, index):
            continue
        if token.word == "\n" or g.ends_sentence(token.word):
            spans.append((start, index + 1))
            start = index + 1
    spans.append((start, len(tokens)))
    return [
        span
        for span in spans
        if any(token.word[0].isalnum() for token in tokens[span[0] : span[1]])
    ]


def _is_heading(tokens: list[Token], start: int, stop: int) -> bool:
    if stop - start > REACH:
        return False
    words = [
        token.word for token in tokens[start:stop] if token.word == ":" or not g.breaks(token.word)
    ]
    announces = any(word in _ANNOUNCEMENTS or word in _LINKED for word in words)
    return announces and (words[-1] == ":" or words[-1] in _ANNOUNCEMENTS or words[-1] in _LINKED)


def _after_announcement(
    tokens: list[Token], start: int, inside: list[Assertion]
) -> list[Assertion]:
    """The assertions after the last announcement of a sentence that leads to one."""
    for place in range(len(inside) - 1, -1, -1):
        earlier = inside[place - 1].start if place else start
        for index in range(
            inside[place].start - 1, max(earlier, inside[place].start - REACH) - 1, -1
        ):
            if _announces(tokens, start, index, inside[place].start):
                return inside[place:]
    return []


def _announces(tokens: list[Token], start: int, index: int, assertion: int) -> bool:
    word = tokens[index].word
    if word not in _ANNOUNCEMENTS and word not in _LINKED:
        return False
    between = [token.word for token in tokens[index + 1 : assertion]]
    adjacent = all(g.is_markup(other) or other in _TRIVIAL or other == "\n" for other in between)
    linked = any(other in g.COPULAS or other in g.LINKS for other in between)
    supposed = any(token.word in _CONDITION for token in tokens[max(start, index - REACH) : index])
    closing_tag = index > 0 and tokens[index - 1].word == "/"
    return (linked or (adjacent and word in _ANNOUNCEMENTS)) and not supposed and not closing_tag


def _after_word(
    tokens: list[Token], start: int, inside: list[Assertion], words: frozenset[str]
) -> list[Assertion]:
    for index in range(inside[-1].start - 1, start - 1, -1):
        if tokens[index].word in words:
            return [assertion for assertion in inside if assertion.start > index]
    return []


def _after_actually(tokens: list[Token], start: int, inside: list[Assertion]) -> list[Assertion]:
    """At the beginning of a sentence "actually" takes something back; within one it only stresses."""
    first = after_markup(tokens, start)
    while first < len(tokens) and (g.breaks(tokens[first].word) or tokens[first].word == "no"):
        first += 1
    opens = first < len(tokens) and tokens[first].word == "actually"
    return [assertion for assertion in inside if assertion.start > first] if opens and start else []


def _trivial(tokens: list[Token], start: int, stop: int) -> bool:
    return all(
        g.breaks(token.word) or token.word in _TRIVIAL or g.negates(token.word)
        for token in tokens[start:stop]
    )


def _all_trivial(tokens: list[Token], inside: list[Assertion], stop: int) -> bool:
    """Whether nothing follows the first of some assertions but more of them."""
    stops = [assertion.start for assertion in inside[1:]] + [stop]
    return all(_trivial(tokens, assertion.stop, end) for assertion, end in zip(inside, stops))


def _closes(tokens: list[Token], assertion: Assertion) -> bool:
    """Whether a clause ends after an assertion, so that it stands for itself: "Refuted: ...", "REFUTES, because ..."."""
    index = after_markup(tokens, assertion.stop)
    if index >= len(tokens):
        return True
    bracketed = any(token.word == "(" for token in tokens[assertion.stop : index])
    if bracketed or tokens[index].word in _EXPLAINING:
        return True
    following = tokens[index + 1].word if index + 1 < len(tokens) else ""
    return g.breaks(tokens[index].word) and not (
        tokens[index].word == "," and following in _TURNING
    )

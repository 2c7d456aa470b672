"""The places of a response that speak of a label: its own words, or words that mean the same."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from context_bench_nli import grammar as g
from context_bench_nli.labels import Label, standing_for
from context_bench_nli.relations import OPENERS, SAYING, TRUTH, Relation, phrases
from context_bench_nli.tokens import Token

LONGEST = 40  # words of a label that are compared


class Concept(NamedTuple):
    """Words that speak of labels, from token `start` up to `stop`.

    `possible` are the labels that they leave possible, and `denied` those that are left when they are denied. An `opener`
    ("Yes,") is weaker than anything else.
    """

    start: int
    stop: int
    possible: frozenset[int]
    denied: frozenset[int]
    opener: bool = False


@lru_cache(maxsize=128)
def lexicon(labels: tuple[Label, ...]) -> Lexicon:
    """The lexicon of a set of labels; the rows of a data set share one, or a few."""
    return Lexicon(labels)


class Lexicon:
    """All phrases that speak of the labels of an example."""

    def __init__(self, labels: tuple[Label, ...]) -> None:
        everything = frozenset(range(len(labels)))
        self._entries: dict[str, list[tuple[tuple[str, ...], frozenset[int], frozenset[int]]]] = {}
        meanings: dict[tuple[str, ...], frozenset[int]] = {
            phrase: standing_for(labels, relation) for phrase, relation in phrases().items()
        }
        meanings |= {
            (word,): standing_for(labels, relation) for word, relation in (TRUTH | OPENERS).items()
        }
        literal: dict[tuple[str, ...], frozenset[int]] = {}
        for place, label in enumerate(labels):
            literal[label.words[:LONGEST]] = literal.get(label.words[:LONGEST], frozenset()) | {
                place
            }
        opposite = standing_for(labels, Relation.CONTRADICTED)
        for phrase, possible in (meanings | literal).items():
            affirms = TRUTH.get(phrase[0]) is Relation.ENTAILED and len(phrase) == 1
            denied = opposite if affirms and opposite else everything - possible
            if possible:
                self._entries.setdefault(phrase[0], []).append((phrase, possible, denied))
        for entries in self._entries.values():
            entries.sort(key=lambda entry: -len(entry[0]))
        self._everything = everything
        self._open = standing_for(labels, Relation.OPEN)

    def concepts(self, tokens: list[Token]) -> list[Concept]:
        """The concepts of a tokenised text in order, the longest where several begin at one place."""
        found: list[Concept] = []
        position = 0
        while position < len(tokens):
            concept = self._at(tokens, position)
            if concept is None:
                position += 1
            else:
                found.append(concept)
                position = concept.stop
        return found

    def _at(self, tokens: list[Token], start: int) -> Concept | None:
        for phrase, possible, denied in self._entries.get(tokens[start].word, ()):
            stop = _match(tokens, start, phrase)
            if stop and (len(phrase) > 1 or _is_said(tokens, start, stop)):
                return Concept(
                    start, stop, possible, denied, opener=phrase[0] in OPENERS and len(phrase) == 1
                )
        if tokens[start].word in SAYING and self._open:
            if g.negation_before(tokens, start) is not None:
                # The negation is part of the meaning, so that the concept itself is not denied once more.
                return Concept(start, start + 1, self._open, self._open)
            if g.question_after(tokens, start) is not None:  # "Does the contract mention it? No."
                return Concept(start, start + 1, self._everything, self._open)
        return None


def _match(tokens: list[Token], start: int, phrase: tuple[str, ...]) -> int | None:
    """The token after a phrase that begins at `start`; hyphens and underscores between its words do not matter."""
    position = start
    for word in phrase:
        while (
            position > start
            and position < len(tokens)
            and tokens[position].word[0] in "-_‐‑"
            and word != tokens[position].word
        ):
            position += 1
        if position >= len(tokens) or tokens[position].word != word:
            return None
        position += 1
    return position


def _is_said(tokens: list[Token], start: int, stop: int) -> bool:
    """Whether a single word is said of the claim, and is not an attribute, a determiner or part of a name."""
    word = tokens[start].word
    if word in OPENERS:
        before = tokens[start - 1].word if start else "\n"
        opens, closes = (
            g.breaks(before) or before in g.COPULAS,
            stop == len(tokens) or g.breaks(tokens[stop].word),
        )
        return (opens and (word == "yes" or closes)) or (
            closes and before in ("say", "says", "answer")
        )
    if word in TRUTH:
        return (
            stop == len(tokens)
            or g.breaks(tokens[stop].word)
            or tokens[stop].word in g.AFTER_PREDICATES
        )
    return True

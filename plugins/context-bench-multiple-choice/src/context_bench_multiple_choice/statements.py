"""Statements of the answer: the announcements ("the answer is", "so", "I choose") that lead to a letter or an option's text."""

from __future__ import annotations

from collections.abc import Iterator

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.bridge import Cue, follow
from context_bench_multiple_choice.marks import is_markup
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength

_ANSWER = Cue("answer", Strength.STATED, heads=True, strangers=True)
_OPTION = Cue("option", Strength.STATED, needs_link=True, strangers=True)
_BEST = Cue("best", Strength.CONCLUDED, needs_link=True, strangers=True, strict=True)
_CHOICE = Cue("choice", Strength.STATED, strict=True)
_IMPERATIVE = Cue("imperative", Strength.CONCLUDED, strict=True)
_CORRECTION = Cue("correction", Strength.STATED, strict=True)
_SO = Cue("so", Strength.CONCLUDED, strict=True, letters_only=True)
_PRONOUN = Cue("it is", Strength.CONCLUDED, needs_link=True, strict=True, letters_only=True)


def statements(reading: Reading) -> Iterator[Claim]:
    """Every statement of an answer in the response that is asserted and not merely supposed or denied."""
    for index, token in enumerate(reading.tokens):
        cue = _cue(reading, index, token.word)
        strength = _asserted(reading, index, cue) if cue else None
        if cue and strength and (reading.is_brief or not cue.letters_only):
            claim = follow(reading, index + 1, cue, strength)
            if claim is not None:
                yield claim


def _cue(reading: Reading, index: int, word: str) -> Cue | None:
    """The kind of announcement that a word is at its place."""
    before, after = reading.word(index - 1), reading.word(index + 1)
    if word in v.ANSWER:
        return None if before == "/" or after in v.LISTS else _ANSWER
    if (word in v.CHOOSE or word in v.OPINION) and (cue := _choosing(reading, index, word)):
        return cue
    if word in v.OPTION:
        return None if before == "/" else _OPTION
    if (before, word) in v.RETRACTION_PAIRS:
        return _CORRECTION
    if word in v.CORRECTION:
        says_no = word not in ("no", "nope") or after in (",", ".", "!", ";", "-", "—", ":")  # and not "no answer"
        return _CORRECTION if says_no and after not in ("of", "than") else None
    if word in v.BEST or (word == "final" and after == ":"):
        return _BEST
    if word in v.SO or word in v.SURE:
        return _SO
    return _PRONOUN if word in v.PRONOUN else None


def _choosing(reading: Reading, index: int, word: str) -> Cue | None:
    before = reading.before(index)
    if any(v.negates(other) for other in before):
        return None
    if any(other in v.FIRST_PERSON for other in before):
        return _CHOICE
    opening = all(is_markup(token) for token in reading.tokens[reading.sentence_start(index) : index])
    return _IMPERATIVE if opening and word in v.CHOOSE else None


def _asserted(reading: Reading, index: int, cue: Cue) -> Strength | None:
    """The strength of a statement after what stands before it in its sentence, or None if it is not made at all."""
    words = reading.before(index)
    position = len(words) - 1
    while position >= 0 and words[position] in _MODIFIERS and words[position] not in v.ATTITUDES:
        position -= 1
    nearest = words[position] if position >= 0 else ""
    if cue is not _CHOICE and nearest in v.SUPPOSING:
        return None
    if nearest in v.ATTITUDES and any(v.negates(word) for word in words[max(position - 3, 0) : position]):
        return None
    recalled = cue is _CHOICE and ("was" in words or "were" in words)  # "I was going to say A"
    elsewhere = cue is not _CORRECTION and any(
        word in v.OTHERS for word in words
    )  # "students think that the answer is A"
    return Strength.MENTIONED if recalled or elsewhere else cue.strength


_MODIFIERS = v.FILLERS | v.BEST | v.COPULAS

"""What a response says of an option after naming it: "B is correct", "A can't be", "only D remains"."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.marks import Mark, after_markup
from context_bench_multiple_choice.reading import NEAR, Claim, Reading
from context_bench_multiple_choice.replies import Strength


class Verdict(Enum):
    """What the words after a letter say of it."""

    RIGHT = "right"
    THE_ANSWER = "the answer"
    WRONG = "wrong"


def verdicts(reading: Reading) -> Iterator[Claim]:
    """The options of which the response says that they are right, asserted and not supposed, asked or denied."""
    for mark in (*reading.marks.values(), *_named_options(reading)):
        if not (mark.capital or mark.enclosed) or reading.is_unit(mark):
            continue
        verdict = verdict_on(reading, mark)
        if verdict not in (Verdict.RIGHT, Verdict.THE_ANSWER) or reading.asked(mark.stop):
            continue
        before = reading.before(mark.at)
        if any(word in v.SUPPOSING or word in v.OTHERS or v.negates(word) for word in before):
            continue
        if "would" in (reading.word(mark.stop), reading.word(mark.stop + 1)):
            continue
        corrected = any(word in v.CORRECTION for word in before)
        strength = Strength.STATED if corrected or verdict is Verdict.THE_ANSWER else Strength.CONCLUDED
        if reading.shares_its_verb(mark) or reading.listed_with(mark):
            yield Claim(mark.at, strength, None, "several letters")
        elif mark.letter in reading.letters:
            yield Claim(mark.at, strength, mark.letter, "verdict")


def verdict_on(reading: Reading, mark: Mark) -> Verdict | None:
    """What the words after a letter say of the option: right, the answer, wrong, or nothing."""
    start = mark.stop
    for position in range(start, start + 3):  # past the option's text after its letter: "C (Paris) is correct"
        option = reading.option_at(position) if position < len(reading.tokens) else None
        if option and option.letter == mark.letter:
            start = option.stop
            break
    negated = listed = linked = False
    for position in range(start, min(start + NEAR, len(reading.tokens))):
        word, before = reading.word(position), reading.word(position - 1)
        if word in v.RIGHT or (before, word) in v.RIGHT_PAIRS:
            plural = word == "only" and reading.word(position - 2) in ("are", "were")
            named = word in v.DEFINITE or reading.word(position + 1) in ("answer", "option", "choice")
            if negated:
                return Verdict.WRONG
            return None if plural else Verdict.THE_ANSWER if named else Verdict.RIGHT
        if word in v.WRONG:
            return None if negated else Verdict.WRONG
        if listed and word in v.SINGULAR:
            return None  # "B, A is wrong": the verb belongs to the last letter alone
        if v.negates(word):
            if word == "not" and not linked and _another_option(reading, position + 1):
                return None  # "B not A"
            negated = True
        elif position in reading.marks or word in v.AND:
            listed = True
        elif word in v.COPULAS:
            linked = True
        elif word not in v.PREDICATES and not reading.is_markup(position):
            closes = (
                word[0] in v.ENDS and before in ("is", "does") and position > start
            )  # "A is wrong, B is.", "D it is."
            return Verdict.WRONG if negated else Verdict.RIGHT if closes else None
    return Verdict.WRONG if negated else None


def _another_option(reading: Reading, index: int) -> bool:
    index = after_markup(reading.tokens, index)
    if index in reading.marks:
        return reading.marks[index].capital
    return index < len(reading.tokens) and reading.option_at(index) is not None


def _named_options(reading: Reading) -> Iterator[Mark]:
    """The options named by their texts, as if they were letters."""
    for index in range(len(reading.tokens)):
        if option := reading.option_at(index):
            yield Mark(option.letter, index, after_markup(reading.tokens, option.stop), True, True)

"""From a response to the letter of the option that it answers."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from context_bench_multiple_choice.answer_first import first_answer
from context_bench_multiple_choice.lines import Labels
from context_bench_multiple_choice.mentions import mentions
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength, answer_text, concluding, quotation
from context_bench_multiple_choice.statements import statements
from context_bench_multiple_choice.verdicts import verdicts

DEFAULT_OPTIONS = 10  # letters A to J, where the number of options is not known
FIRST = "first of several bare answers"


class Finding(NamedTuple):
    """What was found in a response.

    `letter` is None where no option was named; `reason` then says why. Otherwise `how` names the rule and `quote` is the
    place in the response. `others` are the letters of further answers that do not count.
    """

    letter: str | None
    how: str = ""
    quote: str = ""
    reason: str = ""
    others: tuple[str, ...] = ()


def find_letter(
    response: str, choices: Sequence[str] = (), options: int | None = None, several: str = "first"
) -> Finding:
    """The option that a response answers: by its concluding statement, or by the first of several bare answers.

    >>> find_letter("Answer: A? No. Final answer: D").letter
    'D'
    >>> find_letter("It is the capital of France.", ["London", "France"]).letter
    'B'
    >>> find_letter("A and B").reason
    'several options, no conclusion: A, B'
    >>> find_letter("The answer is (A).\\nThe answer is (C).\\nThe answer is (B).")[:2]
    ('A', 'first of several bare answers')

    Args:
        response: What the model wrote.
        choices: The texts of the options in order; empty if they are not known.
        options: The number of options; by default that of the choices, or ten if there are none.
        several: Which answer counts of a response that opens with a bare answer sentence and later gives others
            without taking it back, "first" or "last".
    """
    text, missing = answer_text(response)
    if missing:
        return Finding(None, reason=missing)
    number = options or len(choices) or DEFAULT_OPTIONS
    letters = string.ascii_uppercase[:number]
    return _find(text, dict(zip(letters, choices)), letters, several)


def _find(text: str, choices: Mapping[str, str], letters: str, several: str) -> Finding:
    reading = Reading(text, choices, letters)
    claim = _whole(reading)
    if claim is None:
        labels = Labels(reading)
        claims = list(chain(statements(reading), verdicts(reading), labels.claims()))
        if several == "first" and (found := first_answer(reading, claims)):
            claim, others = found
            return Finding(claim.letter, FIRST, quotation(reading.text, reading.tokens, claim.at), others=tuple(others))
        claim = _concluding(claims, reading.run_ons(), reading.retractions())
        if claim is None or claim.letter is None:
            later = [weak for weak in mentions(reading, labels) if claim is None or weak.at > claim.at]
            claim = _concluding([*later, *([claim] if claim else [])])
    if claim is None:
        return Finding(None, reason="no letter and no option's text found")
    if claim.letter is None:
        return Finding(None, reason=claim.how, quote=quotation(reading.text, reading.tokens, claim.at))
    return Finding(claim.letter, claim.how, quotation(reading.text, reading.tokens, claim.at))


def _whole(reading: Reading) -> Claim | None:
    letter = reading.options.whole(reading.text, reading.content)
    return Claim(0, Strength.STATED, letter, "whole response is the text") if letter else None


def _concluding(claims: Iterable[Claim], run_ons: Sequence[int] = (), retractions: Sequence[int] = ()) -> Claim | None:
    ordered = sorted(claims, key=lambda claim: (claim.at, claim.strength))
    return concluding(ordered, retractions, lambda claim: claim.letter is not None, run_ons=run_ons)

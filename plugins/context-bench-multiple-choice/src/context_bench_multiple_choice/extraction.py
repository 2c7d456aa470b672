"""From a response to the letter of the option that it answers."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

from context_bench.answers import read_reply
from context_bench_multiple_choice import words as w
from context_bench_multiple_choice.claims import Claim, Reading
from context_bench_multiple_choice.names import Texts, is_letter, same_text
from context_bench_multiple_choice.replies import Strength, answer_text, concluding, quotation
from context_bench_multiple_choice.scripts import in_latin_letters
from context_bench_multiple_choice.words import plain

DEFAULT_OPTIONS = 10  # letters A to J, where the number of options is not known
FIRST = "first of several bare answers"

_BOX = re.compile(r"(?m)^([^\w\n]*)\[x\]")
# A line of the text that is the answer sentence and nothing else.
_BARE = re.compile(
    r"[ \t]*(?i:(?:the (?:correct |best )?answer is:?|answer:))[ \t]*"
    r"\(?(?P<letter>[A-Z])\)?\.?[ \t]*(?:\n|$)"
)


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
    reply = read_reply(text)
    return reply.first(
        lambda words: _find(words, choices, options, several),
        lambda finding: finding.letter is not None,
    )


def _find(text: str, choices: Sequence[str], options: int | None, several: str) -> Finding:
    letters = string.ascii_uppercase[: options or len(choices) or DEFAULT_OPTIONS]
    offered = dict(zip(letters, choices))
    texts = Texts(offered)
    reading = Reading(_BOX.sub(r"\1✅", in_latin_letters(plain(text))), texts, letters)
    is_named = is_letter(text, letters, choices)
    if not is_named and (whole := same_text(text, offered) or texts.whole(reading.tokens)):
        return Finding(
            whole, "whole response is the text", quotation(reading.text, reading.tokens, 0)
        )
    claims = reading.claims()
    if several == "first" and (first := _first_answer(reading, claims)):
        return first
    claim = concluding(
        claims,
        reading.retractions(),
        lambda claim: claim.letter is not None,
        run_ons=reading.run_ons(),
    )
    if claim is None or claim.letter is None:
        claim = reading.mention(claim.at if claim else -1) or claim
    if claim is None:
        return Finding(None, reason="no letter and no option's text found")
    quote = quotation(reading.text, reading.tokens, claim.at)
    return (
        Finding(claim.letter, claim.how, quote)
        if claim.letter
        else Finding(None, reason=claim.how, quote=quote)
    )


def _first_answer(reading: Reading, claims: Sequence[Claim]) -> Finding | None:
    """The opening answer of a response that answers first and gives other answers later; None for any other.

    Such a response opens with a line like "The answer is (X)." that holds nothing else. What follows it is, in published
    outputs, the answers to further questions of a prompt with worked examples, one such line each, or an explanation of
    the first. Neither takes the opening back, so that it counts, as it does for the benchmarks that demand the sentence.

    That holds as long as every other answer is announced by the same noun. A word of correction anywhere in between, one of
    comparison or conclusion in front of another answer, or an answer in other words ("I choose C") change the mind.
    """
    opening = _BARE.match(reading.text)
    stated = [claim for claim in claims if claim.strength is Strength.STATED]
    if opening is None or not stated or stated[0].letter != opening["letter"]:
        return None
    first = stated[0]
    others = [claim for claim in stated if claim.letter != first.letter]
    between = range(first.at + 1, others[-1].at) if others else range(0)
    doubts = (
        reading.word(p) in w.DOUBTS
        or (reading.word(p) == "no" and reading.word(p + 1)[:1] in w.BREAKS)
        for p in between
    )
    if (
        not others
        or any(doubts)
        or any(place in between for place in reading.retractions())
        or any(_is_led_to(reading, claim) for claim in others)
    ):
        return None
    quote = quotation(reading.text, reading.tokens, first.at)
    return Finding(
        first.letter,
        FIRST,
        quote,
        others=tuple(dict.fromkeys(claim.letter or "none" for claim in others)),
    )


def _is_led_to(reading: Reading, claim: Claim) -> bool:
    """Whether an answer comes in other words, or its sentence or a heading above says that it concludes or replaces another."""
    start = claim.at
    while start > 0 and claim.at - start < 60 and reading.word(start - 1)[0] not in w.ENDS:
        start -= 1
    led = any(reading.word(place) in w.LEADS for place in range(start, claim.at))
    return led or (claim.letter is not None and claim.how != "answer")

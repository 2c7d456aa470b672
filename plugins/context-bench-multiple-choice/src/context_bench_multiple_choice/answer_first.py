"""Responses that open with the demanded answer sentence, and go on with further ones or with an explanation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength

LEAD = 60  # tokens of a sentence before a letter that are looked at

# A line of the text that is the answer sentence and nothing else.
_BARE = re.compile(
    r"[ \t]*[*_]{0,3}(?i:(?:the (?:correct |best )?answer is:?|answer:))[ \t*_]*"
    r"\(?(?P<letter>[A-Z])\)?[*_]{0,3}\.?[*_]{0,3}[ \t]*(?:\n|$)"
)


def first_answer(reading: Reading, claims: Iterable[Claim]) -> tuple[Claim, list[str]] | None:
    """The opening answer of a response that answers first, and the other letters that it states later; None for any other.

    Such a response opens with a line like "The answer is (X)." that holds nothing else. What follows it is, in published
    outputs, the answers to further questions of a prompt with worked examples, one such line each, or an explanation of
    the first. Neither takes the opening back, so that it counts, as it does for the benchmarks that demand the sentence.

    That holds as long as every other answer is announced by the same noun, in the response's plain voice. A word of
    correction anywhere in between, or one of comparison or conclusion in front of another answer, makes the response one
    that changes its mind, for which this is None. So does an answer in other words ("I choose C").
    """
    opening = _BARE.match(reading.text)
    if opening is None or opening["letter"] not in reading.letters:
        return None
    stated = sorted(claim for claim in claims if claim.strength is Strength.STATED)
    first = next((claim for claim in stated if reading.tokens[claim.at].start >= opening.start("letter")), None)
    if first is None or first.letter != opening["letter"]:
        return None
    others = [claim for claim in stated if claim.at > first.at and claim.letter != first.letter]
    if not others or _doubts(reading, first.at, others[-1].at):
        return None
    if any(not _announced(claim) or _is_led_to(reading, claim.at) for claim in others):
        return None
    return first, list(dict.fromkeys(claim.letter or "none" for claim in others))


def _announced(claim: Claim) -> bool:
    return claim.letter is None or claim.how.startswith("answer")


def _doubts(reading: Reading, start: int, stop: int) -> bool:
    """Whether the response corrects itself between two tokens."""
    for place in reading.retractions():
        if start < place < stop and (reading.word(place) != "correction" or reading.word(place + 1) in _PAUSES):
            return True
    return any(reading.word(place) in _DOUBTS for place in range(start + 1, stop))


def _is_led_to(reading: Reading, index: int) -> bool:
    """Whether the sentence of a letter or a heading above it says that it concludes, or replaces another."""
    start = _sentence(reading, index)
    if any(word in _LEADS for word in _words(reading, start, index)):
        return True
    above = start - 1
    while above >= 0 and (reading.word(above) == "\n" or reading.is_markup(above)):
        above -= 1
    words = list(_words(reading, _sentence(reading, above), above + 1))
    heading = reading.word(above) == ":" or len(words) <= 3
    return any(word in (_LEADS if heading else v.CORRECTION) for word in words)


def _sentence(reading: Reading, index: int) -> int:
    start = index
    while start > 0 and index - start < LEAD:
        before = reading.tokens[start - 1].text[0]
        if before == "\n" or before in v.ENDS:
            break
        start -= 1
    return start


def _words(reading: Reading, start: int, stop: int) -> Iterator[str]:
    return (reading.word(index) for index in range(max(start, 0), stop))


_PAUSES = (":", ",", "-", "—", "–", ".", "!")
_DOUBTS = v.words(
    "sorry mistaken mistake apologies apologize nope again check checking verify reevaluate reexamine recheck "
    "re rechecking recalculate recalculating recompute redo rethink rereading realize realized"
)
_LEADS = v.CORRECTION | v.words(
    "so therefore thus hence consequently accordingly ergo conclusion concluding conclude final finally ultimately overall "
    "but however although though better best now after changed change updated corrected summary"
)

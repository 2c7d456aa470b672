"""The weakest evidence: a brief reply that never says "the answer" but names one option only."""

from __future__ import annotations

from collections.abc import Iterator

from context_bench_multiple_choice import vocabulary as v
from context_bench_multiple_choice.lines import Labels
from context_bench_multiple_choice.marks import Mark, after_markup
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength
from context_bench_multiple_choice.verdicts import Verdict, verdict_on

_BEFORE_NAMES = frozenset({"by", "to", "of", "and", "with"})


def mentions(reading: Reading, labels: Labels) -> Iterator[Claim]:
    """One claim, when a brief reply names one option only.

    Options are named by their text, or by a letter that stands by itself: enclosed, or at the end of its clause. Letters
    inside an option's text, units ("5 A"), options that are put aside ("not A"), options in a list of all of them and what
    others might think do not count.
    """
    if not reading.is_brief:
        return
    named = [claim for claim in (*_texts(reading), *_letters(reading)) if _counts(reading, labels, claim.at)]
    named = [claim for claim in named if not reading.asked(claim.at)] or named
    if not named:
        return
    last = max(named, key=lambda claim: claim.at)
    letters = sorted({claim.letter for claim in named if claim.letter})
    if len(letters) == 1 and all(claim.letter for claim in named):
        yield last
    else:
        yield Claim(last.at, Strength.MENTIONED, None, f"several options, no conclusion: {', '.join(letters)}")


def _texts(reading: Reading) -> Iterator[Claim]:
    index = 0
    while index < len(reading.tokens):
        found = reading.option_at(index)
        if found is None:
            index += 1
            continue
        mark = Mark(found.letter, index, after_markup(reading.tokens, found.stop), True, True)
        ruled_out = reading.discarded(index) or reading.denied(found.stop) or verdict_on(reading, mark) is Verdict.WRONG
        if not (ruled_out or _is_a_term(reading, index, found.stop)):
            open_ended = reading.word(found.stop) == "or"  # "it rises or falls"
            yield Claim(index, Strength.MENTIONED, None if open_ended else found.letter, "text mentioned")
        index = found.stop


def _letters(reading: Reading) -> Iterator[Claim]:
    covered = -1
    for index in range(len(reading.tokens)):
        found = reading.option_at(index)
        if found is not None and found.stop - found.start > 1:
            covered = max(covered, found.stop - 1)
        mark = reading.marks.get(index)
        if mark is None or index <= covered or mark.letter not in reading.letters:
            continue
        paired = mark.enclosed and reading.tokens[index - 1].text in ("(", "（", "[", "{") if index else False
        if not (mark.capital or paired) or not reading.stands_alone(mark):
            continue
        if reading.is_unit(mark) or reading.discarded(index):
            continue
        if verdict_on(reading, mark) is Verdict.WRONG or reading.denied(mark.stop) or _is_initial(reading, index):
            continue
        yield Claim(index, Strength.MENTIONED, mark.letter, "letter mentioned")


def _is_a_term(reading: Reading, start: int, stop: int) -> bool:
    """Whether an option that is one number stands in a calculation."""
    if stop - start > 1 or not reading.tokens[start].text[0].isdigit():
        return False
    before, after = reading.word(start - 1)[:1], reading.word(stop)[:1]
    return bool(before and before in "+-−*/×÷^=(") or not reading.ends_clause(stop) or bool(after and after in "/([")


def _is_initial(reading: Reading, index: int) -> bool:
    """Whether a letter abbreviates a name, as in "John F. Kennedy"."""
    tokens = reading.tokens
    if index == 0 or index + 2 >= len(tokens) or tokens[index + 1].text != ".":
        return False
    named = tokens[index - 1].text[:1].isupper() or tokens[index - 1].word in _BEFORE_NAMES
    return named and tokens[index + 2].text[:1].isupper()


def _counts(reading: Reading, labels: Labels, index: int) -> bool:
    return not labels.listed(index) and not any(word in v.OTHERS for word in reading.before(index))

"""Lines that are an answer by their form: a letter alone, or a label with the option's text after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from context_bench_multiple_choice.marks import Mark, is_markup
from context_bench_multiple_choice.reading import Claim, Reading
from context_bench_multiple_choice.replies import Strength
from context_bench_multiple_choice.verdicts import Verdict, verdict_on

_BULLETS = frozenset("-–—•·")
_SEPARATORS = frozenset(".:．：-–—、,|")
_TICKS = frozenset({"✓", "✔", "✅", "☑"})
_CROSSES = frozenset({"✗", "✘", "❌", "✖"})


class Label(NamedTuple):
    """A line that begins with a letter: its number, its tokens, and what is done to make it stand out."""

    line: int
    start: int
    stop: int
    mark: Mark
    alone: bool
    chosen: bool
    crossed: bool


class Labels:
    """The labelled lines of a response, and which of them are a list of options."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        lines = _lines(reading)
        self._last = len(lines) - 1
        found = (_label(reading, number, *span) for number, span in enumerate(lines))
        self._labels = {label.line: label for label in found if label}
        self._listed = {line for line, label in self._labels.items() if self._has_a_neighbour(label)}
        self._tokens = {
            index for line in self._listed for index in range(self._labels[line].start, self._labels[line].stop)
        }

    def listed(self, index: int) -> bool:
        """Whether a token belongs to a list of options that the response only repeats or discusses."""
        return index in self._tokens

    def claims(self) -> Iterator[Claim]:
        """What the labelled lines claim.

        A letter alone on the first or last line is a statement, on another line a conclusion. A label with text after it
        ("B. Paris") counts on the first and on the last line, unless it is one of a list: the neighbouring lines carry other
        labels. In a list only the line counts that is in bold or ticked where the others are not, or that says "correct".
        What is only a conclusion counts in a brief reply alone.
        """
        chosen = [line for line in self._listed if self._labels[line].chosen]
        for line, label in self._labels.items():
            verdict = None if label.alone else _line_verdict(self._reading, label.mark)
            if verdict is Verdict.WRONG or label.crossed or label.mark.letter not in self._reading.letters:
                continue
            if label.mark.formula and not self._reading.is_brief:
                continue
            if not label.alone and self._reading.listed_with(label.mark):
                continue
            at_edge = line in (0, self._last)
            strength = None
            if line in self._listed:
                if verdict is Verdict.RIGHT or chosen == [line]:
                    strength = Strength.CONCLUDED
            elif label.alone:
                strength = Strength.STATED if at_edge else Strength.CONCLUDED
            elif at_edge:
                strength = Strength.STATED if _has_its_text(self._reading, label.mark) else Strength.CONCLUDED
            if strength is Strength.STATED or (strength and self._reading.is_brief):
                yield Claim(label.mark.at, strength, label.mark.letter, "line")

    def _has_a_neighbour(self, label: Label) -> bool:
        """Whether the line before or after goes on with the alphabet, as in a list."""
        before, after = self._labels.get(label.line - 1), self._labels.get(label.line + 1)
        follows = before is not None and before.alone == label.alone and before.mark.letter < label.mark.letter
        leads = after is not None and after.alone == label.alone and label.mark.letter < after.mark.letter
        return follows or leads


def _lines(reading: Reading) -> list[tuple[int, int]]:
    """The tokens of each line that has any, from first to last plus one."""
    spans: list[tuple[int, int]] = []
    start = 0
    for index, token in enumerate(reading.tokens):
        if token.word == "\n":
            if index > start:
                spans.append((start, index))
            start = index + 1
    if start < len(reading.tokens):
        spans.append((start, len(reading.tokens)))
    return spans


def _label(reading: Reading, number: int, start: int, stop: int) -> Label | None:
    first, chosen, crossed = start, False, False
    while first < stop:
        token = reading.tokens[first]
        boxed = reading.word(first - 1) == "[" and reading.word(first + 1) == "]"
        ticked = token.text in _TICKS or (boxed and token.word == "x")
        if not (is_markup(token) or token.text[0] in _BULLETS or ticked or token.text in _CROSSES):
            break
        chosen = chosen or ticked or token.text in ("**", "***")
        crossed = crossed or token.text in _CROSSES
        first += 1
    if reading.word(first) in ("option", "choice") and first + 1 in reading.marks:
        first += 1
    mark = reading.marks.get(first)
    if mark is None or mark.at >= stop:
        return None
    rest = [
        token for token in reading.tokens[mark.stop : stop] if not is_markup(token) and token.text not in _SEPARATORS
    ]
    chosen = chosen or any(token.text in _TICKS for token in rest)
    crossed = crossed or any(token.text in _CROSSES for token in rest)
    rest = [token for token in rest if token.text not in _TICKS | _CROSSES]
    separated = mark.enclosed or reading.word(mark.stop)[:1] in _SEPARATORS
    if rest and not (separated and (mark.capital or mark.enclosed)):
        return None
    return Label(number, start, stop, mark, not rest, chosen, crossed)


def _line_verdict(reading: Reading, mark: Mark) -> Verdict | None:
    """What the first words after a label say: "A: incorrect", "B ✓", "C. Correct, because", "D - no"."""
    stop = _after_separators(reading, mark.stop)
    if reading.word(stop) == "yes":
        return Verdict.RIGHT
    verdict = verdict_on(reading, mark._replace(stop=stop))
    return Verdict.RIGHT if verdict is Verdict.THE_ANSWER else verdict


def _after_separators(reading: Reading, index: int) -> int:
    while reading.word(index) and (reading.word(index)[0] in _SEPARATORS or is_markup(reading.tokens[index])):
        index += 1
    return index


def _has_its_text(reading: Reading, mark: Mark) -> bool:
    after = _after_separators(reading, mark.stop)
    option = reading.option_at(after) if after < len(reading.tokens) else None
    return option is not None and option.letter == mark.letter

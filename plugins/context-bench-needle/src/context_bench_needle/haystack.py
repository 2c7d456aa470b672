"""The haystack: sentences of an exact number of tokens, and the places between them where needles go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle
from typing import Protocol

from context_bench_needle import prose
from context_bench_needle.dice import Dice
from context_bench_needle.needles import Mint, Needle
from context_bench_needle.tasks import Task

_NOISE = tuple(
    (text, len(text.split()) + 1)
    for text in (
        "The rain is soft.",
        "The road is long.",
        "The house is quiet.",
        "Out we walk.",
        "There and home again.",
    )
)
_LONGEST_NOISE = max(size for _, size in _NOISE)
_GAP = {"noise": " ", "prose": " ", "needles": "\n"}


class Hidden(Protocol):
    """What can be hidden."""

    @property
    def sentence(self) -> str:
        """Its text."""


@dataclass(frozen=True)
class Haystack:
    """Sentences, each with the white space after it, and the token offset of every boundary between them."""

    sentences: list[str]
    offsets: list[int]
    gap: str

    def boundary(self, depth: float) -> int:
        """Return the boundary nearest to a depth in percent; the earlier one of two as near. 0 and 100 are the ends."""
        target = self.offsets[-1] * depth / 100
        after = min(bisect_left(self.offsets, target), len(self.offsets) - 1)
        before = max(after - 1, 0)
        return before if target - self.offsets[before] <= self.offsets[after] - target else after

    def hide(self, needles: Sequence[tuple[Hidden, float]]) -> str:
        """Return the text with each needle at its depth; needles of one boundary keep their order."""
        at: dict[int, list[str]] = {}
        for needle, depth in needles:
            at.setdefault(self.boundary(depth), []).append(needle.sentence + self.gap)
        pieces: list[str] = []
        done = 0
        for boundary in sorted(at):
            pieces += self.sentences[done:boundary]
            pieces += at[boundary]
            done = boundary
        pieces += self.sentences[done:]
        return "".join(pieces).rstrip()


def build_haystack(tokens: int, task: Task, mint: Mint, dice: Dice) -> Haystack:
    """Return a haystack of exactly ``tokens`` tokens (0, or at least 3)."""
    sentences: list[str] = []
    sizes: list[int] = []
    source = _SOURCES[task.haystack](task, mint, dice)
    longest = {"noise": _LONGEST_NOISE, "prose": prose.LONGEST, "needles": mint.tokens(task)}[
        task.haystack
    ]
    left = tokens
    while left >= longest + prose.SHORTEST:
        text, size = next(source)
        sentences.append(text)
        sizes.append(size)
        left -= size
    for text, size in prose.closers(left, dice):
        sentences.append(text + _GAP[task.haystack])
        sizes.append(size)
    return Haystack(sentences, list(accumulate(sizes, initial=0)), _GAP[task.haystack])


def _noise(task: Task, mint: Mint, dice: Dice) -> Iterator[tuple[str, int]]:
    """Yield the same few sentences over and over, a line each round."""
    for index, (text, size) in enumerate(cycle(_NOISE), 1):
        yield text + (" " if index % len(_NOISE) else "\n"), size


def _prose(task: Task, mint: Mint, dice: Dice) -> Iterator[tuple[str, int]]:
    """Yield made-up prose in paragraphs of four to eight sentences."""
    left = 4 + dice.below(5)
    for text, size in prose.sentences(dice):
        left -= 1
        if left:
            yield text + " ", size
        else:
            left = 4 + dice.below(5)
            yield text + "\n\n", size


def _needles(task: Task, mint: Mint, dice: Dice) -> Iterator[tuple[str, int]]:
    """Yield needles that nobody asks for, one a line."""
    size = mint.tokens(task)
    while True:
        needle = Needle(
            mint.make(task.key_kind, dice), mint.make(task.value_kind, dice), task.value_kind
        )
        yield needle.sentence + "\n", size


_SOURCES = {"noise": _noise, "prose": _prose, "needles": _needles}

"""Counting words: the most common of a numbered list, the most frequent of a coded text (RULER's ``cwe`` and ``fwe``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from context_bench_needle.dice import Dice
from context_bench_needle.ruler import Drawn, Place, RulerTask
from context_bench_needle.words import ADJECTIVES, NOUNS

COMMON = 10
"""Words of a list that stand in it most often, all of them asked for."""
SHORT = 4000
"""Below so many tokens common words stand 6 times in the list, others once; from there on 30 and 3 times. RULER's is 4096."""
_ZETA = 1.6449340668482264  # zeta(2): RULER's exponent is 2, so the k-th of n words stands n / k^2 / zeta(2) times
_ENTRY = 3  # tokens of "12. word"
_DOTS = "..."
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LIST = "words stand most often in the numbered list"
_CODED = "coded words appear most often in the text"


def build_common(task: RulerTask, length: int, place: Place, dice: Dice) -> Drawn:
    """Return a numbered list of words, shuffled, in which ten stand far more often than the others."""
    often, seldom = (6, 1) if length < SHORT else (30, 3)
    left, spare = divmod(length - COMMON * often * _ENTRY, _ENTRY)
    words = _words(dice, COMMON + -(-left // seldom))
    asked, others = words[:COMMON], words[COMMON:]
    listed = [word for word in asked for _ in range(often)] + [
        word for word in others for _ in range(seldom)
    ]
    listed = _shuffled(listed[: COMMON * often + left], dice)
    entries = " ".join(f"{number}. {word}" for number, word in enumerate(listed, 1))
    question = f"Which {COMMON} {_LIST}? Name all {COMMON}."
    return Drawn(entries + ("", "\nEnd", "\nEnd.")[spare], question, asked, [], [])


def least_common(task: RulerTask) -> int:
    """Return the tokens of the shortest list: ten common words and ten others."""
    return (COMMON * 6 + COMMON) * _ENTRY


def build_frequent(task: RulerTask, length: int, place: Place, dice: Dice) -> Drawn:
    """Return a text of made-up words whose frequencies follow a zeta distribution; the first are dots, which do not count.

    There are as many different words as a fiftieth of the length, and the second, third and fourth are asked for.
    """
    vocabulary = [_DOTS, *_coded(dice, max(length // 50, 5) + _SPARE)]
    counts = _frequencies(length)
    text = [word for word, count in zip(vocabulary, counts, strict=False) for _ in range(count)]
    missing = length - sum(counts) - 2 * counts[0]
    text += vocabulary[len(counts) : len(counts) + missing]
    return Drawn(
        " ".join(_shuffled(text, dice)),
        f"Which three {_CODED}? The dots are no word.",
        vocabulary[1:4],
        [],
        [],
    )


def least_frequent(task: RulerTask) -> int:
    """Return the tokens of the shortest text in which the fourth word is more frequent than the fifth."""
    return next(
        length
        for length in range(50, 10_000)
        if len(found := _frequencies(length)) > 4 and found[3] > found[4]
    )


def read(question: str, context: str) -> list[str] | None:
    """Return the words that a context has most often; None for another question."""
    if _LIST in question:
        return [
            word for word, _ in Counter(re.findall(r"[0-9]+\. (\w+)", context)).most_common(COMMON)
        ]
    if _CODED in question:
        return [word for word, _ in Counter(re.findall(r"\b[a-z]{6}\b", context)).most_common(3)]
    return None


_SPARE = 60


def _frequencies(length: int) -> list[int]:
    """Return how often each word stands in a text of at most so many tokens, dots being three: RULER's rule."""
    ranks = range(1, max(length // 50, 5) + 1)

    def counts(words: int) -> list[int]:
        return [count for rank in ranks if (count := int(words / (rank * rank * _ZETA)))]

    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        found = counts(middle)
        if (found and sum(found) + 2 * found[0] > length) or sum(found) > length:
            high = middle - 1
        else:
            low = middle
    return counts(low)


def _words(dice: Dice, count: int) -> list[str]:
    """Return different words, those first which occur in no other of them."""
    parts: list[Sequence[str]] = [ADJECTIVES, NOUNS]
    if 2 * count <= len(ADJECTIVES) + len(NOUNS):
        parts = [[*ADJECTIVES, *NOUNS]]
    elif count > len(ADJECTIVES) * len(
        NOUNS
    ):  # from some 1.6 million tokens on there are not enough of two
        parts = [ADJECTIVES, *parts]
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(map(dice.pick, parts))] = None
    drawn = list(found)
    if (
        len(drawn) > 1000
    ):  # compounds of two words hardly hold each other; a row in which one does is drawn again
        return drawn
    alone = [word for word in drawn if not any(word in other for other in drawn if other != word)]
    return [*alone, *(word for word in drawn if word not in set(alone))]


def _coded(dice: Dice, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(dice.pick(_LETTERS) for _ in range(6))] = None
    return list(found)


def _shuffled(items: list[str], dice: Dice) -> list[str]:
    """Return the items in a drawn order (Fisher and Yates)."""
    items = list(items)
    for last in range(len(items) - 1, 0, -1):
        other = dice.below(last + 1)
        items[last], items[other] = items[other], items[last]
    return items

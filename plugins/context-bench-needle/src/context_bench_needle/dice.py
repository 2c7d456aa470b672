"""Random draws that are the same on every Python version and platform."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A stream of draws named by a label: the same label always gives the same draws.

    Only ``random.Random(int).random()`` is used: it is the one sequence that Python promises never to change, where
    ``choice``, ``shuffle`` and ``sample`` may and did. The label is hashed with SHA-256, so labels that differ in one
    character give unrelated streams.
    """

    __slots__ = ("random",)

    def __init__(self, label: str) -> None:
        digest = hashlib.sha256(label.encode("utf-8")).digest()
        self.random: Callable[[], float] = random.Random(int.from_bytes(digest, "big")).random

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to, and without, ``bound``."""
        return int(self.random() * bound)

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[int(self.random() * len(items))]


def radical_inverse(index: int) -> float:
    """Return the van der Corput number of an index: 0, 1/2, 1/4, 3/4, 1/8, ...

    The first n of them cover 0 to 1 evenly for every n, which random numbers do not.
    """
    value, step = 0.0, 0.5
    while index:
        if index & 1:
            value += step
        index >>= 1
        step /= 2
    return value

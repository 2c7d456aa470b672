"""The needle: its sentence, the question about it, and the keys and values in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_bench_needle.dice import Dice
from context_bench_needle.tasks import Task
from context_bench_needle.words import ADJECTIVES, NOUNS

NOUN = {"number": "access number", "word": "code word", "uuid": "serial id"}
"""What a value is called, by its kind."""

SHAPE = {
    "number": r"[0-9]{7}",
    "word": r"[a-z]+(?:-[a-z]+){1,2}",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
"""How a whole key or value looks, by its kind."""

NEEDLE_TOKENS = 7
"""Tokens of a needle's sentence without its key and value."""

_KIND_TOKENS = {"number": 1, "uuid": 9}
_PAIRS = len(ADJECTIVES) * len(NOUNS)


@dataclass(frozen=True)
class Needle:
    """One value registered under one key."""

    key: str
    value: str
    value_kind: str

    @property
    def sentence(self) -> str:
        """The sentence that is hidden."""
        return f"One {NOUN[self.value_kind]} registered for {self.key} is {self.value}."


def question_about(keys: list[str], value_kind: str) -> str:
    """Return the question that asks for every value of the keys."""
    listed = keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])} and {keys[-1]}"
    each = "it" if len(keys) == 1 else "each of them"
    return f"Which {NOUN[value_kind]}s are registered for {listed}? Name every one that the text gives for {each}."


def asked_in(question: str) -> tuple[list[str], str] | None:
    """Return the keys and the kind of value that a question of this dataset asks for; ``None`` for another question."""
    for kind, noun in NOUN.items():
        found = re.search(
            rf"Which {noun}s are registered for (.+?)\? Name every one", question, re.DOTALL
        )
        if found:
            return re.split(r", | and ", found.group(1)), kind
    return None


class Mint:
    """Makes keys and values, no two alike within one context."""

    def __init__(self, words: int) -> None:
        """Prepare for ``words`` different words: two parts each, or three where the pairs would run short."""
        self._parts = 2 if 2 * words <= _PAIRS else 3
        self._made: set[str] = set()

    def tokens(self, task: Task) -> int:
        """Return the tokens of one needle's sentence."""
        kinds = {**_KIND_TOKENS, "word": 2 * self._parts - 1}
        return NEEDLE_TOKENS + kinds[task.key_kind] + kinds[task.value_kind]

    def make(self, kind: str, dice: Dice) -> str:
        """Return a new key or value."""
        while True:
            text = self._draw(kind, dice)
            if text not in self._made:
                self._made.add(text)
                return text

    def _draw(self, kind: str, dice: Dice) -> str:
        if kind == "number":
            return str(1_000_000 + dice.below(9_000_000))
        if kind == "word":
            first = "" if self._parts == 2 else f"{dice.pick(ADJECTIVES)}-"
            return f"{first}{dice.pick(ADJECTIVES)}-{dice.pick(NOUNS)}"
        a, b, c, d = (dice.below(2**32) for _ in range(4))
        low = f"{b & 0xFFFF:04x}"
        variant = f"{0x8000 | (c >> 16) & 0x3FFF:04x}"
        return f"{a:08x}-{b >> 16:04x}-4{low[1:]}-{variant}-{c & 0xFFFF:04x}{d:08x}"

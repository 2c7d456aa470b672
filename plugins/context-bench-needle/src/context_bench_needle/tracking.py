"""Variable tracking: which variables have a value, when one is assigned to the next along a chain (RULER's ``vt``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from context_bench_needle import prose
from context_bench_needle.dice import Dice
from context_bench_needle.haystack import Hidden, build_haystack
from context_bench_needle.needles import Mint
from context_bench_needle.ruler import Drawn, Place, RulerTask
from context_bench_needle.tasks import Task

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIRST, _NEXT = 4, 5  # tokens of "VAR A = 1" and "VAR B = VAR A"
_NOISE = Task("noise", haystack="noise")
_QUESTION = re.compile(r"assigned the value ([0-9]+) in the text")


def build(task: RulerTask, length: int, place: Place, dice: Dice) -> Drawn:
    """Return chains of assignments in noise, and the variables of the first of them.

    A chain is a number of five digits, a variable that it is assigned to, and ``hops`` more that are each assigned the one
    before, in this order and at drawn places. Further chains are distractors.
    """
    names, values = _distinct(dice, task.chains * (task.hops + 1)), _numbers(dice, task.chains)
    chains = [names[start : start + task.hops + 1] for start in range(0, len(names), task.hops + 1)]
    hidden: list[tuple[Hidden, float]] = []
    asked: list[float] = []
    for number, (chain, value) in enumerate(zip(chains, values, strict=True)):
        texts = [f"VAR {chain[0]} = {value}"]
        texts += [f"VAR {ours} = VAR {before}" for before, ours in pairwise(chain)]
        depths = sorted(
            place.depth if place.depth is not None and not number else _drawn(dice) for _ in texts
        )
        asked = asked or depths
        hidden += [(Statement(text), depth) for text, depth in zip(texts, depths, strict=True)]
    stack = build_haystack(length - _hidden_tokens(task), _NOISE, Mint(0), dice)
    question = f"Which variables are assigned the value {values[0]} in the text, directly or through others? Name all of them."
    return Drawn(stack.hide(hidden), question, chains[0], [values[0]], asked)


def least(task: RulerTask) -> int:
    """Return the tokens of the shortest context: all statements and one sentence."""
    return _hidden_tokens(task) + prose.SHORTEST


def read(question: str, context: str) -> list[str] | None:
    """Return the variables that a context assigns the asked value; None for another question."""
    asked = _QUESTION.search(question)
    if asked is None:
        return None
    found = re.findall(r"VAR ([A-Z]{5}) = (?:VAR )?([A-Z]{5}|[0-9]+)", context)
    known = {asked[1]}
    while new := [name for name, source in found if source in known and name not in known]:
        known.update(new)
    return [name for name in dict.fromkeys(name for name, _ in found) if name in known]


class Statement:
    """A line that is hidden in a haystack."""

    __slots__ = ("sentence",)

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence


def _hidden_tokens(task: RulerTask) -> int:
    return task.chains * (_FIRST + task.hops * _NEXT)


def _distinct(dice: Dice, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(dice.pick(_LETTERS) for _ in range(5))] = None
    return list(found)


def _numbers(dice: Dice, count: int) -> list[str]:
    def draws() -> Iterator[str]:
        while True:
            yield str(10_000 + dice.below(90_000))

    found: dict[str, None] = {}
    for number in draws():
        found[number] = None
        if len(found) == count:
            break
    return list(found)


def _drawn(dice: Dice) -> float:
    return dice.below(1001) / 10

"""Questions with distractors: documents of which one, or two together, answer a question (RULER's ``qa_1``, ``qa_2``)."""

from __future__ import annotations

import re

from context_bench_needle import prose
from context_bench_needle.dice import Dice
from context_bench_needle.ruler import Drawn, Place, RulerTask
from context_bench_needle.words import ADJECTIVES, NOUNS

_HEADING, _FACTS = 3, 24  # tokens of "Document 1:", and of what a document says about its person
_SENTENCES = 3
_LONGEST = _HEADING + _FACTS + _SENTENCES * prose.LONGEST
_ASKED = re.compile(r"In which town was (the teacher of )?([A-Z]\w+ [A-Z]\w+ [A-Z]\w+) born\?")


def build(task: RulerTask, length: int, place: Place, dice: Dice) -> Drawn:
    """Return numbered documents about people, and where one of them - or, over two hops, a teacher - was born.

    Every document has the same form, so that only the name tells which one is asked for.
    """
    hops, people, towns = task.hops, _People(dice), _Towns(dice)
    asked, teacher = people.new(), people.new()
    answer = towns.new()
    told = [_facts(asked, answer if hops == 1 else towns.new(), teacher, dice)]
    if hops == 2:
        told.append(_facts(teacher, answer, people.new(), dice))
    bodies: list[str] = []
    left, source = length, prose.sentences(dice)
    while len(bodies) < len(told) or left >= _LONGEST + prose.SHORTEST:
        number = len(bodies)
        text = (
            told[number]
            if number < len(told)
            else _facts(people.new(), towns.new(), people.new(), dice)
        )
        left -= _HEADING + _FACTS
        reserved = max(0, len(told) - number - 1) * (_HEADING + _FACTS) + prose.SHORTEST
        for _ in range(_SENTENCES if left >= _SENTENCES * prose.LONGEST + reserved else 0):
            sentence, size = next(source)
            text, left = f"{text} {sentence}", left - size
        bodies.append(text)
    depths = [place.depth if place.depth is not None else dice.below(1001) / 10 for _ in told]
    others = bodies[len(told) :]
    for depth, text in sorted(zip(depths, bodies, strict=False)):
        others.insert(round(depth / 100 * len(others)), text)
    closing = " ".join(text for text, _ in prose.closers(left, dice))
    context = "\n\n".join(f"Document {number}:\n{text}" for number, text in enumerate(others, 1))
    whose = f"the teacher of {asked}" if hops == 2 else asked
    keys = [asked, teacher][:hops]
    return Drawn(
        f"{context} {closing}".rstrip(), f"In which town was {whose} born?", [answer], keys, depths
    )


def least(task: RulerTask) -> int:
    """Return the tokens of the shortest context: the documents that are asked for, and one sentence."""
    return task.hops * (_HEADING + _FACTS) + prose.SHORTEST


def read(question: str, context: str) -> list[str] | None:
    """Return the town that a context tells; None for another question."""
    asked = _ASKED.search(question)
    if asked is None:
        return None
    person = asked[2]
    if asked[1]:
        found = re.search(rf"The teacher of {person} was ([A-Z]\w+ [A-Z]\w+ [A-Z]\w+)", context)
        if found is None:
            return []
        person = found[1]
    return re.findall(rf"\b{person} was born in (\w+)", context)


def _facts(person: str, town: str, teacher: str, dice: Dice) -> str:
    return f"{person} was born in {town} and worked as a {dice.pick(prose.LISTS['who'])}. The teacher of {person} was {teacher}."


class _People:
    """Names of three words, no two alike."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._made: set[str] = set()

    def new(self) -> str:
        while True:
            dice = self._dice
            given, middle, last = (
                dice.pick(prose.LISTS["name"]),
                dice.pick(ADJECTIVES),
                dice.pick(NOUNS),
            )
            name = f"{given} {middle.capitalize()} {last.capitalize()}"
            if name not in self._made:
                self._made.add(name)
                return name


class _Towns:
    """Names of towns, no two alike."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._made: set[str] = set()

    def new(self) -> str:
        parts = [ADJECTIVES, NOUNS]
        if 2 * len(self._made) > len(ADJECTIVES) * len(NOUNS):  # names of two parts run short
            parts.insert(0, ADJECTIVES)
        while True:
            name = "".join(map(self._dice.pick, parts)).capitalize()
            if name not in self._made:
                self._made.add(name)
                return name

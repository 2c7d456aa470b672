"""Examples that differ: which few of many show best what a system does with different prompts.

A proxy may shorten records and leave prose alone, or act on long prompts only. So a few examples are chosen that differ in kind,
structure and length, whatever their order in the file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from attrs import frozen

_TEXTS = (
    "context",
    "messages",
    "turns",
    "sessions",
    "haystack_sessions",
    "prompt",
    "instruction",
    "question",
)
_KINDS = ("dataset", "kind", "task", "category", "type", "subset", "domain")
_LOG_LINE = re.compile(r"^\W?(\d{4}-\d\d-\d\d|\d\d:\d\d|\w{3} +\d+ \d\d:)", re.MULTILINE)
_CODE_LINE = re.compile(
    r"^\s*(def|class|import|from|return|if|for|while|public|private|function|const|let|#include)\b.*[:;{(]?"
)
_MOST = 0.6
_SEPARATORS = (re.compile(r"\|"), re.compile("\t"), re.compile(r";(?! )"), re.compile(r",(?! )"))
"""What stands between the cells of a table; a mark with a space behind it belongs to a sentence."""


@frozen
class Nature:
    """What an example is like.

    Attributes:
        kind: What it says of itself - its dataset, task, category - and which fields it has.
        structure: Of its longest text: ``messages``, ``json``, ``log``, ``code``, ``table`` or ``prose``.
        length: Characters of its texts.
    """

    kind: str
    structure: str
    length: int

    def __str__(self) -> str:
        return f"{self.structure}, {self.length:,} characters"


def nature_of(example: Mapping[str, Any]) -> Nature:
    """Return what an example is like.

    >>> str(nature_of({"context": "[1, 2]", "question": "which?"}))
    'json, 12 characters'
    """
    texts = {name: example[name] for name in _TEXTS if example.get(name)}
    said = [str(example[name]) for name in _KINDS if isinstance(example.get(name), str)]
    length = sum(len(_text(value)) for value in texts.values())
    return Nature("/".join([*said, *sorted(texts)]), _structure(texts), length)


def varied(
    examples: Sequence[tuple[str, Mapping[str, Any]]], size: int, seed: int = 0
) -> list[int]:
    """Return the places of a few examples that differ in structure, kind and length, the longest first.

    The same examples are chosen whatever their order; the seed chooses among those that would do equally well.

    Args:
        examples: Names and examples.
        size: How many to choose at most.
        seed: Chooses others.
    """
    natures = [nature_of(example) for _, example in examples]
    marks = [_mark(seed, name, example) for name, example in examples]
    left = sorted(range(len(examples)), key=lambda place: marks[place])
    chosen: list[int] = []
    while left and len(chosen) < size:
        best = max(
            left, key=lambda place: _novelty(natures[place], [natures[other] for other in chosen])
        )
        left.remove(best)
        chosen.append(best)
    return sorted(chosen, key=lambda place: (-natures[place].length, marks[place]))


def _novelty(one: Nature, others: Sequence[Nature]) -> tuple[float, ...]:
    """Return how much an example adds: another structure first, then another kind, then another length; of the first, length."""
    if not others:
        return (float(one.length),)
    distance = min(abs(math.log1p(one.length) - math.log1p(other.length)) for other in others)
    return (
        -float(sum(other.structure == one.structure for other in others)),
        -float(sum(other.kind == one.kind for other in others)),
        round(distance, 1),
    )


def _structure(texts: Mapping[str, Any]) -> str:
    if not texts:
        return "prose"
    longest = max(texts.values(), key=lambda value: len(_text(value)))
    if not isinstance(longest, str):
        return "messages"
    stripped = longest.strip()
    if stripped[:1] in ("{", "[") and stripped[-1:] in ("}", "]"):
        return "json"
    lines = [line for line in stripped.splitlines() if line.strip()]
    if len(lines) < 3:
        return "prose"
    for name, pattern in (("log", _LOG_LINE), ("code", _CODE_LINE)):
        if sum(bool(pattern.search(line)) for line in lines) >= _MOST * len(lines):
            return name
    return "table" if any(_is_table(lines, separator) for separator in _SEPARATORS) else "prose"


def _is_table(lines: Sequence[str], separator: re.Pattern[str]) -> bool:
    """Whether most lines have as many cells as each other."""
    counts = [len(separator.findall(line)) for line in lines]
    usual = max(set(counts), key=counts.count)
    return usual >= 2 and counts.count(usual) >= _MOST * len(lines)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _mark(seed: int, name: str, example: Mapping[str, Any]) -> str:
    told = json.dumps([seed, name, dict(example)], ensure_ascii=True, sort_keys=True, default=str)
    return sha256(told.encode()).hexdigest()

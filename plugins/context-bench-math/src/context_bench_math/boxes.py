"""The boxed answers of a text: ``\\boxed{...}`` and ``\\fbox{...}``, braces balanced."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMAND = re.compile(r"\\(?:boxed|fbox|framebox)(?![A-Za-z])\s*")
_UNBRACED = re.compile(r"[-+]?(?:\d[\d.,]*|\\?[A-Za-z]+|\S)")
_JOINT = re.compile(
    r"(?:[\s,;.&$]|\\[()\[\],;! ]|\\q?quad\b|\\(?:text|mbox|mathrm|textrm)\s*\{|\}|\band\b|\bor\b|\*)*",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\b(?:and|or)\b|[,;]", re.IGNORECASE)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_NEAR = 10
_FAR = 70


class Box(NamedTuple):
    """One box: where its command begins, where its closing brace ends, and what is inside."""

    start: int
    end: int
    content: str


class Boxed(NamedTuple):
    """The boxes that end a text.

    Attributes:
        last: What the last box holds.
        listed: The boxes that end the text as one list: only list words and punctuation stand between them.
        near: The boxes that may belong together, because little, or little with an "and" in it, stands between them.
        start: Where the last box begins.
    """

    last: str
    listed: tuple[str, ...]
    near: tuple[str, ...]
    start: int


def last_boxed(text: str) -> Boxed | None:
    """What the boxes at the end of a text say, or ``None`` where no box holds anything.

    >>> last_boxed(r"\\boxed{1}, no: \\boxed{\\frac{1}{2}}").last
    '\\\\frac{1}{2}'
    """
    found = [box for box in boxes(text) if box.content]
    if not found:
        return None
    last = found[-1]
    listed, near = [last], [last]
    still_listed = True
    for box in reversed(found[:-1]):
        between = text[box.end : near[-1].start]
        still_listed = (
            still_listed
            and bool(_SEPARATOR.search(between))
            and _JOINT.fullmatch(between) is not None
        )
        if still_listed:
            listed.append(box)
        different = box.content != near[-1].content
        if len(between) < _NEAR or (
            different and len(between) < _FAR and _SEPARATOR.search(between)
        ):
            near.append(box)
        else:
            break
    return Boxed(last.content, _in_order(listed), _in_order(near), last.start)


def boxes(text: str) -> list[Box]:
    """All boxes of a text in order; a box that is never closed ends with the text."""
    found = []
    position = 0
    while match := _COMMAND.search(text, position):
        if match.end() < len(text) and text[match.end()] == "{":
            end = _closing_brace(text, match.end())
            content = text[match.end() + 1 : end]
            position = end + 1
        elif bare := _UNBRACED.match(text, match.end()):
            content = bare.group()
            position = bare.end()
        else:
            break
        found.append(Box(match.start(), min(position, len(text)), content.strip()))
    return found


def _closing_brace(text: str, opening: int) -> int:
    """Where the brace that opens at ``opening`` is closed; the length of the text if it never is."""
    depth = 0
    for match in _BRACE.finditer(text, opening):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return len(text)


def _in_order(backwards: list[Box]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(box.content for box in reversed(backwards)))

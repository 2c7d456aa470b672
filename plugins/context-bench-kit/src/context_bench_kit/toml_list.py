"""Editing one list of texts in a TOML file that a person wrote: comments, order and layout stay.

Only the common form is edited - a key in a table with a header of its own. Whoever calls parses the result again and
compares; a file in another form gives None or a result that does not hold, and is left to its owner.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEADER = re.compile(r"^[ \t]*\[")


class _Item(NamedTuple):
    value: str
    start: int
    end: int
    comma: int = -1
    """Where the comma after it stands; -1 when there is none."""


def with_item(text: str, table: str, key: str, item: str) -> str | None:
    """Return the text with ``item`` added to the list, which is made, as is its table, where it is missing."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += newline
    span = _table(text, table)
    if span is None:
        return f'{text}{newline if text else ""}[{table}]{newline}{key} = ["{item}"]{newline}'
    opening = _opening(text, key, *span)
    if opening is None:
        return f'{text[: span[0]]}{key} = ["{item}"]{newline}{text[span[0] :]}'
    items = _items(text, opening)
    if items is None:
        return None
    if items:
        return f'{text[: items[-1].end]}, "{item}"{text[items[-1].end :]}'
    return f'{text[:opening]}"{item}"{text[opening:]}'


def without_item(text: str, table: str, key: str, item: str) -> str | None:
    """Return the text without ``item`` in the list, wherever it stands there."""
    while True:
        span = _table(text, table)
        opening = None if span is None else _opening(text, key, *span)
        items = None if opening is None else _items(text, opening)
        if items is None:
            return None
        places = [number for number, found in enumerate(items) if found.value == item]
        if not places:
            return text
        text = _cut(text, items, places[0])


def _cut(text: str, items: list[_Item], number: int) -> str:
    """Return the text without an item and one comma: the one before it when it is the last, else the one after it."""
    start, end, comma = items[number].start, items[number].end, items[number].comma
    before = items[number - 1] if number else None
    if number == len(items) - 1 and before is not None:
        beside = not text[before.comma + 1 : start].strip(" \t")
        start = before.comma + 1 if beside else start
        if comma < 0:
            return text[: before.comma] + text[before.comma + 1 : start].rstrip(" \t") + text[end:]
        if beside:
            return text[:start] + text[end:comma].lstrip(" \t") + text[comma + 1 :]
    if comma < 0:
        return text[:start] + text[end:]
    after = comma + 1
    while text[after] in " \t":
        after += 1
    return text[:start] + text[end:comma].lstrip(" \t") + text[after:]


def _table(text: str, name: str) -> tuple[int, int] | None:
    """Return where the body of a table begins and ends."""
    header = re.compile(rf"^[ \t]*\[[ \t]*{re.escape(name)}[ \t]*\][ \t]*(#.*)?$")
    begin = None
    place = 0
    for line in text.splitlines(keepends=True):
        if begin is not None and _HEADER.match(line) and not _in_value(text[begin:place]):
            return begin, place
        place += len(line)
        if begin is None and header.match(line.rstrip("\r\n")):
            begin = place
    return None if begin is None else (begin, place)


def _in_value(body: str) -> bool:
    """Whether a text ends inside a list."""
    depth = 0
    for token in _TOKENS.finditer(body):
        depth += {"[": 1, "]": -1}.get(token[0], 0)
    return depth > 0


def _opening(text: str, key: str, begin: int, end: int) -> int | None:
    """Return where the items of a list begin."""
    for found in re.compile(rf"^[ \t]*{re.escape(key)}[ \t]*=[ \t]*\[", re.MULTILINE).finditer(
        text, begin, end
    ):
        if not _in_value(text[begin : found.start()]):
            return found.end()
    return None


_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\],]|\s+|[^\s"\'#\[\],]+')


def _items(text: str, begin: int) -> list[_Item] | None:
    """Return the texts of a list, or None when it holds something else."""
    items: list[_Item] = []
    for token in _TOKENS.finditer(text, begin):
        if token[0] == "]":
            return items
        if token[0][0] in "\"'":
            items.append(_Item(token[0][1:-1], token.start(), token.end()))
        elif token[0] == "," and items:
            items[-1] = items[-1]._replace(comma=token.start())
        elif not token[0].isspace() and not token[0].startswith("#"):
            return None
    return None

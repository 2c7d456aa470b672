"""What a text means, as far as that can be told without computer algebra: a number, a list, an assignment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from context_bench_math.notation import canonical, plain
from context_bench_math.number_words import in_digits
from context_bench_math.numerals import Numeral, other_readings, read_numeral

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{(.*)\}", re.DOTALL)
_ASSIGNMENT = re.compile(
    r"(\\?[A-Za-z][A-Za-z0-9_'{}\\ ]*(?:\([^()=]*\))?|\([A-Za-z, ]+\))\s*(?:=|\\in(?![A-Za-z]))\s*([^=<>]+)"
)
_VARIABLE = re.compile(r"\([A-Za-z]\)\Z")
_INEQUALITY = re.compile(r"[<>]|\\(?:le|ge|lt|gt|leq|geq|ne|neq|approx|equiv)(?![A-Za-z])|!=|:=")
_TOKEN = re.compile(
    r"(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<skip>\\(?:[A-Za-z]+|.))"
    r"|(?P<semicolon>;)|(?P<word>,?\s*(?<![A-Za-z\\])(?:and|or)(?![a-z]))|(?P<spaced>,\s)(?!\s*(?:and|or)\b)|(?P<comma>,)",
    re.DOTALL,
)
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")
_PAIRS = ("()", "[]", "[)", "(]", "{}")
_LONGEST = 50_000
_LONGEST_CACHED = 200
_DEEPEST = 20

EQUATION = "="
"""The ``name`` of the reading of an equation that is no assignment."""


class Reading(NamedTuple):
    """What is understood of a text.

    Attributes:
        writing: The text with typesetting and idle blanks gone.
        numerals: The numbers that it may stand for.
        items: The readings of its items, where it is a list in brackets or without.
        brackets: The brackets of the list, such as ``"()"`` and ``"[)"``; ``""`` without.
        name: What it is said to be the value of: ``x`` in ``x = 5``, and ``EQUATION`` in other equations.
        value: The reading of what stands behind the last ``=``, where there is a name.
    """

    writing: str
    numerals: tuple[Numeral, ...] = ()
    items: tuple[Reading, ...] = ()
    brackets: str = ""
    name: str = ""
    value: Reading | None = None

    @property
    def is_understood(self) -> bool:
        """Whether the text is a number, a list of such, or says that something is one."""
        if self.value is not None:
            return self.value.is_understood
        return bool(self.numerals) or (
            bool(self.items) and all(item.is_understood for item in self.items)
        )


def read(text: str, is_reference: bool = False, point_groups: bool = False) -> Reading:
    """Read a text, which may be LaTeX.

    Args:
        text: The text, with or without ``$``.
        is_reference: Whether it is a reference, in which ``2,5`` is a list and ``5m`` a product.
        point_groups: Whether ``2.125`` may be two thousand.

    >>> str(read(r"x = \\frac12").value.numerals[0].value)
    '1/2'
    >>> [item.writing for item in read("$(1, 1{,}000]$").items]
    ['1', '1,000']
    """
    if len(text) > _LONGEST:
        return Reading(" ".join(text.split()))
    reader = _read_cached if len(text) <= _LONGEST_CACHED else _read
    return reader(text, is_reference, point_groups)


def _read(text: str, is_reference: bool, point_groups: bool) -> Reading:
    return _Reader(not is_reference, point_groups).read(plain(text), 0)


_read_cached = lru_cache(maxsize=4096)(_read)


class _Reader:
    """Reads texts under one set of conventions."""

    def __init__(self, is_answer: bool, point_groups: bool) -> None:
        self._is_answer = is_answer
        self._point_groups = point_groups

    def read(self, text: str, depth: int) -> Reading:
        numeral = read_numeral(text) or _read_words(text)
        others = other_readings(text, self._is_answer, self._point_groups)
        if numeral is not None:
            return Reading(canonical(text), (numeral, *others))
        if depth > _DEEPEST:
            return Reading(canonical(text))
        if "\\" in text and (box := _BOX.fullmatch(text)):
            return self.read(plain(box[1]), depth + 1)
        if assignment := _ASSIGNMENT.fullmatch(text):
            value = self.read(assignment[2].strip(), depth + 1)
            return Reading(
                canonical(text),
                others,
                name=_VARIABLE.sub("", canonical(assignment[1])),
                value=value,
            )
        brackets, parts = split(text)
        if brackets == "()" and len(parts) == 1:
            return self.read(parts[0], depth + 1)
        if brackets or len(parts) > 1:
            return Reading(
                canonical(text),
                others,
                tuple(self.read(part, depth + 1) for part in parts),
                brackets,
            )
        if "=" in text and not _INEQUALITY.search(text):
            value = self.read(text.rpartition("=")[2].strip(), depth + 1)
            return Reading(canonical(text), others, name=EQUATION, value=value)
        return Reading(canonical(text), others)


def _read_words(text: str) -> Numeral | None:
    """The number that a text says in words, with a unit of two words at most."""
    digits = in_digits(text)
    return read_numeral(digits) if digits and len(digits.split()) <= 3 else None


def split(text: str) -> tuple[str, list[str]]:
    """The brackets around the whole of a plain text, and the items that it lists.

    A comma between a digit and three digits is no separator where other commas are followed by a blank.

    >>> split("(1,000, 2,000]")
    ('(]', ['1,000', '2,000'])
    """
    brackets = text[:1] + text[-1:]
    if len(text) > 1 and brackets in _PAIRS and _closes_at_end(text):
        inside = text[1:-1]
    else:
        brackets, inside = "", text
    return brackets, [part for part in (part.strip() for part in _parts(inside)) if part]


def _parts(text: str) -> Iterator[str]:
    tokens = list(_top_level(text))
    tokens = [token for token in tokens if token["semicolon"]] or tokens
    spaced = any(token["spaced"] or token["semicolon"] for token in tokens)
    start = 0
    for token in tokens:
        at = token.start()
        groups = (
            token["comma"]
            and spaced
            and text[at - 1 : at].isdigit()
            and _THREE_DIGITS.match(text, token.end())
        )
        if not groups:
            yield text[start:at]
            start = token.end()
    yield text[start:]


def _top_level(text: str) -> Iterator[re.Match[str]]:
    """The separators and commas of a text that stand in no brackets."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
        elif depth == 0 and not token["skip"]:
            yield token


def _closes_at_end(text: str) -> bool:
    """Whether the bracket that opens a text is closed by its last character."""
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += bool(token["open"]) - bool(token["close"])
        if depth == 0:
            return token.end() == len(text)
    return False

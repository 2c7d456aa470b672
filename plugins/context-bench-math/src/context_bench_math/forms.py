"""Forms in which people write one thing in two ways: intervals and inequalities, ratios and fractions, "no solution"."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from context_bench_math.notation import canonical
from context_bench_math.numerals import read_numeral

_INFINITE = re.compile(r"\+?\\?(?:infty|infinity|inf|oo)")
_INTERVAL = re.compile(
    r"(?P<left>[(\[\]])(?P<low>[^,;()\[\]]+)[,;](?P<high>[^,;()\[\]]+)(?P<right>[)\]\[])"
)
_NAME = r"\\?[A-Za-z](?:_\{?\w+\}?)?|\|?[A-Za-z]\([A-Za-z]\)"
_RELATION = r"\\?(?:leq?|geq?|lt|gt)(?![A-Za-z])|[<>]=?"
_BETWEEN = re.compile(
    rf"(?P<low>[^<>=\\]+|-?\\infty)(?P<first>{_RELATION})\s*(?:{_NAME})\s*(?P<second>{_RELATION})\s*(?P<high>[^<>=]+)"
)
_ABOVE_OR_BELOW = re.compile(rf"(?:{_NAME})\s*(?P<relation>{_RELATION})\s*(?P<end>[^<>=]+)")
_IN = re.compile(rf"(?:{_NAME})\s*\\in(?![A-Za-z])\s*")
_RATIO = re.compile(r"(\d+(?:\.\d+)?)\s*(?::|to|\\colon)\s*(\d+(?:\.\d+)?)")
_IN_SO_MANY = re.compile(
    r"(?:(?:a\s+)?(?:chance|probability)\s+of\s+)?(\d+)\s+(?:in|out\s+of)\s+(\d[\d,]*)"
)
_TIME = re.compile(r"([01]?\d|2[0-3])\s*:\s*[0-5]\d")
_NONE = re.compile(
    r"(?:there\s+(?:is|are|exist\w*)\s+)?(?:no|zero)\s+(?:\w+\s+){0,2}(?:solutions?|roots?|values?|answers?)(?:\s+exists?)?|none"
    r"|\\emptyset|does\s+not\s+exist|\\?\{\s*\\?\}|(?:the\s+)?empty\s+set|no\s+such\s+\w+(?:\s+exists?)?|dne",
    re.IGNORECASE,
)


class _Interval(NamedTuple):
    """The ends of an interval as they are written, ``-oo`` and ``oo`` for none, and whether they belong to it."""

    low: str
    has_low: bool
    high: str
    has_high: bool


def same_form(reference: str, answer: str) -> bool | None:
    """Whether two plain texts of which one is in such a form mean the same; None where neither is, or the forms do not tell.

    >>> same_form("(-oo, 3]", "x <= 3"), same_form("3:4", "3 to 4"), same_form("1/4", "1 in 4")
    (True, True, True)
    >>> same_form("3:30", "1:10"), same_form("{}", "There is no solution")
    (False, True)
    """
    empty = [is_empty(text) for text in (reference, answer)]
    if all(empty):
        return True
    if any(empty):
        return None
    ratios = _ratio(reference), _ratio(answer)
    if any(_is_ratio(text) for text in (reference, answer)) and None not in ratios:
        return _same_ratio(reference, answer)
    return _same_interval(reference, answer)


def is_form(text: str) -> bool:
    """Whether a plain text is an answer in words: a ratio, "1 in 4", "no solution".

    >>> is_form("1 in 4"), is_form("no real solutions"), is_form("4")
    (True, True, False)
    """
    return _is_ratio(text) or is_empty(text)


def is_empty(text: str) -> bool:
    """Whether a plain text says that there is no solution."""
    return _NONE.fullmatch(text.strip()) is not None


def _is_ratio(text: str) -> bool:
    return (_RATIO.fullmatch(text) or _IN_SO_MANY.fullmatch(text)) is not None


def _same_ratio(reference: str, answer: str) -> bool:
    """Compare ratios by value; two times of day are compared by hour and minute."""
    if _TIME.fullmatch(reference) and _TIME.fullmatch(answer):
        return _clock(reference) == _clock(answer)
    return _ratio(reference) == _ratio(answer)


def _clock(text: str) -> list[int]:
    return [int(part) for part in text.split(":")]


def _ratio(text: str) -> Fraction | None:
    match = _RATIO.fullmatch(text) or _IN_SO_MANY.fullmatch(text)
    if match:
        below = Fraction(match[2].replace(",", ""))
        return Fraction(match[1]) / below if below else None
    numeral = read_numeral(text)
    is_plain = numeral is not None and not numeral.unit and not numeral.is_percent
    return Fraction(numeral.value) if numeral and is_plain else None


def _same_interval(reference: str, answer: str) -> bool | None:
    left, right = _interval(reference), _interval(answer)
    if left is None or right is None:
        return None
    is_written = [
        _INTERVAL.fullmatch(_IN.sub("", text)) is not None for text in (reference, answer)
    ]
    if all(is_written):
        return None  # two pairs in brackets: points, or intervals, which are compared as lists
    return left == right


def _interval(text: str) -> _Interval | None:
    text = _IN.sub("", text.strip())
    if match := _INTERVAL.fullmatch(text):
        return _Interval(
            _end(match["low"]), match["left"] == "[", _end(match["high"]), match["right"] == "]"
        )
    if match := _BETWEEN.fullmatch(text):
        return _between(match)
    if match := _ABOVE_OR_BELOW.fullmatch(text):
        end = _end(match["end"])
        if _is_above(match["relation"]):
            return _Interval(end, _is_closed(match["relation"]), "oo", has_high=False)
        return _Interval("-oo", False, end, _is_closed(match["relation"]))
    return None


def _between(match: re.Match[str]) -> _Interval | None:
    if _is_above(match["first"]) != _is_above(match["second"]):
        return None
    ends = (
        (_end(match["low"]), _is_closed(match["first"])),
        (_end(match["high"]), _is_closed(match["second"])),
    )
    low, high = reversed(ends) if _is_above(match["first"]) else ends
    return _Interval(low[0], low[1], high[0], high[1])


def _is_above(relation: str) -> bool:
    return relation.lstrip("\\")[0] in "g>"


def _is_closed(relation: str) -> bool:
    return "e" in relation or "=" in relation


def _end(text: str) -> str:
    text = canonical(text.strip())
    sign = "-" if text.startswith("-") else ""
    if _INFINITE.fullmatch(text.lstrip("-")):
        return f"{sign}oo"
    numeral = read_numeral(text)
    return str(Fraction(numeral.value)) if numeral and not numeral.unit else text

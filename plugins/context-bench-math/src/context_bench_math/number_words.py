"""Numbers in English words: ``three``, ``twenty-one``, ``one hundred and five``, ``minus two``."""

from __future__ import annotations

import re

_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL_VALUES = {word: value for value, word in enumerate(_SMALL)}
_TENS_VALUES = {word: 20 + 10 * place for place, word in enumerate(_TENS)}
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD = re.compile(r"[a-z]+")
_LONGEST = 200


def in_digits(text: str) -> str | None:
    """Return a text that begins with a number in words with that number in digits, or ``None``.

    >>> in_digits("Twenty-one"), in_digits("one hundred and five dollars"), in_digits("minus two")
    ('21', '105 dollars', '-2')
    >>> in_digits("one two"), in_digits("threefold"), in_digits("and one")
    (None, None, None)
    """
    if len(text) > _LONGEST or not text[:1].isalpha():
        return None
    words = [(match[0], match.end()) for match in _WORD.finditer(text.lower())]
    sign = ""
    if words and words[0][0] in ("minus", "negative"):
        sign = "-"
        words = words[1:]
    count, value = _number([word for word, _ in words])
    if count == 0:
        return None
    rest = text[words[count - 1][1] :]
    if rest[:1] not in ("", " "):
        return None
    return f"{sign}{value}{rest}" if _may_follow(rest) else None


def _may_follow(rest: str) -> bool:
    """Whether a text behind a number does not go on counting: "one two" is no number."""
    following = _WORD.findall(rest.lower())[:1]
    return not following or not (_is_counted(following[0]) or following[0] in ("half", "point"))


def _is_counted(word: str) -> bool:
    return word in _SMALL_VALUES or word in _TENS_VALUES or word in _SCALES or word == "hundred"


def _number(words: list[str]) -> tuple[int, int]:
    """How many of the words make a number, and the number."""
    total = 0  # what the scales before have closed
    group = 0  # what is below a thousand
    used = 0
    lowest = 10**12  # the last scale: the next one must be smaller
    place = 0
    room = 1000  # the next word of the group must be below this
    while place < len(words):
        word = words[place]
        if word == "and" and used == place and place and place + 1 < len(words):
            if not _is_counted(words[place + 1]) or room > 100:
                break
        elif word in _SMALL_VALUES and _SMALL_VALUES[word] < room and (word != "zero" or not used):
            group += _SMALL_VALUES[word]
            room = 0
            used = place + 1
        elif word in _TENS_VALUES and room >= 100:
            group += _TENS_VALUES[word]
            room = 10
            used = place + 1
        elif word == "hundred" and 0 < group < 10:
            group *= 100
            room = 100
            used = place + 1
        elif word in _SCALES and group and _SCALES[word] < lowest:
            total += group * _SCALES[word]
            lowest = _SCALES[word]
            group = 0
            room = 100 if place + 1 < len(words) and words[place + 1] == "and" else 1000
            used = place + 1
        else:
            break
        place += 1
    return used, total + group

"""Reading the options: numbers and lists of them, as Python objects or as text from a command line or a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

Numbers = int | float | str | Iterable[int | float | str]
"""A number, several, or a text such as ``"1k/4k/16k"``."""

DEFAULT_LENGTH = 4000
_SUFFIXES = {"": 1, "k": 1_000, "m": 1_000_000}


def whole(option: str, value: object) -> int | None:
    """Return a whole number; ``None`` stays ``None``.

    Raises:
        TypeError: It is no number.
        ValueError: It is text that is no whole number.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        if re.fullmatch(r"\s*[+-]?[0-9]+\s*", value):
            return int(value)
        raise ValueError(f"needle: {option} is {value!r}, and a whole number is needed.")
    raise TypeError(f"needle: {option} is {value!r}, and a whole number is needed.")


def lengths(length: int | str | None, several: Numbers | None) -> list[int]:
    """Return the lengths asked for, each once, in their order."""
    if length is not None and several is not None:
        raise ValueError("needle: both length and lengths are given; give one of them.")
    if several is None:
        return [_length("length", DEFAULT_LENGTH if length is None else length)]
    asked = list(dict.fromkeys(_length("lengths", item) for item in _items(several)))
    if not asked:
        raise ValueError("needle: lengths is empty; give at least one, such as 4000.")
    return asked


def depths(depth: Numbers | None) -> list[float] | None:
    """Return the depths in percent, or ``None`` for uniform ones."""
    items = ["uniform"] if depth is None else _items(depth)
    if items == ["uniform"]:
        return None
    if not items:
        raise ValueError("needle: depth is empty; give a percentage, several, or 'uniform'.")
    return [_percent(item) for item in items]


def _items(value: Numbers) -> list[int | float | str]:
    """Return single items; texts are split at white space, commas and slashes."""
    items: list[int | float | str] = []
    for item in (value,) if isinstance(value, (int, float, str)) else value:
        items += (
            [part for part in re.split(r"[\s,/]+", item) if part]
            if isinstance(item, str)
            else [item]
        )
    return items


def _length(option: str, value: object) -> int:
    if isinstance(value, str):
        found = re.fullmatch(r"([0-9]+)([kKmM]?)", value.strip())
        if not found:
            raise ValueError(
                f"needle: {option} has {value!r}, and a number of tokens is needed, such as 4000 or 16k."
            )
        return int(found[1]) * _SUFFIXES[found[2].lower()]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value % 1:
        raise TypeError(f"needle: {option} has {value!r}, and a whole number of tokens is needed.")
    if value < 1:
        raise ValueError(f"needle: {option} has {value}, and a context has at least one token.")
    return int(value)


def _percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"needle: depth has {value!r}, and a percentage from 0 to 100 is needed.")
    try:
        number = float(value.strip().rstrip("%") if isinstance(value, str) else value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise ValueError(
            f"needle: depth has {value!r}, and a percentage from 0 to 100, or 'uniform', is needed."
        )
    return round(number, 4) + 0.0

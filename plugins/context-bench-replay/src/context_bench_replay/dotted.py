"""Dotted paths into a record: ``choices.0.message.content``."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any


def find(record: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path.

    Levels are separated by dots; a whole number is a place in an array, counted from 0, or from the end when negative.
    A key that itself has dots in it wins over the levels, as tables that were flattened have such columns.

    Raises:
        LookupError: Nothing stands there. The message says where the path ended and what there is, as the second half
            of a sentence.

    >>> find({"choices": [{"text": "Paris"}]}, "choices.0.text")
    'Paris'
    """
    value: Any = record
    parts = path.split(".")
    for depth, part in enumerate(parts):
        rest = ".".join(parts[depth:])
        if isinstance(value, Mapping) and rest in value:
            return value[rest]
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif _is_place(value, part):
            value = value[int(part)]
        else:
            raise MissingFieldError(value, ".".join(parts[:depth]), part)
    return value


class MissingFieldError(LookupError):
    """Nothing stands at a path. What there is instead is only looked for when somebody reads it: most rows of most
    recordings lack a field that may be there."""

    def __str__(self) -> str:
        return _explain(*self.args)


def kind_of(value: object) -> str:
    """Return what a value is, in the words of JSON, with its keys or its length."""
    if isinstance(value, Mapping):
        return f"an object of {_names(value)}" if value else "an empty object"
    if isinstance(value, list | tuple):
        return f"an array of {len(value)}" if value else "an empty array"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"the {'text' if isinstance(value, str) else type(value).__name__} {str(value)[:40]!r}"


def _is_place(value: object, part: str) -> bool:
    digits = part.removeprefix("-")
    if not (
        isinstance(value, list | tuple)
        and digits.isascii()
        and digits.isdigit()
        and len(digits) < 10
    ):
        return False
    return -len(value) <= int(part) < len(value)


def _explain(value: object, reached: str, part: str) -> str:
    if isinstance(value, Mapping):
        close = get_close_matches(part, [str(key) for key in value], n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        place = f" in {reached!r}" if reached else ""
        return f"there is no {part!r}{place}. There is: {_names(value) or 'nothing'}.{hint}"
    return f"there is no {part!r} in {reached!r}, which is {kind_of(value)}."


def _names(value: Mapping[str, Any]) -> str:
    names = [str(key) for key in value]
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")

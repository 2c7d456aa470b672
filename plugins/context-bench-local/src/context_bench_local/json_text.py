"""JSON text as Python values, with faults that a person can find in the file."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any


class BadNumberError(ValueError):
    """A JSON text holds a number that cannot be kept.

    Attributes:
        fault: Line, column and what stands there.
    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name}, {fault}")
        self.fault = fault


def parse_json(text: str, name: str, first_line: int = 1) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The JSON text.
        name: The file, for messages.
        first_line: Line of the file that the text begins on.

    Raises:
        ValueError: The text is no JSON, or holds a number that Python cannot: one beyond the largest float, which would
            become infinity, or of thousands of digits. The message names file, line and column, with what stands there.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        fault = f"{error.msg.removesuffix('.')}, at {excerpt(text, error.pos)}."
        raise ValueError(f"{name}, {_place(text, error.pos, first_line)}: {fault}") from None
    except RecursionError:
        raise ValueError(
            f"{name}, line {first_line}: the value is nested too deeply to be read."
        ) from None
    except ValueError:
        fault, position = _bad_number(text)
        place = _place(text, position, first_line)
        raise BadNumberError(name, f"{place}: {fault}, at {excerpt(text, position)}.") from None


class RepeatedNames(dict[str, Any]):
    """An object in which a name stands more than once; as everywhere in Python, the last value counts.

    Attributes:
        names: The names.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.names = [name for name, count in counts.items() if count > 1]


def check_columns(row: dict[str, Any], place: str) -> None:
    """Refuse a row that has a column twice, of which one value would be lost.

    Args:
        row: The row.
        place: File and place in it, for messages.

    Raises:
        ValueError: A column stands there more than once.
    """
    if isinstance(row, RepeatedNames):
        shown = ", ".join(map(repr, row.names))
        raise ValueError(f"{place}: the row has more than one column {shown}; rename them.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else RepeatedNames(pairs)


def _place(text: str, position: int, first_line: int) -> str:
    line = first_line + text.count("\n", 0, position)
    return f"line {line}, column {position - text.rfind(chr(10), 0, position)}"


def _bad_number(text: str) -> tuple[str, int]:
    """Return what is wrong with the first number of a text that cannot be kept, and where it stands.

    The decoder stops at it without saying where; what stands before it is JSON, so strings are told from numbers by their quotes.
    """
    for match in _STRING_OR_NUMBER.finditer(text):
        shown = (
            match[0] if len(match[0]) <= 24 else f"{match[0][:8]}… of {len(match[0])} characters"
        )
        if match[0].endswith(("NaN", "Infinity")):
            return f"{shown} is no JSON value; write null, or leave the column out", match.start()
        try:
            _DECODER.decode(match[0])
        except ValueError:
            return (
                f"{shown} is a number too large to be kept; write it as a text, or null",
                match.start(),
            )
    raise AssertionError("the decoder refused a number")


def excerpt(text: str, position: int) -> str:
    """Return what stands around a position, on one line and with special characters escaped."""
    start, end = max(0, position - 30), position + 30
    cut = f"{'…' if start else ''}{text[start:position]}⟶{text[position:end]}{'…' if end < len(text) else ''}"
    return repr(cut) if text else "the end of an empty text"


def kind_of(value: object) -> str:
    """Return what JSON calls a value, with its article."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(number)
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)
_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity|-?[0-9][0-9.eE+-]*')

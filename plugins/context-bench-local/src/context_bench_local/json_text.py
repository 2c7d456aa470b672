"""JSON text as Python values, with faults that a person can find in the file."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str, name: str, first_line: int = 1) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The JSON text.
        name: The file, for messages.
        first_line: Line of the file that the text begins on.

    Raises:
        ValueError: The text is no JSON. The message names file, line and column, with what stands there.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        fault = f"{error.msg.removesuffix('.')}, at {excerpt(text, error.pos)}."
        raise ValueError(f"{name}, line {line}, column {error.colno}: {fault}") from None
    except RecursionError:
        raise ValueError(f"{name}, line {first_line}: the value is nested too deeply to be read.") from None
    except ValueError as error:  # NaN; a number of thousands of digits
        raise ValueError(f"{name}, line {first_line}: {error}") from None


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
    raise ValueError(f"{constant} is no JSON value. Write null, or leave the column out.")


_DECODER = json.JSONDecoder(parse_constant=_refuse)

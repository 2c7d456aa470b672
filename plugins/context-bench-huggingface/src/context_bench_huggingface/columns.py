"""What the columns of a record hold: texts, lists of texts, an id; one that holds something else is told by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from context_bench_huggingface.row import Row


def text_in(record: Mapping[str, Any], name: str, *, blank: bool = False) -> str:
    """Return the text of a column.

    Args:
        record: The record.
        name: The column.
        blank: Whether it may hold nothing but white space, as a document may, and a question may not.

    Raises:
        KeyError: There is no such column.
        TypeError: It holds no text.
        ValueError: It is blank.
    """
    value = record[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is {_kind(value)} and no text")
    if not blank and not value.strip():
        raise ValueError(f"{name} is blank")
    return value


def texts_in(record: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a column that holds a list of them; none where it is null or not there.

    Raises:
        TypeError: It holds no list, or a list of something else; the letters of a text are no list.
    """
    return texts_of(record.get(name), name)


def texts_of(values: Any, name: str) -> list[str]:
    """Return the texts of a list; null and a blank cell are an empty one, and what is null in it is left out.

    Raises:
        TypeError: It is no list, or a list of something else.

    >>> texts_of(["Ann", None, 7], "answers"), texts_of(None, "answers")
    (['Ann', '7'], [])
    """
    if values is None or values == "":
        return []
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {_kind(values)} and no list of texts")
    found = (text_of(value, f"an item of {name}") for value in values)
    return [text for text in found if text is not None]


def text_of(value: Any, name: str) -> str | None:
    """Return a value as the text that it is written as; None where there is none: null, and the NaN of a column of numbers.

    A whole number is written without a point, which it has in a column with gaps.

    Raises:
        TypeError: It is neither text nor number.

    >>> text_of("Ann", "answer"), text_of(1990.0, "answer"), text_of(True, "answer"), text_of(float("nan"), "answer")
    ('Ann', '1990', 'True', None)
    """
    if value is None or value != value:
        return None
    if not isinstance(value, str | int | float) or value in (float("inf"), float("-inf")):
        raise TypeError(f"{name} is {_kind(value)} and no text")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value)


def identity_of(record: Mapping[str, Any], row: Row, *names: str) -> str | int:
    """Return the id that the first column which has one holds, else the place of the record.

    Raises:
        TypeError: It is neither text nor number.
    """
    for name in names:
        value = record.get(name)
        text = text_of(value, name)
        if text is not None and text.strip():
            return (
                value
                if isinstance(value, str)
                else int(text)
                if text.lstrip("-").isdecimal()
                else text
            )
    return row.number


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return "a text" if isinstance(value, str) else f"the {type(value).__name__} {value!r:.40}"

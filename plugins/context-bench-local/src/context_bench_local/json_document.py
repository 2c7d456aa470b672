"""A JSON document: an array of objects, or an object that holds one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from context_bench_local.json_text import (
    BadNumberError,
    RepeatedNames,
    check_columns,
    kind_of,
    parse_json,
)
from context_bench_local.record import Record
from context_bench_local.source import Source
from context_bench_local.text import read_lines


def read_json(
    source: Source, *, key: str | None = None, index: str | None = None
) -> Iterator[Record]:
    """Yield a record for every object of the array; the document is read whole.

    The cases of a test suite that arthur_bench exported have ``question`` and ``answer`` too.

    Args:
        source: The file.
        key: Where the array stands, levels separated by dots. By default the document is the array, or an object with
            exactly one array of objects in it.
        index: The rows stand in an object, by key; the keys go into this column.

    Raises:
        ValueError: The document is no JSON, or its rows are not where they should be.
    """
    text = "".join(read_lines(source, newline="\n"))
    try:
        document = _parse(text, source.name)
    except BadNumberError as error:
        raise ValueError(
            f"{source.name}{_item_of_bad_number(text, key, index)}, {error.fault}"
        ) from None
    is_suite = key is None and index is None and _is_arthur_suite(document)
    for number, row in enumerate(_rows_in(document, key, index, source.name), start=1):
        if not isinstance(row, dict):
            raise ValueError(
                f"{source.name}, item {number}: a row must be an object and not {kind_of(row)}."
            )
        check_columns(row, f"{source.name}, item {number}")
        yield Record(f"item {number}", _with_our_names(row) if is_suite else row)


def _is_arthur_suite(document: Any) -> bool:
    """Whether a document is a test suite that arthur_bench exported."""
    return isinstance(document, dict) and {"scoring_method", "test_cases"} <= document.keys()


def _with_our_names(row: dict[str, Any]) -> dict[str, Any]:
    """Return a test case with its input as ``question`` and its reference as ``answer`` beside its own columns."""
    named = {"question": row.get("input"), "answer": row.get("reference_output")}
    return {**{name: value for name, value in named.items() if value is not None}, **row}


def _rows_in(document: Any, key: str | None, index: str | None, name: str) -> Iterable[Any]:
    if key is not None:
        document = _descend(document, key, name)
    elif index is None:
        document = _only_array(document, name)
    return _rows(document, name) if index is None else _indexed(document, index, name)


def _item_of_bad_number(text: str, key: str | None, index: str | None) -> str:
    """Return which row holds the number that cannot be kept, as Python would read it; nothing where no row does."""
    try:
        for number, row in enumerate(_rows_in(json.loads(text), key, index, ""), start=1):
            if not _can_be_written(row):
                return f", item {number}"
    except (
        ValueError,
        RecursionError,
    ):  # the rows are not where they should be, or a number has thousands of digits
        pass
    return ""


def _can_be_written(row: Any) -> bool:
    try:
        json.dumps(row, allow_nan=False)
    except ValueError:
        return False
    return True


def _parse(text: str, name: str) -> Any:
    try:
        return parse_json(text, name)
    except BadNumberError:
        raise
    except ValueError as error:
        lines = text.lstrip().startswith("{") and ": Extra data" in str(error)
        raise ValueError(
            f"{error}{' If every line is an object, pass `format=jsonl`.' if lines else ''}"
        ) from None


def _descend(document: Any, key: str, name: str) -> Any:
    literal = isinstance(document, dict) and key in document
    value = document
    for part in [key] if literal else key.split("."):
        if isinstance(value, RepeatedNames) and part in value.names:
            raise ValueError(f"{name}: `key={key}` finds more than one {part!r}; rename them.")
        if not isinstance(value, dict) or part not in value:
            raise ValueError(
                f"{name}: `key={key}` finds nothing at {part!r}: there is {_describe(value)}."
            )
        value = value[part]
    return value


def _only_array(document: Any, name: str) -> Any:
    if not isinstance(document, dict):
        return document
    arrays = [each for each, value in document.items() if isinstance(value, list)]
    filled = [each for each in arrays if document[each] and all(map(_is_row, document[each]))]
    if len(filled) == 1:
        return _descend(document, filled[0], name)
    if filled:
        shown = ", ".join(filled[:8]) + (", …" if len(filled) > 8 else "")
        raise ValueError(
            f"{name}: several keys hold an array of objects: {shown}. Choose one with `key`."
        )
    if len(arrays) == 1 and not document[arrays[0]]:
        return []
    raise ValueError(
        f"{name}: no key holds an array of objects; there is {_describe(document)}.{_advice(document)}"
    )


def _advice(document: Mapping[str, Any]) -> str:
    if document and all(map(_is_row, document.values())):
        return " For rows by key, pass `index` with the name of the column for the keys, such as `index=id`."
    if document and all(isinstance(value, list) for value in document.values()):
        return " Columns are not read: write an array with one object a row."
    return " Say where the rows are with `key`, such as `key=result.items`."


def _rows(value: Any, name: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise ValueError(
        f"{name}: the rows must be an array of objects, and there is {_describe(value)}."
    )


def _indexed(value: Any, index: str, name: str) -> Iterator[Any]:
    if not isinstance(value, dict):
        raise ValueError(
            f"{name}: `index={index}` needs an object of rows by key, and there is {_describe(value)}."
        )
    if isinstance(value, RepeatedNames):
        raise ValueError(
            f"{name}: there is more than one row {', '.join(map(repr, value.names))}; rename them."
        )
    for each, row in value.items():
        if not isinstance(row, dict):
            raise ValueError(
                f"{name}: `index={index}` needs objects by key, and {each!r} holds {kind_of(row)}."
            )
        if index in row:
            raise ValueError(
                f"{name}: the row {each!r} has a column {index!r}; choose another name for `index`."
            )
        check_columns(row, f"{name}, row {each!r}")
        yield {index: each, **row}


def _is_row(value: object) -> bool:
    return isinstance(value, dict)


def _describe(value: object) -> str:
    if not isinstance(value, dict) or not value:
        return kind_of(value)
    shown = [f"{key} ({kind_of(inner).split()[-1]})" for key, inner in list(value.items())[:8]]
    return f"an object of {', '.join(shown)}{', …' if len(value) > 8 else ''}"

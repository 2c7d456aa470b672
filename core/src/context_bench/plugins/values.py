"""Types of values: what the options of components and the parameters of a run accept, and how a
text becomes a value."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from datetime import date, time
from math import inf, isfinite
from sys import maxsize
from typing import Any

from attrs import Factory, frozen

from context_bench.errors import UnknownNameError
from context_bench.redaction import bad_value

Reader = Callable[[Any, str], Any]
"""Returns a value, given what was written and what errors call it; raises ConfigurationError where
it is not of the type."""


def unchanged(value: Any, *_: object) -> Any:
    """Return the value."""
    return value


@frozen
class ValueType:
    """A type of values.

    Attributes:
        name: What the reference pages call it.
        check: Returns a value that Python code or TOML gave.
        of_text: Returns the value of a text, which a flag, a spec, ``--set`` or the environment
            gave; None where no text can express one.
        of_file: Returns the value that TOML gave; ``check`` unless it is set.
        stored: Returns a value as JSON-like values without secrets, ``(value, catalog)``.
        restored: Returns the value that ``stored`` wrote.
        is_repeated: Whether its flag can be given several times; then ``of_text`` takes all texts.
        is_switch: Whether its flag takes no value.
        python: Its type in the signature of ``evaluate()``.
        schema: JSON Schema of its values in TOML.
    """

    name: str
    check: Reader
    of_text: Reader | None = None
    of_file: Reader = Factory(lambda self: self.check, takes_self=True)
    stored: Callable[[Any, Any], Any] = unchanged
    restored: Callable[[Any], Any] = unchanged
    is_repeated: bool = False
    is_switch: bool = False
    python: str = "Any"
    schema: Mapping[str, Any] = Factory(dict)

    def read(self, value: Any, where: str) -> Any:
        """Return the value of what was given, be it a text or a value.

        Raises:
            ConfigurationError: It is not of this type.
        """
        if isinstance(value, str) and self.of_text is not None:
            return self.of_text(value, where)
        return self.check(value, where)


def require(
    is_valid: Callable[[Any], bool],
    expected: str,
    convert: Callable[[Any], Any] = unchanged,
) -> Reader:
    """Return a function that checks a value and raises ``BadValueError`` for an invalid one.

    Args:
        is_valid: Whether a value is valid.
        expected: What the error calls a valid value.
        convert: Returns what is stored of a valid value.
    """

    def check(value: Any, where: str) -> Any:
        if not is_valid(value):
            raise bad_value(where, expected, value)
        return convert(value)

    return check


def converted(convert: Callable[[Any], Any], expected: str) -> Reader:
    """Return a function that converts a value, and raises ``BadValueError`` where that raises an
    error of its value."""

    def read(value: Any, where: str) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError, OverflowError):
            raise bad_value(where, expected, value) from None

    return read


def is_text(value: object) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_number(value: object) -> bool:
    """Return whether a value is a number; true is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text(*choices: str, about: str = "value") -> ValueType:
    """Return the type of texts, of some choices where there are any."""
    check_text = require(is_text, "a text")

    def check(value: Any, where: str) -> Any:
        check_text(value, where)
        if choices and value not in choices:
            raise UnknownNameError(about, value, choices)
        return value

    schema: dict[str, Any] = {"type": "string"}
    if choices:
        schema["enum"] = list(choices)
    return ValueType("str", check, check, python="str", schema=schema)


def path() -> ValueType:
    """Return the type of paths."""
    check = require(
        lambda value: isinstance(value, str | bytes | os.PathLike) and value not in ("", b""),
        "a path",
        os.fsdecode,
    )
    return ValueType(
        "path",
        check,
        check,
        python="str | os.PathLike[str]",
        schema={"type": "string", "minLength": 1},
    )


def whole(least: int | None = 1) -> ValueType:
    """Return the type of integers, positive unless a minimum is given."""
    expected = "a positive integer" if least == 1 else "an integer"

    def convert(value: Any) -> int:
        if isinstance(value, bool):
            raise TypeError(value)
        number = operator.index(value)
        if least is None:
            return number
        if number < least:
            raise ValueError(number)
        return min(number, maxsize)  # which nothing ever counts up to

    check = converted(convert, expected)
    parse = converted(lambda value: convert(int(value.replace("_", ""))), expected)
    schema: dict[str, Any] = {"type": "integer"}
    if least is not None:
        schema["minimum"] = least
    return ValueType("int", check, parse, python="int", schema=schema)


def number(least: float = 5e-324) -> ValueType:
    """Return the type of finite numbers, above zero unless said otherwise."""
    expected = "a number"
    if least == -inf:
        expected = "a finite number"
    elif 0 < least < 1e-9:
        expected = "a number above zero"
    elif least > 0:
        expected = f"a number, {least:g} at least"

    def convert(value: Any) -> Any:
        if isinstance(value, bool | str) or not isfinite(value) or value < least:
            raise ValueError(value)
        return value

    check = converted(convert, expected)
    parse = converted(lambda value: convert(float(value)), expected)
    schema: dict[str, Any] = {"type": "number"}
    if 0 < least < 1e-9:
        schema["exclusiveMinimum"] = 0
    elif least != -inf:
        schema["minimum"] = least
    return ValueType("number", check, parse, python="float", schema=schema)


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
_BOOLEANS.update({"false": False, "no": False, "off": False, "0": False})


def switch() -> ValueType:
    """Return the type of what is true or false."""
    check = require(lambda value: isinstance(value, bool), "true or false")

    def parse(value: str, where: str) -> Any:
        return check(_BOOLEANS.get(value.lower(), value), where)

    return ValueType(
        "bool", check, parse, is_switch=True, python="bool", schema={"type": "boolean"}
    )


def _text_or_number(value: object) -> str:
    if not isinstance(value, str) and not is_number(value):
        raise TypeError(value)
    return str(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isfinite(value):
        raise ValueError(value)
    return float(value)


def _items(value: object) -> list[Any]:
    if isinstance(value, str):
        return [_number_or_text(part) for part in value.split("/")]
    if is_number(value):
        return [value]
    if not isinstance(value, list | tuple):
        raise TypeError(value)
    return list(value)


def _number_or_text(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _words(value: object) -> list[str]:
    """Return the arguments of a program; a text is split at white space outside of quotes, and
    nothing is expanded."""
    if not isinstance(value, str):
        if not isinstance(value, list | tuple) or not all(map(is_text, value)):
            raise TypeError(value)
        return list(value)
    import shlex

    words = shlex.shlex(value, posix=True, punctuation_chars=False)
    words.whitespace_split = True
    words.commenters = ""
    if os.sep == "\\":
        words.escape = ""  # a path keeps its backslashes
    return list(words)


def _tables(value: object) -> list[dict[str, Any]]:
    tables = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(table, Mapping) for table in tables):
        raise TypeError(value)
    return [_plain(table) for table in tables]


def _plain(value: object) -> Any:
    """Return a TOML value as JSON can hold it: dates as ISO 8601."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date | time) else value


def _option_type(
    name: str,
    convert: Callable[[Any], Any],
    expected: str,
    schema: Mapping[str, Any],
    parse: Callable[[Any], Any] | None = None,
) -> ValueType:
    return ValueType(
        name,
        converted(convert, expected),
        converted(parse or convert, expected),
        schema=schema,
    )


OPTION_TYPES: dict[str, ValueType] = {
    "str": _option_type("str", _text_or_number, "a text", {"type": ["string", "number"]}),
    "int": whole(None),
    "float": _option_type(
        "float",
        _real,
        "a finite number",
        {"type": "number"},
        lambda text: _real(float(text)),
    ),
    "bool": switch(),
    "path": _option_type(
        "path", lambda value: _text_or_number(os.fspath(value)), "a path", {"type": "string"}
    ),
    "list": _option_type(
        "list",
        _items,
        "a list (a/b/c on the command line)",
        {"type": ["array", "string", "number"]},
    ),
    "words": _option_type(
        "words",
        _words,
        "a list of texts, or one text with white space between them",
        {"type": ["array", "string"], "items": {"type": "string"}},
    ),
    "tables": _option_type(
        "tables",
        _tables,
        "a table, or the path of a TOML file with one",
        {"type": ["object", "array", "string"], "items": {"type": ["object", "string"]}},
    ),
}
"""The types of options, by the name that a manifest uses."""

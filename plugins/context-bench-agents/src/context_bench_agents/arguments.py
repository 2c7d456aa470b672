"""BFCL's type rules: whether an argument has the type that its function describes, and one of the accepted values.

After ``ast_checker.py`` of bfcl-eval, for functions described in Python's types. ``True`` and ``5.0`` are no whole
numbers, and a whole number is accepted for a real one. An argument of another type than described is a variable where the
accepted values are of its type, and has to equal one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_agents.foreign import TYPES, converted

_LISTS = ("array", "tuple", "Array", "ArrayList")
_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


def is_described(parameter: Any, language: str = "python") -> bool:
    """Return whether a parameter is described in BFCL's types of a language."""
    types = _types(language)
    if not isinstance(parameter, Mapping) or parameter.get("type") not in types:
        return False
    return parameter["type"] not in _LISTS or _inner(parameter) in types


def is_accepted(
    value: Any, answers: Sequence[Any], parameter: Mapping[str, Any], language: str = "python"
) -> bool:
    """Return whether a value is one of the accepted ones, by the type that its parameter is described with.

    >>> [is_accepted(value, [5, ""], {"type": "integer"}) for value in (5, 5.0, "5", True)]
    [True, False, False, False]
    >>> is_accepted("New York, ny", ["New York NY"], {"type": "string"}), is_accepted(5, [5.0], {"type": "float"})
    (True, True)
    >>> is_accepted("5L", [5], {"type": "long"}, "java")
    True
    """
    described, types = parameter["type"], _types(language)
    expected, inner = (
        types[described],
        types[str(_inner(parameter))] if described in _LISTS else None,
    )
    if language != "python":
        if not isinstance(value, str):
            return False
        value = converted(value, described, _inner(parameter), language)
    given = type(value)
    if described == "tuple" and given is tuple:
        value, given = list(value), list
    if language == "python" and described == "float" and given is int:
        value, given = float(value), float
    of_answers = _type_of(answers)
    if given is expected:
        if inner and not any(_all_of(inner, value, answer) for answer in answers):
            return False
    elif of_answers is None or given is not of_answers:
        return False
    if of_answers not in (None, expected):
        return value in answers
    if expected is dict:
        return any(_same_table(value, answer) for answer in answers if answer != "")
    if inner is dict:
        return any(_same_tables(value, answer) for answer in answers)
    if expected is str:
        return standard(value) in [
            standard(answer) for answer in answers if isinstance(answer, str)
        ]
    if expected is list:
        return _standards(value) in [_standards(answer) for answer in answers]
    return value in answers


def standard(value: Any) -> Any:
    """Return a text as BFCL compares it: without case, spaces and ``,./-_*^``, with one kind of quotation marks.

    >>> standard("April 1, 2024"), standard(5)
    ('april12024', 5)
    """
    return (
        re.sub(r"[ \,\.\/\-\_\*\^]", "", value).lower().replace("'", '"')
        if isinstance(value, str)
        else value
    )


def _types(language: str) -> Mapping[str, type]:
    return TYPES.get(language, _TYPES)


def _inner(parameter: Mapping[str, Any]) -> str | None:
    items = parameter.get("items")
    return str(items.get("type")) if isinstance(items, Mapping) else None


def _type_of(answers: Any) -> type | None:
    """Return the type of the first accepted value; None where they say only that the argument may be left out."""
    return next((type(answer) for answer in answers if answer != ""), None)


def _all_of(inner: type, values: Sequence[Any], answer: Any) -> bool:
    """Whether all values of a list have the type that is described, or that of an accepted list's first value."""
    return not isinstance(answer, list) or all(
        type(value) in (inner, _type_of(answer)) for value in values
    )


def _standards(values: Any) -> list[Any]:
    return (
        [standard(value) for value in values]
        if isinstance(values, list | tuple | str)
        else [values]
    )


def _same_table(given: Any, answer: Any) -> bool:
    """Whether a table has keys of an accepted one alone, each with an accepted value, and all that may not be left out."""
    if not isinstance(given, Mapping) or not isinstance(answer, Mapping):
        return False
    if any(
        key not in answer or standard(value) not in _standards(answer[key])
        for key, value in given.items()
    ):
        return False
    return all(key in given or "" in values for key, values in answer.items())


def _same_tables(given: Sequence[Any], answer: Any) -> bool:
    return len(given) == len(answer) and all(map(_same_table, given, answer))

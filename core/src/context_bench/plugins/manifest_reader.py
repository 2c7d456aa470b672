"""Reading: a TOML table becomes a frozen class, and each fault keeps the path of its key.

The annotations of a class are the types of its keys, and :func:`entry` adds what an annotation cannot express. Both are data, so
that a JSON Schema can be made from a class. The module of such a class evaluates its annotations, that is, it does not postpone
them: to evaluate them later takes 15 ms for all manifests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

import attrs

from context_bench.errors import did_you_mean

T = TypeVar("T")

MISSING = "missing"
WRONG_TYPE = "wrong-type"
BAD_VALUE = "bad-value"
BAD_NAME = "bad-name"
UNKNOWN_KEY = "unknown-key"
CONTRADICTION = "contradiction"


class Pattern(NamedTuple):
    """What a text looks like.

    Attributes:
        regex: Regular expression of the whole text.
        expected: What it describes, for messages.
    """

    regex: str
    expected: str


@attrs.frozen
class Entry:
    """What the annotation of a field cannot express.

    Attributes:
        name: The key in the table; None takes the name of the field.
        required: Whether the table must have it.
        choices: The only texts allowed; empty when any is.
        pattern: What a text looks like.
        minimum: The smallest number allowed.
        names: What the names look like, for a table with any names.
        multiline: Whether a text may have line breaks.
        read: Returns the value where its type in TOML is another one; raises ValueError with what is wrong.
        in_table: Whether the table has the key; a field that has none takes the name of the table.
        from_name: Whether the name of the table is the default.
    """

    name: str | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    pattern: Pattern | None = None
    minimum: float | None = None
    names: Pattern | None = None
    multiline: bool = False
    read: Callable[[Any], Any] | None = None
    in_table: bool = True
    from_name: bool = False


def entry(default: T, **details: Any) -> T:
    """Return a field of a class that :func:`read_table` reads; ``details`` are those of :class:`Entry`."""
    declared: T = attrs.field(default=default, metadata={Entry: Entry(**details)})
    return declared


def table_name() -> str:
    """Return a field that takes the name of its table."""
    return entry("", in_table=False, from_name=True)


@attrs.frozen
class Fault:
    """What is wrong with a key.

    Attributes:
        path: The keys that lead to it.
        code: ``missing``, ``wrong-type``, ``bad-value``, ``bad-name``, ``unknown-key`` or ``contradiction``.
        message: What is wrong.
    """

    path: tuple[str, ...]
    code: str
    message: str

    @property
    def place(self) -> str:
        """The path as text, such as ``evaluators.rouge.wire[0].tags``."""
        return ".".join(self.path).replace(".[", "[")

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.path else self.message


@attrs.frozen
class Findings:
    """What was found while a table was read.

    Attributes:
        faults: Values that do not fit.
        warnings: Keys that are not known, and values that are doubtful.
    """

    faults: list[Fault] = attrs.Factory(list)
    warnings: list[Fault] = attrs.Factory(list)


class Checked:
    """A class whose keys can contradict each other."""

    def contradictions(self, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the keys that do not fit to other keys, and why; an empty key is the table itself."""
        return iter(())

    def doubts(self, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the keys that deserve a warning, and why."""
        return iter(())


class Declared(NamedTuple):
    """A key of a table.

    Attributes:
        field: Name of the field.
        type: Its type, without None.
        entry: What the type cannot express.
    """

    field: str
    type: Any
    entry: Entry


def keys_of(cls: type[Any]) -> Mapping[str, Declared]:
    """Return what a class declares, by the keys of its table."""
    if cls not in _DECLARED:
        _DECLARED[cls] = {
            field.metadata[Entry].name or field.name: Declared(
                field.name, _without_none(field.type), field.metadata[Entry]
            )
            for field in attrs.fields(cls)
            if Entry in field.metadata
        }
    return _DECLARED[cls]


_DECLARED: dict[type[Any], dict[str, Declared]] = {}


def _without_none(annotation: Any) -> Any:
    if isinstance(annotation, UnionType):
        return next(part for part in get_args(annotation) if part is not NoneType)
    return annotation


def read_table(
    cls: type[T], table: Mapping[str, Any], path: tuple[str, ...], findings: Findings
) -> T:
    """Return a table as a class. A value that does not fit is a fault and leaves its default.

    Args:
        cls: An attrs class whose fields are made with :func:`entry`.
        table: The table.
        path: The keys that lead to it; the last one is its name.
        findings: Receives the faults and warnings.
    """
    values: dict[str, Any] = {}
    known: list[str] = []
    for name, declared in keys_of(cls).items():
        if declared.entry.from_name and path:
            values[declared.field] = path[-1]
        if not declared.entry.in_table:
            continue
        known.append(name)
        if name in table:
            try:
                values[declared.field] = _read(
                    declared.type, table[name], declared.entry, (*path, name), findings
                )
            except _FaultError as error:
                findings.faults.append(error.fault)
        elif declared.entry.required:
            findings.faults.append(Fault((*path, name), MISSING, "missing"))
    for name in table:
        if name not in known:
            findings.warnings.append(
                Fault((*path, name), UNKNOWN_KEY, _unknown(name, known, table))
            )
    result = cls(**values)
    if isinstance(result, Checked):
        for name, message in result.contradictions(table):
            findings.faults.append(Fault(_join(path, name), CONTRADICTION, message))
        for name, message in result.doubts(table):
            findings.warnings.append(Fault(_join(path, name), CONTRADICTION, message))
    return result


class _FaultError(Exception):
    def __init__(self, path: tuple[str, ...], code: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(path, code, message)


def _read(
    expected: Any, value: Any, details: Entry, path: tuple[str, ...], findings: Findings
) -> Any:
    """Return a value as the type of its field."""
    if details.read is not None:
        try:
            return details.read(value)
        except ValueError as error:
            raise _FaultError(path, BAD_VALUE, str(error)) from None
    if expected is Any:
        return value
    if expected is str:
        _require(value, str, path)
        _check_text(value, details, path)
        return value
    if expected in _WORDS:
        _require(value, expected, path)
        if details.minimum is not None and value < details.minimum:
            raise _FaultError(path, BAD_VALUE, f"must be {details.minimum} or more, got {value}")
        return value
    container = get_origin(expected)
    if container is tuple:
        _require(value, list, path)
        item = get_args(expected)[0]
        return tuple(
            _read(item, part, details, (*path, f"[{place}]"), findings)
            for place, part in enumerate(value)
        )
    _require(value, dict, path)
    if container is Mapping:
        return _read_names(get_args(expected)[1], value, details, path, findings)
    return read_table(expected, value, path, findings)


def _read_names(
    expected: Any,
    table: Mapping[str, Any],
    details: Entry,
    path: tuple[str, ...],
    findings: Findings,
) -> dict[str, Any]:
    """Return a table with any names. One entry that does not fit leaves the others, and its own defaults."""
    entries: dict[str, Any] = {}
    for name, value in table.items():
        place = (*path, name)
        if details.names and not re.fullmatch(details.names.regex, name):
            findings.faults.append(Fault(place, BAD_NAME, f"expected {details.names.expected}"))
        try:
            entries[name] = _read(
                expected, value, attrs.evolve(details, names=None), place, findings
            )
        except _FaultError as error:
            findings.faults.append(error.fault)
            if attrs.has(expected):
                entries[name] = read_table(expected, {}, place, Findings())
    return entries


_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


def _require(value: Any, expected: type, path: tuple[str, ...]) -> None:
    """Refuse a value of another type: true is not a number, and 1 is not true."""
    if type(value) is not expected:
        actual = _WORDS.get(type(value), type(value).__name__)
        raise _FaultError(path, WRONG_TYPE, f"expected {_WORDS[expected]}, got {actual}")


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _check_text(text: str, details: Entry, path: tuple[str, ...]) -> None:
    line = text.replace("\n", " ").replace("\t", " ") if details.multiline else text
    if not line.isprintable() and _CONTROL.search(line):
        raise _FaultError(path, BAD_VALUE, f"expected no control characters, got {text!r}")
    if details.choices and text not in details.choices:
        expected = ", ".join(details.choices)
        raise _FaultError(path, BAD_VALUE, f"expected one of {expected}, got {text!r}")
    if details.pattern and not re.fullmatch(details.pattern.regex, text):
        raise _FaultError(path, BAD_VALUE, f"expected {details.pattern.expected}, got {text!r}")


def _unknown(name: str, known: Collection[str], table: Mapping[str, Any]) -> str:
    hint = did_you_mean(name, [other for other in known if other not in table])
    return f"unknown key. {hint}" if hint.startswith("Did") else "unknown key"


def _join(path: tuple[str, ...], name: str) -> tuple[str, ...]:
    return (*path, *name.split(".")) if name else path

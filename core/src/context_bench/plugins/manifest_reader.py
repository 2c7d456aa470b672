"""Reading: a TOML table becomes a frozen class, and each fault keeps the path of its key.

The annotations of a class are the types of its keys, and :func:`entry` adds what an annotation
cannot express. Both are data, so that a JSON Schema can be made from a class. The module of such a
class evaluates its annotations, that is, it does not postpone them: to evaluate them later takes 15
ms for all manifests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args, get_origin

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
        read: Returns the value where its type in TOML is another one; raises ValueError with what
            is wrong.
        in_table: Whether the table has the key; a field that has none takes the name of the table.
        from_name: Whether the name of the table is the default.
        schema: JSON Schema of the value in TOML, where ``read`` takes another one.
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
    schema: Mapping[str, Any] | None = None


def entry(default: T, **details: Any) -> T:
    """Return a field of a class that :func:`read_table` reads; ``details`` are those of
    :class:`Entry`."""
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
        code: ``missing``, ``wrong-type``, ``bad-value``, ``bad-name``, ``unknown-key`` or
            ``contradiction``.
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
    """A class whose keys can contradict each other.

    Attributes:
        conditions: JSON Schema keywords of the table that say so, as far as they can.
    """

    conditions: ClassVar[Mapping[str, Any]] = {}

    def contradictions(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """Yield the keys that do not fit to other keys, and why; an empty key is the table
        itself."""
        return iter(())

    def doubts(self, table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
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


Path = tuple[str, ...]


def read_table(cls: type[T], table: Mapping[str, object], path: Path, findings: Findings) -> T:
    """Return a table as a class. A value that does not fit is a fault and leaves its default.

    Args:
        cls: An attrs class whose fields are made with :func:`entry`.
        table: The table.
        path: The keys that lead to it; the last one is its name.
        findings: Receives the faults and warnings.
    """
    return _Reader(findings).read_table(cls, table, path)


@attrs.frozen
class _Reader:
    """Reads values as the types that a class declares.

    Attributes:
        findings: Receives the faults and warnings.
    """

    findings: Findings

    def read_table(self, cls: type[T], table: Mapping[str, object], path: Path) -> T:
        values: dict[str, Any] = {}
        keys = keys_of(cls)
        for name, declared in keys.items():
            if declared.entry.from_name and path:
                values[declared.field] = path[-1]
            if not declared.entry.in_table:
                continue
            if name in table:
                try:
                    value = self._read(declared.type, table[name], declared.entry, (*path, name))
                    values[declared.field] = value
                except _FaultError as error:
                    self.findings.faults.append(error.fault)
            elif declared.entry.required:
                self.findings.faults.append(Fault((*path, name), MISSING, "missing"))
        self._warn_of_unknown_keys(keys, table, path)
        result = cls(**values)
        if isinstance(result, Checked):
            self._check(result, table, path)
        return result

    def _warn_of_unknown_keys(
        self, keys: Mapping[str, Declared], table: Mapping[str, object], path: Path
    ) -> None:
        known = [name for name, declared in keys.items() if declared.entry.in_table]
        for name in table:
            if name not in known:
                hint = did_you_mean(name, [other for other in known if other not in table])
                message = f"unknown key. {hint}" if hint.startswith("Did") else "unknown key"
                self.findings.warnings.append(Fault((*path, name), UNKNOWN_KEY, message))

    def _check(self, result: Checked, table: Mapping[str, object], path: Path) -> None:
        for name, message in result.contradictions(table):
            self.findings.faults.append(Fault(_join(path, name), CONTRADICTION, message))
        for name, message in result.doubts(table):
            self.findings.warnings.append(Fault(_join(path, name), CONTRADICTION, message))

    def _read(self, expected: Any, value: Any, details: Entry, path: Path) -> Any:
        """Return a value as the type of its field."""
        if details.read is not None:
            try:
                return details.read(value)
            except ValueError as error:
                raise _FaultError(path, BAD_VALUE, str(error)) from None
        if expected is Any:
            return value
        if expected in _WORDS:
            _require(value, expected, path)
            _check_value(value, details, path)
            return value
        if get_origin(expected) is tuple:
            _require(value, list, path)
            item = get_args(expected)[0]
            return tuple(
                self._read(item, part, details, (*path, f"[{index}]"))
                for index, part in enumerate(value)
            )
        _require(value, dict, path)
        if get_origin(expected) is Mapping:
            return self._read_names(get_args(expected)[1], value, details, path)
        return self.read_table(expected, value, path)

    def _read_names(
        self, expected: Any, table: Mapping[str, object], details: Entry, path: Path
    ) -> dict[str, Any]:
        """Return a table with any names. One entry that does not fit leaves the others, and its own
        defaults."""
        entries: dict[str, Any] = {}
        names = details.names
        of_entry = attrs.evolve(details, names=None)
        for name, value in table.items():
            below = (*path, name)
            if names and not re.fullmatch(names.regex, name):
                self.findings.faults.append(Fault(below, BAD_NAME, f"expected {names.expected}"))
            try:
                entries[name] = self._read(expected, value, of_entry, below)
            except _FaultError as error:
                self.findings.faults.append(error.fault)
                if attrs.has(expected):
                    entries[name] = read_table(expected, {}, below, Findings())
        return entries


class _FaultError(Exception):
    def __init__(self, path: Path, code: str, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(path, code, message)


_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


def _require(value: object, expected: type, path: Path) -> None:
    """Refuse a value of another type: true is not a number, and 1 is not true."""
    if type(value) is not expected:
        actual = _WORDS.get(type(value), type(value).__name__)
        raise _FaultError(path, WRONG_TYPE, f"expected {_WORDS[expected]}, got {actual}")


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _check_value(value: Any, details: Entry, path: Path) -> None:
    if isinstance(value, str):
        _check_text(value, details, path)
    elif details.minimum is not None and value < details.minimum:
        raise _FaultError(path, BAD_VALUE, f"must be {details.minimum} or more, got {value}")


def _check_text(text: str, details: Entry, path: Path) -> None:
    line = text.replace("\n", " ").replace("\t", " ") if details.multiline else text
    if not line.isprintable() and _CONTROL.search(line):
        raise _FaultError(path, BAD_VALUE, f"expected no control characters, got {text!r}")
    if details.choices and text not in details.choices:
        expected = ", ".join(details.choices)
        raise _FaultError(path, BAD_VALUE, f"expected one of {expected}, got {text!r}")
    if details.pattern and not re.fullmatch(details.pattern.regex, text):
        raise _FaultError(path, BAD_VALUE, f"expected {details.pattern.expected}, got {text!r}")


def _join(path: Path, name: str) -> Path:
    return (*path, *name.split(".")) if name else path

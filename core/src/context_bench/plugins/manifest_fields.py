"""Fields of a manifest: readers that return what a key should hold, or say what stands there instead.

:class:`Table` gives each fault the path of its field and finds the keys that nobody asked for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from context_bench.plugins.component_metadata import CAPABILITIES, WireRule

Read = TypeVar("Read")
Default = TypeVar("Default")
Reader = Callable[[Any], Any]


class Table:
    """A TOML table that is read key by key.

    Args:
        path: Where it stands in the file; empty for the file itself.
        body: What it holds.
        faults: Gets a line for each value that does not fit.
        warnings: Gets a line for each key that was not asked for.
    """

    def __init__(
        self, path: str, body: Mapping[str, Any], faults: list[str], warnings: list[str]
    ) -> None:
        self.path, self.body, self.faults, self.warnings = path, body, faults, warnings
        self.asked: list[str] = []

    def take(
        self, key: str, read: Callable[[Any], Read], default: Default, *, required: bool = False
    ) -> Read | Default:
        """Return the value of a key, or the default when it is missing or does not fit."""
        self.asked.append(key)
        if key not in self.body:
            if required:
                self.fault(key, "missing")
            return default
        try:
            return read(self.body[key])
        except FaultError as fault:
            self.fault(f"{key}{fault.below}", str(fault))
            return default

    def tables(self, key: str, read: Callable[[str, Table], Read]) -> dict[str, Read]:
        """Return the tables below a key by name, each made into something by ``read``."""
        found = {}
        for name, body in self.take(key, mapping, {}).items():
            if isinstance(body, dict):
                inner = Table(self.at(f"{key}.{name}"), body, self.faults, self.warnings)
                found[name] = read(name, inner)
                inner.close()
            else:
                self.fault(f"{key}.{name}", f"expected a table, got {kind_of(body)}")
        return found

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def fault(self, key: str, what: str) -> None:
        """Say what is wrong with a key."""
        self.faults.append(f"{self.at(key)}: {what}")

    def close(self) -> None:
        """Warn of every key that was not asked for."""
        for key in self.body:
            if key not in self.asked:
                self.warnings.append(f"{self.at(key)}: {_unknown(key, self.asked, self.body)}")


class FaultError(Exception):
    """A value does not fit.

    Attributes:
        below: Where below the key it stands, such as ``[2].datasets``.
    """

    def __init__(self, message: str, below: str = "") -> None:
        super().__init__(message)
        self.below = below


def _unknown(key: str, known: Iterable[str], body: Mapping[str, Any]) -> str:
    from context_bench.errors import did_you_mean

    hint = did_you_mean(key, [one for one in known if one not in body])
    return f"unknown key. {hint if hint.startswith('Did') else ''}".rstrip()


_KINDS = {
    bool: "boolean",
    int: "whole number",
    float: "number",
    str: "text",
    list: "list",
    dict: "table",
}


def kind_of(value: Any) -> str:
    """Return what a TOML value is, in words."""
    return f"a {_KINDS.get(type(value), type(value).__name__)}"


def _of(kind: type[Read], expected: str) -> Callable[[Any], Read]:
    """Return a reader of one type of TOML value: neither is true a number, nor 1 a boolean."""

    def read(value: Any) -> Read:
        if type(value) is not kind:
            raise FaultError(f"expected {expected}, got {kind_of(value)}")
        return value

    return read


integer, boolean = _of(int, "a whole number"), _of(bool, "true or false")
sequence: Callable[[Any], list[Any]] = _of(list, "a list")
mapping: Callable[[Any], dict[str, Any]] = _of(dict, "a table")
_text = _of(str, "a text")


def text(value: Any) -> str:
    """Return a text without line breaks and other control characters, as every text of a manifest is shown in a line."""
    if not _text(value).isprintable() and any(
        ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in value
    ):
        raise FaultError(f"expected a line of text, got {value!r} with control characters")
    return str(value)


def lines(value: Any) -> str:
    """Return a text that may have line breaks, such as a prompt."""
    text(_text(value).replace("\n", " ").replace("\t", " "))
    return str(value)


def _below(place: str, read: Callable[[Any], Read], value: Any) -> Read:
    """Return what a reader makes of a part of a value; a fault says which part it is."""
    try:
        return read(value)
    except FaultError as fault:
        raise FaultError(str(fault), f"{place}{fault.below}") from None


def list_of(read: Callable[[Any], Read]) -> Callable[[Any], tuple[Read, ...]]:
    """Return a reader of a list, as a tuple; one text is no list of letters."""
    return lambda value: tuple(
        _below(f"[{index}]", read, item) for index, item in enumerate(sequence(value))
    )


def table_of(read: Callable[[Any], Read]) -> Callable[[Any], dict[str, Read]]:
    """Return a reader of a table with any keys."""
    return lambda value: {
        name: _below(f".{name}", read, item) for name, item in mapping(value).items()
    }


def table_with(
    readers: Mapping[str, Reader], required: Collection[str] = ()
) -> Callable[[Any], dict[str, Any]]:
    """Return a reader of a table with these keys and no other; those that are absent are left out."""

    def read(value: Any) -> dict[str, Any]:
        for key in (*required, *mapping(value)):
            if key not in value:
                raise FaultError("missing", f".{key}")
            if key not in readers:
                raise FaultError(_unknown(key, readers, value), f".{key}")
        return {
            key: _below(f".{key}", read, value[key])
            for key, read in readers.items()
            if key in value
        }

    return read


def one_of(*choices: str) -> Callable[[Any], str]:
    """Return a reader that takes nothing but ``choices``."""

    def read(value: Any) -> str:
        if value not in choices:
            raise FaultError(f"expected one of {', '.join(choices)}, got {value!r}")
        return str(value)

    return read


def at_least(lowest: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers that are not too small."""

    def read(value: Any) -> int:
        if integer(value) < lowest:
            raise FaultError(f"must be {lowest} or more, got {value}")
        return integer(value)

    return read


texts = list_of(text)


def word(value: Any) -> str:
    """Return the name of an extra, which stands in a command that a person is told."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text(value)):
        raise FaultError(f"expected the name of an extra, got {value!r}")
    return str(value)


def api(value: Any) -> str:
    """Return a plugin API version, ``MAJOR.MINOR``."""
    parts = text(value).split(".")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdigit() and len(part) < 10 for part in parts
    ):
        raise FaultError(f"expected 'MAJOR.MINOR', such as '1.0', got {value!r}")
    return str(value)


def capability(value: Any) -> str:
    """Return something that a component needs."""
    if text(value) not in CAPABILITIES and not (value.startswith("env:") and len(value) > 4):
        raise FaultError(
            f"{value!r} is no capability; there is {', '.join(CAPABILITIES)}, and env:NAME"
        )
    return str(value)


def needs(value: Any) -> dict[str, tuple[str, ...]]:
    """Return the fields that an evaluator cannot do without, by side."""
    for side in mapping(value):
        if side not in ("original", "processed"):
            raise FaultError("unknown; there is original and processed", f".{side}")
    return table_of(texts)(value)


def rule(value: Any) -> WireRule:
    """Return a wiring rule."""
    if not isinstance(value, dict):
        raise FaultError(f"expected a table such as {{ datasets = [...] }}, got {kind_of(value)}")
    if len(value) != 1:
        raise FaultError("a rule has exactly one of always, datasets, tags, option")
    [(key, body)] = value.items()
    if key not in _RULES:
        raise FaultError("unknown rule; there is always, datasets, tags, option", f".{key}")
    return WireRule(**{key: _below(f".{key}", _RULES[key], body)})


def _always(value: Any) -> bool:
    if not boolean(value):
        raise FaultError("always = false chooses nothing; leave the rule out")
    return True


_RULES: dict[str, Reader] = {
    "always": _always,
    "datasets": texts,
    "tags": texts,
    "option": lambda value: text(value).removeprefix("--"),
}


def value_range(value: Any) -> tuple[float | None, float | None]:
    """Return the lowest and highest value, None where there is none."""
    if len(sequence(value)) != 2:
        raise FaultError("expected [lowest, highest]")
    low, high = list_of(_bound)(value)
    if low is not None and high is not None and low >= high:
        raise FaultError(f"expected [lowest, highest], got {value}")
    return low, high


def _bound(value: Any) -> float | None:
    if value in ("inf", "-inf"):
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise FaultError(f"expected a number, 'inf' or '-inf', got {kind_of(value)}")
    if value != value:
        raise FaultError("expected a number, 'inf' or '-inf', got nan")
    return float(value) if abs(value) <= sys.float_info.max else None


def flag(value: Any) -> str:
    """Return a command-line flag with its dashes."""
    name = text(value).removeprefix("--")
    if not value.startswith("--") or not name.replace("-", "").isalnum() or name != name.lower():
        raise FaultError(f"expected a flag such as --judge-url, got {value!r}")
    return str(value)


def target(value: Any) -> str:
    """Return where an object of the plugin stands, ``module:name``."""
    module, colon, name = text(value).partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise FaultError(f"expected 'module:function', got {value!r}")
    return str(value)


_DEFINITION: dict[str, Reader] = {
    **dict.fromkeys(("source", "revision", "config", "split", "files", "format", "group_by"), text),
    "parts": texts,
    "fields": table_of(text),
    "example": target,
    "tables": table_of(table_of(text)),
    "prompt": lines,
    "fewshot_template": lines,
    "fewshot_split": text,
}
definition = table_with(
    {"loader": text, **_DEFINITION, "config_overrides": table_of(table_with(_DEFINITION))},
    ["loader"],
)
"""Returns how a loader of another package reads a dataset, as ``docs/reference/manifest.md`` says."""

"""Fields of a manifest: readers that return what a key should hold, or say what stands there instead.

:class:`Table` gives each fault the path of its field and finds the keys that nobody asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from context_bench.plugins.component_metadata import CAPABILITIES, WireRule
from context_bench.plugins.installed import is_name
from context_bench.plugins.options import Option

Read = TypeVar("Read")
Default = TypeVar("Default")


class Table:
    """A TOML table that is read key by key.

    Args:
        path: Where it stands in the file; empty for the file itself.
        body: What it holds.
        faults: Gets a line for each value that does not fit.
        warnings: Gets a line for each key that was not asked for.
    """

    def __init__(self, path: str, body: Mapping[str, Any], faults: list[str], warnings: list[str]) -> None:
        self.path, self.body, self.faults, self.warnings = path, body, faults, warnings
        self.asked: list[str] = []

    def take(
        self, key: str, read: Callable[[Any], Read], default: Default, *, required: bool = False
    ) -> Read | Default:
        """Return the value of a key, or the default when it is missing or does not fit."""
        asked, body = self.asked, self.body
        asked.append(key)
        if key not in body:
            if required:
                self.faults.append(f"{self.at(key)}: missing")
            return default
        try:
            return read(body[key])
        except FaultError as fault:
            self.faults.append(f"{self.at(key)}{fault.below}: {fault}")
            return default

    def tables(self, key: str, read: Callable[[str, Table], Read]) -> dict[str, Read]:
        """Return the tables below a key by name, each made into something by ``read``."""
        found = {}
        for name, body in self.take(key, mapping, {}).items():
            path = f"{self.at(key)}.{name}"
            if isinstance(body, dict):
                inner = Table(path, body, self.faults, self.warnings)
                found[name] = read(name, inner)
                inner.close()
            else:
                self.faults.append(f"{path}: expected a table, got {kind_of(body)}")
        return found

    def at(self, key: str) -> str:
        """Return the path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def close(self) -> None:
        """Warn of every key that was not asked for."""
        for key in self.body:
            if key not in self.asked:
                from context_bench.errors import did_you_mean

                hint = did_you_mean(key, [known for known in self.asked if known not in self.body])
                self.warnings.append(f"{self.at(key)}: unknown key. {hint if hint.startswith('Did') else ''}".rstrip())


class FaultError(Exception):
    """A value does not fit.

    Attributes:
        below: Where below the key it stands, such as ``[2].datasets``.
    """

    def __init__(self, message: str, below: str = "") -> None:
        super().__init__(message)
        self.below = below


def text(value: Any) -> str:
    """Return a text without line breaks and other control characters, as every text of a manifest is shown in a line."""
    if not isinstance(value, str):
        raise FaultError(f"expected a text, got {kind_of(value)}")
    if not value.isprintable() and any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in value):
        raise FaultError(f"expected a line of text, got {value!r} with control characters")
    return value


def word(value: Any) -> str:
    """Return the name of an extra, which stands in a command that a person is told."""
    if not is_name(text(value)):
        raise FaultError(f"expected the name of an extra, got {value!r}")
    return str(value)


def integer(value: Any) -> int:
    """Return a whole number; true is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise FaultError(f"expected a whole number, got {kind_of(value)}")
    return value


def boolean(value: Any) -> bool:
    """Return a boolean; 1 is none."""
    if not isinstance(value, bool):
        raise FaultError(f"expected true or false, got {kind_of(value)}")
    return value


def sequence(value: Any) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise FaultError(f"expected a list, got {kind_of(value)}")
    return value


def mapping(value: Any) -> dict[str, Any]:
    """Return a table."""
    if not isinstance(value, dict):
        raise FaultError(f"expected a table, got {kind_of(value)}")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a list of texts as a tuple; one text is no list of letters."""
    for index, item in enumerate(sequence(value)):
        try:
            text(item)
        except FaultError as fault:
            raise FaultError(str(fault), f"[{index}]") from None
    return tuple(value)


def one_of(*choices: str) -> Callable[[Any], str]:
    """Return a reader that takes nothing but ``choices``."""

    def read(value: Any) -> str:
        if value not in choices:
            raise FaultError(f"expected one of {', '.join(choices)}, got {value!r}")
        return str(value)

    return read


def some_of(*choices: str) -> Callable[[Any], tuple[str, ...]]:
    """Return a reader of a list that holds nothing but ``choices``."""

    def read(value: Any) -> tuple[str, ...]:
        found = texts(value)
        for index, item in enumerate(found):
            if item not in choices:
                raise FaultError(f"expected one of {', '.join(choices)}, got {item!r}", f"[{index}]")
        return found

    return read


def kind_of(value: Any) -> str:
    """Return what a TOML value is, in words."""
    kinds = {bool: "boolean", int: "whole number", float: "number", str: "text", list: "list", dict: "table"}
    return f"a {kinds.get(type(value), type(value).__name__)}"


def choices(value: Any, option: Option) -> tuple[Any, ...]:
    """Return the values that an option may have."""
    for index, item in enumerate(sequence(value)):
        try:
            fitting(item, option)
        except FaultError as fault:
            raise FaultError(str(fault), f"[{index}]") from None
    return tuple(value)


def fitting(value: Any, option: Option) -> Any:
    """Return a value that an option could have as it stands."""
    problem = option.misfit(value)
    if problem:
        raise FaultError(problem)
    return value


def schema(value: Any) -> int:
    """Return the number of a manifest format."""
    if integer(value) < 1:
        raise FaultError(f"must be 1 or more, got {value}")
    return integer(value)


def api(value: Any) -> str:
    """Return a plugin API version, ``MAJOR.MINOR``."""
    parts = text(value).split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise FaultError(f"expected 'MAJOR.MINOR', such as '1.0', got {value!r}")
    return str(value)


def capabilities(value: Any) -> tuple[str, ...]:
    """Return what a component needs."""
    for index, name in enumerate(texts(value)):
        if name not in CAPABILITIES and not (name.startswith("env:") and len(name) > 4):
            known = ", ".join(CAPABILITIES)
            raise FaultError(f"{name!r} is no capability; there is {known}, and env:NAME", f"[{index}]")
    return tuple(value)


def needs(value: Any) -> dict[str, tuple[str, ...]]:
    """Return the fields that an evaluator cannot do without, by side."""
    found = {}
    for side, names in mapping(value).items():
        if side not in ("original", "processed"):
            raise FaultError("unknown; there is original and processed", f".{side}")
        try:
            found[side] = texts(names)
        except FaultError as fault:
            raise FaultError(str(fault), f".{side}{fault.below}") from None
    return found


def counts(value: Any) -> dict[str, int]:
    """Return whole numbers by name, none below 0."""
    for name, number in mapping(value).items():
        try:
            if integer(number) < 0:
                raise FaultError(f"must be 0 or more, got {number}")
        except FaultError as fault:
            raise FaultError(str(fault), f".{name}") from None
    return dict(value)


def rules(value: Any) -> tuple[WireRule, ...]:
    """Return wiring rules."""
    return tuple(_rule(item, f"[{index}]") for index, item in enumerate(sequence(value)))


def _rule(value: Any, at: str) -> WireRule:
    if not isinstance(value, dict):
        raise FaultError(f"expected a table such as {{ datasets = [...] }}, got {kind_of(value)}", at)
    if len(value) != 1:
        raise FaultError("a rule has exactly one of always, datasets, tags, option", at)
    [(key, body)] = value.items()
    try:
        if key == "always" and not boolean(body):
            raise FaultError("always = false chooses nothing; leave the rule out")
        if key in _RULES:
            return WireRule()._replace(**{key: _RULES[key](body)})
    except FaultError as fault:
        raise FaultError(str(fault), f"{at}.{key}{fault.below}") from None
    raise FaultError("unknown rule; there is always, datasets, tags, option", f"{at}.{key}")


_RULES: dict[str, Callable[[Any], Any]] = {
    "always": boolean,
    "datasets": texts,
    "tags": texts,
    "option": lambda value: text(value).removeprefix("--"),
}


def value_range(value: Any) -> tuple[float | None, float | None]:
    """Return the lowest and highest value, None where there is none."""
    if len(sequence(value)) != 2:
        raise FaultError("expected [lowest, highest]")
    low, high = _bound(value[0], "[0]"), _bound(value[1], "[1]")
    if low is not None and high is not None and low >= high:
        raise FaultError(f"expected [lowest, highest], got {value}")
    return low, high


def _bound(value: Any, at: str) -> float | None:
    if isinstance(value, str) and value in ("inf", "-inf"):
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise FaultError(f"expected a number, 'inf' or '-inf', got {kind_of(value)}", at)
    if value != value:
        raise FaultError("expected a number, 'inf' or '-inf', got nan", at)
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

"""Terms of a manifest: the values that have a form of their own, such as wiring rules, ranges and needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from context_bench.plugins.component_metadata import CAPABILITIES, WireRule
from context_bench.plugins.options import Option
from context_bench.plugins.values import FaultError, boolean, integer, kind_of, mapping, sequence, text, texts


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

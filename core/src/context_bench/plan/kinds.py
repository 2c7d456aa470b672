"""The kinds of values that a parameter of a run can have: how each is written, checked and
stored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from sys import float_info, maxsize
from types import UnionType
from typing import TYPE_CHECKING, Any

from attrs import Factory, asdict, frozen

from context_bench.errors import (
    BadValueError,
    ConfigurationError,
    UnknownNameError,
)
from context_bench.redaction import without_secrets

if TYPE_CHECKING:
    pass


def unchanged(value: Any, *_: Any) -> Any:
    """Return the value."""
    return value


@frozen
class Kind:
    """A kind of values: how they are written, checked and kept. ``where`` is what a value is called
    in errors.

    Attributes:
        written: What the reference pages call it.
        check: Returns a value as the request holds it, ``(value, where)``; raises
            ConfigurationError for any other.
        of_text: Returns the value of a text, ``(text, where)``: of a flag or of ``--set``; None
            where no text can say it.
        of_file: Returns the value of what TOML gave, ``(value, where)``; ``check`` unless it is
            said.
        stored: Returns a value as JSON-like values without secrets, ``(value, catalog)``.
        restored: Returns the value that ``stored`` wrote.
        is_repeated: Whether its flag can be given several times; then ``of_text`` takes all texts.
        is_switch: Whether its flag takes no value.
        python: Its type in the signature of ``evaluate()``.
    """

    written: str
    check: Callable[[Any, str], Any]
    of_text: Callable[[Any, str], Any] | None = None
    of_file: Callable[[Any, str], Any] = Factory(lambda self: self.check, takes_self=True)
    stored: Callable[[Any, Any], Any] = unchanged
    restored: Callable[[Any], Any] = unchanged
    is_repeated: bool = False
    is_switch: bool = False
    python: str = "Any"


def require(
    is_valid: Callable[[Any], bool],
    expected: str,
    convert: Callable[[Any], Any] = unchanged,
) -> Callable[[Any, str], Any]:
    """Return a function that checks a value and raises ``BadValueError`` for an invalid one.

    Args:
        is_valid: Whether a value is valid.
        expected: What the error calls a valid value.
        convert: Returns what the configuration stores of a valid value.
    """

    def check(value: Any, where: str) -> Any:
        if not is_valid(value):
            raise BadValueError(where, expected, value)
        return convert(value)

    return check


def text(*choices: str, about: str = "value") -> Kind:
    """Return the kind of texts, of some choices where there are any."""
    check_text = require(is_text, "a text")

    def check(value: Any, where: str) -> Any:
        check_text(value, where)
        if choices and value not in choices:
            raise UnknownNameError(about, value, choices)
        return value

    return Kind("str", check, check, python="str")


def path() -> Kind:
    """Return the kind of paths."""
    check = require(
        lambda one: isinstance(one, str | bytes | os.PathLike) and one not in ("", b""),
        "a path",
        os.fsdecode,
    )
    return Kind("path", check, check, python="str | os.PathLike[str]")


def whole(least: int | None = 1) -> Kind:
    """Return the kind of integers, positive unless a minimum is given."""
    wanted = "a positive integer" if least == 1 else "an integer"
    check = require(
        lambda value: _is_number(value, int) and (least is None or value >= least),
        wanted,
        lambda value: (
            value if least is None else min(value, maxsize)
        ),  # which nothing ever counts up to
    )
    return Kind("int", check, _converting(int, check, wanted), python="int")


def number(least: float = 5e-324) -> Kind:
    """Return the kind of finite numbers, above zero unless said otherwise."""
    wanted = "a number" + (
        " above zero" if 0 < least < 1e-9 else f", {least:g} at least" if least > 0 else ""
    )
    check = require(
        lambda value: _is_number(value) and abs(value) <= float_info.max and value >= least, wanted
    )
    return Kind("number", check, _converting(float, check, wanted), python="float")


def share() -> Kind:
    """Return the kind of shares: a number from 0 to 1, or a text in percent such as ``1%``."""

    def check(value: Any, where: str) -> float:
        number = _share_of(value)
        if number is None or not 0 <= number <= 1:
            raise BadValueError(where, "a share such as 1% or 0.01", value)
        return number

    return Kind("share", check, check, python="float | str")


def _share_of(value: Any) -> float | None:
    """Return the number that a share means; None for what is not a number."""
    if not isinstance(value, str):
        return value if _is_number(value) else None
    text = value.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    if text.endswith("%"):
        return number / 100
    return None if number == 1 else number  # a bare 1 could mean all rows or one percent


def _is_number(value: Any, kind: type | UnionType = int | float) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def switch() -> Kind:
    """Return the kind of things that are so or not."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    check = require(lambda value: isinstance(value, bool), "true or false")
    return Kind(
        "bool",
        check,
        lambda text, where: check(words.get(text.lower(), text), where),
        is_switch=True,
        python="bool",
    )


def names(is_repeated: bool = False, thing: str | None = None) -> Kind:
    """Return the kind of several names, written with commas between.

    Args:
        is_repeated: Whether the flag is given once for each.
        thing: What an object may be that ``evaluate()`` takes in place of a name; None takes names
            alone.
    """

    wanted = "a list of names"
    is_list = require(lambda value: isinstance(value, list) and are_texts(value), wanted)

    def check(value: Any, where: str) -> Any:
        found = (
            tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        )
        if not thing and not are_texts(found):
            raise BadValueError(where, wanted, value)
        if not (found or thing or is_repeated):  # which would take everything, in place of nothing
            raise ConfigurationError(f"{where} names nothing.")
        return found

    def parse(given: Any, where: str) -> Any:
        texts = (given,) if isinstance(given, str) else given
        found = tuple(name for text in texts for name in _split_names(text))
        if texts and not found:
            raise ConfigurationError(f"{where} names nothing.")
        return found

    return Kind(
        "list of str",
        check,
        parse,
        lambda value, where: check(is_list(value, where), where),
        stored=lambda value, catalog: [recorded(one) for one in value],
        restored=lambda value: tuple(restored_object(one) for one in value),
        is_repeated=is_repeated,
        python=f"Sequence[{thing} | str]" if thing else "Sequence[str]",
    )


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def are_texts(values: Iterable[Any]) -> bool:
    """Return whether all values are texts."""
    return all(map(is_text, values))


def _split_names(text: str) -> list[str]:
    """Return the names of a list with commas; ``name:option=value,option=value`` stays together."""
    found: list[str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def table() -> Kind:
    """Return the kind of tables of options, by name."""
    check = require(
        lambda value: isinstance(value, Mapping),
        "a table of options",
        lambda value: {str(name).replace("-", "_"): one for name, one in value.items()},
    )
    return Kind("table", check, python="Mapping[str, Any]")


def pairs(form: str) -> Kind:
    """Return the kind of texts by text; errors tell in which form they are written."""
    check = require(
        lambda value: isinstance(value, Mapping) and are_texts(value.values()),
        "a table of texts",
        dict,
    )
    return Kind(
        "table",
        check,
        partial(parse_pairs, form=form),
        is_repeated=True,
        python="Mapping[str, str]",
    )


def parse_pairs(texts: str | tuple[str, ...], what: str, form: str) -> dict[str, str]:
    """Read one ``key=value`` text, or several, whose form errors tell.

    Raises:
        ConfigurationError: One of them has another form, or a key stands twice.
    """
    found: dict[str, str] = {}
    for one in (texts,) if isinstance(texts, str) else texts:
        key, equals, value = one.partition("=")
        if not equals or not key or not value:
            raise ConfigurationError(f"{what} {one!r} has the wrong form: write it as {form}.")
        if key in found:
            raise ConfigurationError(f"{what} {key!r} is given twice.")
        found[key] = value
    return found


@frozen
class AbsentObject:
    """An object that was given to ``evaluate()``, as a run file remembers it: it cannot be made
    again from the file.

    Attributes:
        name: What it called itself.
        type: Its class, with the module.
    """

    name: str
    type: str

    def __str__(self) -> str:
        return f"{self.name} ({self.type})" if self.name else self.type


def recorded(thing: Any) -> Any:
    """Return what a run file keeps of an object; of a name, the name."""
    if isinstance(thing, str):
        return thing
    if not isinstance(thing, AbsentObject):
        kind = (
            thing
            if hasattr(thing, "__qualname__") and hasattr(thing, "__module__")
            else type(thing)
        )
        name = getattr(thing, "name", None) or getattr(thing, "__name__", "")
        thing = AbsentObject(str(name), f"{kind.__module__}.{kind.__qualname__}")
    return {"object": asdict(thing)}


def restored_object(found: Any) -> Any:
    """Return the object that :func:`recorded` remembers, as absent; anything else as it is."""
    if isinstance(found, Mapping) and isinstance(found.get("object"), Mapping):
        return AbsentObject(
            str(found["object"].get("name", "")), str(found["object"].get("type", ""))
        )
    return found


def _converting(
    convert: Callable[[str], Any], check: Callable[[Any, str], Any], wanted: str
) -> Callable[[Any, str], Any]:
    def parse(given: str, where: str) -> Any:
        try:
            value = convert(given)
        except ValueError:
            raise BadValueError(where, wanted, given) from None
        return check(value, where)

    return parse


def evaluator_options(kind: str = "evaluators") -> Kind:
    """Return the kind of options of evaluators, or of another kind of component, by the component's
    name."""
    plural = "extensions" if kind == "hooks" else kind

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(
            isinstance(given, Mapping) for given in value.values()
        ):
            raise BadValueError(where, f"a table with a table for each of the {plural}", value)
        return {name: dict(given) for name, given in value.items()}

    def keep(value: Any, catalog: Any) -> Any:
        return {
            name: without_secrets(catalog.named(kind, name), given) for name, given in value.items()
        }

    return Kind("table", check, stored=keep, python="Mapping[str, Mapping[str, Any]]")

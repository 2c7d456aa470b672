"""The types of values that only a parameter of a run can have: shares, lists of names, tables of
options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from attrs import asdict, frozen

from context_bench.errors import ConfigurationError
from context_bench.plugins.values import ValueType, converted, is_number, is_text, require
from context_bench.redaction import bad_value, without_secrets
from context_bench.run.examples import Shard


def share() -> ValueType:
    """Return the type of shares: a number from 0 to 1, or a text in percent such as ``1%``."""

    def check(value: Any, where: str) -> float:
        number = _share_of(value)
        if number is None or not 0 <= number <= 1:
            raise bad_value(where, "a share such as 1% or 0.01", value)
        return number

    schema = {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$"},
        ]
    }
    return ValueType("share", check, check, python="float | str", schema=schema)


def _share_of(value: Any) -> float | None:
    """Return the number that a share means; None for what is not a number."""
    if not isinstance(value, str):
        return value if is_number(value) else None
    text = value.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        return None
    if text.endswith("%"):
        return number / 100
    return None if number == 1 else number  # a bare 1 could mean all rows or one percent


def shard() -> ValueType:
    """Return the type of shards, ``i/n``."""

    def convert(value: Any) -> Shard:
        return value if isinstance(value, Shard) else Shard.parse(str(value))

    check = converted(convert, "a shard such as 1/4: number and count")
    schema = {"type": "string", "pattern": "^[0-9]+/[0-9]+$"}
    return ValueType(
        "shard",
        check,
        check,
        stored=lambda value, catalog: str(value),
        restored=lambda value: check(value, "shard"),
        python="str",
        schema=schema,
    )


def names(is_repeated: bool = False, thing: str | None = None) -> ValueType:
    """Return the type of several names, written with commas between.

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
            raise bad_value(where, wanted, value)
        if not (found or thing or is_repeated):  # which would take everything, in place of nothing
            raise ConfigurationError(f"{where} names nothing.")
        return found

    def parse(given: Any, where: str) -> Any:
        texts = (given,) if isinstance(given, str) else given
        found = tuple(name for text in texts for name in _split_names(text))
        if texts and not found:
            raise ConfigurationError(f"{where} names nothing.")
        return found

    return ValueType(
        "list of str",
        check,
        parse,
        lambda value, where: check(is_list(value, where), where),
        stored=lambda value, catalog: [recorded(one) for one in value],
        restored=lambda value: tuple(restored_object(one) for one in value),
        is_repeated=is_repeated,
        python=f"Sequence[{thing} | str]" if thing else "Sequence[str]",
        schema={"type": "array", "items": {"type": "string"}},
    )


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


def table() -> ValueType:
    """Return the type of tables of options, by name."""
    check = require(
        lambda value: isinstance(value, Mapping),
        "a table of options",
        lambda value: {str(name).replace("-", "_"): one for name, one in value.items()},
    )
    return ValueType("table", check, python="Mapping[str, Any]", schema={"type": "object"})


def pairs(form: str) -> ValueType:
    """Return the type of texts by text; errors tell in which form they are written."""
    check = require(
        lambda value: isinstance(value, Mapping) and are_texts(value.values()),
        "a table of texts",
        dict,
    )
    return ValueType(
        "table",
        check,
        partial(parse_pairs, form=form),
        is_repeated=True,
        python="Mapping[str, str]",
        schema={"type": "object", "additionalProperties": {"type": "string"}},
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


def evaluator_options(kind: str = "evaluators") -> ValueType:
    """Return the type of options of evaluators, or of another kind of component, by the component's
    name."""
    plural = "extensions" if kind == "hooks" else kind

    def check(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping) or not all(
            isinstance(given, Mapping) for given in value.values()
        ):
            raise bad_value(where, f"a table with a table for each of the {plural}", value)
        return {name: dict(given) for name, given in value.items()}

    def keep(value: Any, catalog: Any) -> Any:
        return {
            name: without_secrets(catalog.named(kind, name), given) for name, given in value.items()
        }

    return ValueType(
        "table",
        check,
        stored=keep,
        python="Mapping[str, Mapping[str, Any]]",
        schema={"type": "object", "additionalProperties": {"type": "object"}},
    )

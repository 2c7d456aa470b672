"""Parameters whose values are systems and datasets: specs as texts or tables, and objects given to
``evaluate()``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, fields_dict

from context_bench.errors import (
    ConfigurationError,
    UnknownNameError,
)
from context_bench.plan.specs import (
    DatasetSpec,
    Examples,
    Spec,
    SystemSpec,
    parse_dataset,
    parse_system,
    safe_spec,
    spec_of,
)
from context_bench.plan.value_types import AbsentObject, are_texts, recorded, restored_object
from context_bench.plugins.settings import PROJECT_FILE
from context_bench.plugins.values import ValueType, is_text, require, unchanged
from context_bench.redaction import bad_value

if TYPE_CHECKING:
    pass


def one_system() -> ValueType:
    """Return the type of one system: a spec, or a table."""

    def check(value: Any, where: str) -> Any:
        found = _parsed(value)
        if not isinstance(found, SystemSpec):
            raise ConfigurationError(
                f"{where} is {value!r}, but must name a system: an object follows no other."
            )
        return found

    read = partial(_entry, SystemSpec)
    return ValueType(
        "spec or table",
        check,
        check,
        read,
        stored=_keep,
        restored=_system_again,
        python="str | SystemSpec",
        schema=_reference(SystemSpec),
    )


def label_or_system() -> ValueType:
    """Return the type of what is the label of a system of the run, or one more system: a spec as a
    text, or an object."""
    return ValueType(
        "str",
        unchanged,
        unchanged,
        require(is_text, "a label"),
        stored=_keep,
        restored=_system_again,
        schema={"type": "string"},
    )


def several_systems() -> ValueType:
    """Return the type of the systems of a run."""

    def check(value: Any, where: str) -> Any:
        return tuple(map(_parsed, value if isinstance(value, list | tuple) else [value]))

    return _several(SystemSpec, check)


def several_datasets() -> ValueType:
    """Return the type of the datasets of a run."""

    def check(value: Any, where: str) -> Any:
        if isinstance(value, Mapping):
            return tuple(_given(one, label) for label, one in value.items())
        return tuple(_given(one) for one in ((value,) if isinstance(value, str) else value))

    return _several(
        DatasetSpec,
        check,
        "Sequence[str | DatasetSpec] | Mapping[str, Iterable[Mapping[str, Any]]]",
    )


def _several(kind: type[Spec], check: Callable[[Any, str], Any], python: str = "Any") -> ValueType:
    def read(value: Any, where: str) -> Any:
        return tuple(
            _entry(kind, entry, f"{where}[{place}]")
            for place, entry in enumerate(_a_list(value, where))
        )

    return ValueType(
        "list",
        check,
        lambda texts, where: tuple(map(_PARSERS[kind], texts)),
        read,
        stored=lambda value, catalog: [_keep(one, catalog) for one in value],
        restored=lambda value: tuple(_again(kind, one) for one in value),
        is_repeated=True,
        python=python,
        schema={"type": "array", "items": _reference(kind)},
    )


def _parsed(system: Any) -> Any:
    return parse_system(system) if isinstance(system, str) else system


def _given(one: Any, label: str | None = None) -> DatasetSpec | Examples | AbsentObject:
    if isinstance(one, Examples | AbsentObject):
        return one
    if isinstance(one, str | DatasetSpec):
        spec = parse_dataset(one) if isinstance(one, str) else one
        return spec if label is None else evolve(spec, label=label)
    return Examples(label, one)


def _keep(asked: Any, catalog: Any) -> Any:
    if isinstance(asked, SystemSpec | DatasetSpec):
        return asdict(safe_spec(catalog, asked), recurse=True)
    if not isinstance(asked, Examples):
        return recorded(asked)
    kept = recorded(asked.source)
    kept["object"]["name"] = asked.label or kept["object"]["name"]
    return kept


def _again(kind: type[Spec], found: Any) -> Any:
    again = restored_object(found)
    return spec_of(kind, found) if again is found and isinstance(found, Mapping) else again


_system_again = partial(_again, SystemSpec)


def _entry(kind: type[Spec], entry: Any, where: str) -> Any:
    """Return what the project file says of a system or dataset, as a text or as a table."""
    if isinstance(entry, str):
        return _PARSERS[kind](entry)
    values = dict(_table(kind, entry, where))
    if "steps" in values:
        steps = enumerate(values["steps"])
        values["steps"] = tuple(
            _entry(SystemSpec, step, f"{where}.steps[{place}]") for place, step in steps
        )
    spec = _PARSERS[kind](values.pop("spec")) if "spec" in values else kind(values.pop("name"))
    return evolve(spec, **values)


_PARSERS: Mapping[Any, Callable[[str], Any]] = {
    SystemSpec: parse_system,
    DatasetSpec: parse_dataset,
}


_BESIDE = ("label", "steps", "fields")
"""What may stand beside a spec in a table of the project file: it cannot say that itself."""


def _table(kind: type[Spec], entry: Any, where: str) -> Mapping[str, Any]:
    """Return a table of the project file: of a spec and what stands beside it, or of what it would
    hold as well.

    Args:
        kind: What the table describes.
        entry: The table.
        where: File and key, as messages name them: ``context-bench.toml: systems[0]``.
    """
    file_name, _, key_of_entry = where.rpartition(": ")
    if not isinstance(entry, Mapping):
        raise bad_value(f"{where}", "a spec or a table", entry)
    known = ("spec", *fields_dict(kind))
    for key, value in entry.items():
        if key not in known:
            raise UnknownNameError(
                f"key of {key_of_entry} in {file_name or PROJECT_FILE}", key, known
            )
        _OF_AN_ENTRY.get(key, _a_text)(value, f"{where}.{key}")
    if ("spec" in entry) == ("name" in entry):
        raise ConfigurationError(f"{where} needs either name or spec.")
    for key in entry:
        if "spec" in entry and key not in ("spec", *_BESIDE):
            raise ConfigurationError(f"{where} has a spec, so {key} must stand inside of it.")
    return entry


def entry_schema(kind: type[Spec]) -> dict[str, Any]:
    """Return the JSON Schema of a system or dataset in the project file: a spec as a text, or a
    table with either ``spec`` or ``name``."""
    fields: dict[str, Any] = {
        name: _ENTRY_SCHEMAS.get(name, {"type": "string"}) for name in fields_dict(kind)
    }
    of_spec = {name: schema for name, schema in fields.items() if name in _BESIDE}
    with_name = {
        "type": "object",
        "required": ["name"],
        "properties": fields,
        "additionalProperties": False,
    }
    with_spec = {
        "type": "object",
        "required": ["spec"],
        "properties": {"spec": {"type": "string"}, **of_spec},
        "additionalProperties": False,
    }
    return {"anyOf": [{"type": "string"}, with_name, with_spec]}


def _reference(kind: type[Spec]) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{kind.__name__}"}


_ENTRY_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "options": {"type": "object"},
    "fields": {"type": "object", "additionalProperties": {"type": "string"}},
    "steps": {"type": "array", "items": _reference(SystemSpec)},
}
"""The schemas of the keys in ``_OF_AN_ENTRY``."""


_a_text = require(is_text, "a text")
_a_list = require(lambda value: isinstance(value, list), "a list")


_OF_AN_ENTRY = {
    "options": require(lambda value: isinstance(value, Mapping), "a table"),
    "fields": require(
        lambda value: isinstance(value, Mapping) and are_texts(value.values()), "a table of texts"
    ),
    "steps": _a_list,
}
"""What the keys of a system or dataset in the project file hold, where it is no text."""

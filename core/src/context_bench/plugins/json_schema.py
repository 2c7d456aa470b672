"""JSON Schema of the classes that read manifests, for editors.

The schema is made from what :mod:`context_bench.plugins.manifest_reader` reads by: the annotations,
the entries and the docstrings of the classes. Rules between keys are in it where a class has
``conditions``; ``context-bench plugins check`` knows the others, too.

Draft 7 is what editors of TOML files understand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import attrs

from context_bench.plugins.manifest import PluginManifest
from context_bench.plugins.manifest_reader import Checked, Declared, Entry, keys_of
from context_bench.plugins.options import Option

DRAFT = "http://json-schema.org/draft-07/schema#"

Schema = dict[str, Any]


def manifest_schema() -> Schema:
    """Return the JSON Schema of ``context_bench_plugin.toml``."""
    definitions: dict[str, Schema] = {}
    return {
        "$schema": DRAFT,
        "title": "context_bench_plugin.toml",
        **_table_schema(PluginManifest, definitions),
        "definitions": dict(sorted(definitions.items())),
    }


def options_schema(options: Mapping[str, Option], *, accepts_any: bool) -> Schema:
    """Return the JSON Schema of a table with options of a component.

    A name may be written with ``-`` in place of ``_``. A text is read as on the command line.

    Args:
        options: The declared options, by name.
        accepts_any: Whether the component takes further options.
    """
    properties: dict[str, Schema] = {}
    patterns: dict[str, Schema] = {}
    for name, option in options.items():
        properties[name] = option_schema(option)
        if "_" in name:
            patterns[f"^{name.replace('_', '[-_]')}$"] = option_schema(option)
    schema: Schema = {"type": "object", "properties": properties}
    if patterns:
        schema["patternProperties"] = patterns
    if not accepts_any:
        schema["additionalProperties"] = False
    return schema


def option_schema(option: Option) -> Schema:
    """Return the JSON Schema of the value of an option."""
    from context_bench.plugins.values import OPTION_TYPES

    schema = dict(OPTION_TYPES[option.type].schema)
    if option.choices and option.type in ("str", "path"):
        schema = {"enum": list(option.choices)}
    elif "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = list(dict.fromkeys([*types, "string"]))
    schema["description"] = option.help
    if option.default is not None:
        schema["default"] = option.default
    return schema


def _table_schema(cls: type[Any], definitions: dict[str, Schema]) -> Schema:
    """Return the schema of the table that a class reads; those of tables in it become
    definitions."""
    described = _descriptions(cls)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, declared in keys_of(cls).items():
        if not declared.entry.in_table:
            continue
        properties[name] = _described(
            _key_schema(declared, definitions), described.get(declared.field, "")
        )
        if declared.entry.required:
            required.append(name)
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    if issubclass(cls, Checked):
        schema.update(cls.conditions)
    return schema


def _described(schema: Schema, description: str) -> Schema:
    """Return a schema with a description; beside a reference, draft 7 would ignore it."""
    if not description:
        return schema
    if "$ref" in schema:
        return {"description": description, "allOf": [schema]}
    return {"description": description, **schema}


def _key_schema(declared: Declared, definitions: dict[str, Schema]) -> Schema:
    if declared.entry.schema is not None:
        return dict(declared.entry.schema)
    return _value_schema(declared.type, declared.entry, definitions)


def _value_schema(expected: Any, details: Entry, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a value, as :func:`read_table` reads it."""
    if expected is Any:
        return {}
    if expected in _TYPES:
        return {"type": _TYPES[expected], **_limits(details)}
    if get_origin(expected) is tuple:
        item = _value_schema(get_args(expected)[0], details, definitions)
        return {"type": "array", "items": item} if item else {"type": "array"}
    if get_origin(expected) is Mapping:
        of_value = attrs.evolve(details, names=None)
        below = _value_schema(get_args(expected)[1], of_value, definitions)
        schema: Schema = {"type": "object"}
        if below:
            schema["additionalProperties"] = below
        if details.names is not None:
            schema["propertyNames"] = {"pattern": _whole(details.names.regex)}
        return schema
    if expected.__name__ not in definitions:
        definitions[expected.__name__] = {}  # a class that holds itself refers to it
        definitions[expected.__name__] = _table_schema(expected, definitions)
    return {"$ref": f"#/definitions/{expected.__name__}"}


_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _limits(details: Entry) -> Schema:
    limits: Schema = {}
    if details.choices:
        limits["enum"] = list(details.choices)
    if details.pattern is not None:
        limits["pattern"] = _whole(details.pattern.regex)
    if details.minimum is not None:
        limits["minimum"] = details.minimum
    return limits


def _whole(regex: str) -> str:
    """Return a pattern of the whole text: JSON Schema looks for one anywhere in it."""
    return f"^({regex})$"


_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def _descriptions(cls: type[Any]) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of its attributes."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        attributes = text.partition("Attributes:\n")[2]
        for name, description in _ATTRIBUTE.findall(attributes):
            found[name] = " ".join(description.split()).replace("``", "`")
    return found

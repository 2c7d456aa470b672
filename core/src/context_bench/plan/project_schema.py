"""JSON Schema of the project file, for editors: from the parameters of a run, and from the options
that components declare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from context_bench.plan.run_config import PARAMETERS
from context_bench.plan.spec_types import entry_schema
from context_bench.plan.specs import DatasetSpec, SystemSpec
from context_bench.plugins.json_schema import DRAFT, Schema, option_schema, options_schema
from context_bench.plugins.manifest import ComponentManifest
from context_bench.plugins.options import Option
from context_bench.plugins.settings import PROJECT_FILE

_NAMES = {"type": "array", "items": {"type": "string"}}


def project_schema(components: Iterable[ComponentManifest]) -> Schema:
    """Return the JSON Schema of ``context-bench.toml``.

    Args:
        components: Manifests of what is installed: evaluators and extensions declare options, and
            extensions keys and tables of their own.
    """
    components = list(components)
    groups = {one.name: one.options for one in components if one.kind == "flags"}
    evaluators: dict[str, Schema] = {}
    extensions: dict[str, Schema] = {}
    keys: dict[str, Schema] = {}
    for component in components:
        declared: dict[str, Option] = {}
        for name in component.option_groups:
            declared |= groups.get(name, {})
        declared |= component.options
        options = options_schema(declared, accepts_any=component.extra_options)
        if component.kind == "evaluators":
            evaluators[component.name] = options
        elif component.kind == "hooks":
            extensions[component.name] = options
            keys |= {
                option.key: option_schema(option)
                for option in component.options.values()
                if option.key
            }
    run, top = _parameters()
    for key, schema in keys.items():
        table, _, name = key.rpartition(".")
        (run if table == "run" else top)[name or key] = schema
    top["evaluators"] = _by_name(top["evaluators"], evaluators)
    top["extensions"] = _by_name(top["extensions"], extensions)
    top["systems"] = _systems(top["systems"], top.pop("systems.defaults"))
    tables = {name: schema for name, schema in extensions.items() if name not in top}
    return {
        "$schema": DRAFT,
        "title": PROJECT_FILE,
        "type": "object",
        "properties": {
            **top,
            "run": {"type": "object", "properties": run, "additionalProperties": False},
            "plugins": _PLUGINS,
            **dict(sorted(tables.items())),
        },
        "additionalProperties": False,
        "definitions": {kind.__name__: entry_schema(kind) for kind in (SystemSpec, DatasetSpec)},
    }


def _parameters() -> tuple[dict[str, Schema], dict[str, Schema]]:
    """Return the keys of ``[run]`` and those at the top of the file."""
    run: dict[str, Schema] = {}
    top: dict[str, Schema] = {}
    for parameter in PARAMETERS.values():
        if parameter.key is None:
            continue
        schema: Schema = {"description": parameter.help, **parameter.type.schema}
        if "$ref" in schema:
            schema = {"description": parameter.help, "allOf": [dict(parameter.type.schema)]}
        if parameter.key.startswith("run."):
            run[parameter.key.removeprefix("run.")] = schema
        else:
            top[parameter.key] = schema
    return run, top


def _by_name(schema: Schema, components: dict[str, Schema]) -> Schema:
    """Return a table of tables with the options of known components; others may have any."""
    return {**schema, "properties": dict(sorted(components.items()))}


def _systems(schema: Schema, defaults: Schema) -> Schema:
    """Return the schema of the systems: a list whose last table may hold the defaults, or tables by
    label beside them."""
    entries = entry_schema(SystemSpec)["anyOf"]
    with_defaults = [_with_property(entry, "defaults", defaults) for entry in entries]
    labelled = {"anyOf": entries}
    return {
        "description": schema["description"],
        "anyOf": [
            {"type": "array", "items": {"anyOf": with_defaults}},
            {
                "type": "object",
                "properties": {"defaults": defaults},
                "additionalProperties": labelled,
            },
        ],
    }


def _with_property(schema: dict[str, Any], name: str, value: Schema) -> Schema:
    if schema["type"] != "object":
        return schema
    return {**schema, "properties": {**schema["properties"], name: value}}


_PLUGINS: Schema = {
    "type": "object",
    "properties": {
        "disable": {"description": "Plugins that are switched off.", **_NAMES},
        "allow": {"description": "The only plugins that may be used.", **_NAMES},
        "prefer": {
            "description": "The distribution that a contested short name means.",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
    },
    "additionalProperties": False,
}

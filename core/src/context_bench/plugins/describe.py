"""Descriptions: a component as JSON-like values, for ``--json`` and ``show``."""

from __future__ import annotations

from typing import Any

import attrs
from attrs import evolve

from context_bench.plugins.component import Component
from context_bench.plugins.manifest import WireRule
from context_bench.plugins.manifest_reader import keys_of
from context_bench.plugins.options import Option


def describe(component: Component) -> dict[str, Any]:
    """Return everything the catalog knows about a component as JSON-like values."""
    distribution = component.distribution
    facts: dict[str, Any] = {
        "id": component.id,
        "kind": component.noun,
        "name": component.name,
        "state": component.state,
        "optional": component.lacks_extra,
        "reason": component.reason,
        "remedy": component.remedy,
        "distribution": distribution.name,
        "distribution_version": distribution.version,
        "location": distribution.location,
        "editable": distribution.editable,
        "manifest": distribution.manifest_path,
        "manifest_sha256": distribution.manifest_hash,
        "entry_point": component.target,
        "warnings": list(distribution.warnings),
    }
    if component.is_described:
        declared = _plain(component.manifest)
        if "wire" in declared:
            declared["wired_to"] = declared.pop("wire")
        facts.update(declared)
    return facts


def _plain(value: object) -> Any:
    """Return what a manifest declares as JSON-like values; a rule as a sentence, an option without
    its secret."""
    if isinstance(value, WireRule):
        return str(value)
    if isinstance(value, Option) and value.secret:
        value = evolve(value, default=None)
    if attrs.has(type(value)):
        names = [declared.field for declared in keys_of(type(value)).values()]
        plain = {name: _plain(getattr(value, name)) for name in names}
        if "class_name" in plain:
            plain["class"] = plain.pop("class_name")
        return plain
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value

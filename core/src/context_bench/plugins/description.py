"""A component in JSON-like values, for everything that prints or stores what the catalog knows."""

from __future__ import annotations

from typing import Any

from context_bench.plugins.catalog import Component, singular
from context_bench.plugins.component_metadata import Score, SummaryValue, WireRule
from context_bench.plugins.options import Option

_OF_EVERY_KIND = (
    "summary",
    "class_name",
    "version",
    "deterministic",
    "capabilities",
    "extra",
    "options",
    "more_options",
)
_OF_KIND = {
    "evaluators": ("primary", "scores", "needs", "wire", "cpu_bound"),
    "datasets": (
        *("primary", "tags", "splits", "configs", "default_config", "licence", "homepage", "citation", "language"),
        *("sizes", "inputs", "gold", "by_config", "card", "fields", "files"),
    ),
    "systems": ("system_kind", "reads", "reads_gold"),
    "commands": ("parent", "extends"),
    "hooks": ("implements",),
    "run_parts": ("part_kind",),
}
_OF_OPTION = ("type", "default", "help", "secret", "choices", "flag", "env", "required")
_CALLED = {"class_name": "class", "wire": "wired_to"}


def describe(component: Component) -> dict[str, Any]:
    """Return everything the catalog knows about a component as JSON-like values."""
    facts, distribution = component.facts, component.distribution
    told: dict[str, Any] = {
        "id": component.id,
        "kind": singular(component.kind),
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
    if facts is None:
        return told
    names = (*_OF_EVERY_KIND, *_OF_KIND.get(component.kind, ()))
    told |= {_CALLED.get(name, name): _plain(getattr(facts, name)) for name in names}
    if component.kind == "hooks":
        told["active"] = "installed" if facts.only_watches else "named"
    return told


def _plain(value: Any) -> Any:
    """Return what a manifest says as JSON-like values; a rule as a sentence, an option without its secret."""
    if isinstance(value, str | int | float | None):  # most are
        return value
    if isinstance(value, WireRule):
        return str(value)
    if isinstance(value, Option):
        value = value._replace(default=None) if value.secret else value
        told = {name: getattr(value, name) for name in _OF_OPTION}
        return {**told, "default": _plain(value.default), "choices": _plain(value.choices)}
    if isinstance(value, Score | SummaryValue):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value

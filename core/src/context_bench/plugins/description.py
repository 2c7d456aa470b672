"""A component in JSON-like values, for everything that prints or stores what the catalog knows."""

from __future__ import annotations

from typing import Any

from context_bench.plugins.catalog import Component, singular
from context_bench.plugins.component_metadata import Facts


def describe(component: Component) -> dict[str, Any]:
    """Return everything the catalog knows about a component as JSON-like values."""
    facts = component.facts
    told: dict[str, Any] = {
        "id": component.id,
        "kind": singular(component.kind),
        "name": component.name,
        "state": component.state,
        "optional": component.lacks_extra,
        "reason": component.reason,
        "remedy": component.remedy,
        "distribution": component.distribution.name,
        "distribution_version": component.distribution.version,
        "location": component.distribution.location,
        "editable": component.distribution.editable,
        "manifest": component.distribution.manifest_path,
        "manifest_sha256": component.distribution.manifest_hash,
        "entry_point": component.target,
        "warnings": list(component.distribution.warnings),
    }
    if facts is None:
        return told
    told |= {
        "summary": facts.summary,
        "class": facts.class_name,
        "version": facts.version,
        "deterministic": facts.deterministic,
        "capabilities": list(facts.capabilities),
        "extra": facts.extra,
        "options": {
            option.name: {
                "type": option.type,
                "default": None if option.secret else option.default,
                "help": option.help,
                "secret": option.secret,
                "choices": list(option.choices),
                "flag": option.flag,
                "env": option.env,
                "required": option.required,
            }
            for option in facts.options.values()
        },
        "more_options": facts.more_options,
    }
    return told | _of_its_kind(component.kind, facts)


def _of_its_kind(kind: str, facts: Facts) -> dict[str, Any]:
    """Return what only components of a kind have."""
    if kind == "evaluators":
        return {
            "primary": facts.primary,
            "scores": {
                key: {"range": list(score.range), "better": score.better, "aggregate": score.aggregate}
                for key, score in facts.scores.items()
            },
            "needs": {side: list(names) for side, names in facts.needs.items()},
            "wired_to": [str(rule) for rule in facts.wire],
            "cpu_bound": facts.cpu_bound,
        }
    if kind == "datasets":
        return {
            "primary": facts.primary,
            "tags": list(facts.tags),
            "splits": list(facts.splits),
            "configs": list(facts.configs),
            "default_config": facts.default_config,
            "licence": facts.licence,
            "homepage": facts.homepage,
            "citation": facts.citation,
            "language": list(facts.language),
            "sizes": dict(facts.sizes),
            "inputs": list(facts.inputs),
            "gold": list(facts.gold),
            "by_config": {name: dict(found) for name, found in facts.by_config.items()},
            "card": dict(facts.card) if facts.card else None,
            "fields": list(facts.fields),
            "files": list(facts.files),
        }
    if kind == "systems":
        reads = None if facts.reads is None else list(facts.reads)
        return {"system_kind": facts.system_kind, "reads": reads, "reads_gold": facts.reads_gold}
    if kind == "commands":
        return {"parent": facts.parent, "extends": facts.extends}
    if kind == "hooks":
        return {"implements": list(facts.implements), "active": "installed" if facts.only_watches else "named"}
    if kind == "run_parts":
        return {"part_kind": facts.part_kind}
    return {}

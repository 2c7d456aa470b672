"""Secrets: what is taken out of a request before anything of it is kept or shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from context_bench.bench.specs import SystemSpec
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.options import Option

REDACTED = "***"

_SECRET_NAME = re.compile(r"(?:^|_)(?:api_?key|token|secret|password|credentials?|authorization)$", re.IGNORECASE)
_USER = re.compile(r"(?<=//)[^/?#\s]*@")
_QUERY = re.compile(r"([?&][^=&#\s]*(?:key|token|secret|password|signature|auth)[^=&#\s]*=)[^&#\s]+", re.IGNORECASE)


def without_secrets(catalog: Catalog, kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that the manifest calls secret, and without what a URL says of its user."""
    found = catalog.named(kind, name)
    facts = found[0].facts if found else None
    declared = facts.options if facts else {}
    return _redacted(given, declared)


def safe_spec(catalog: Catalog, spec: SystemSpec) -> SystemSpec:
    """Return a system spec, its steps included, without secrets."""
    steps = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, options=without_secrets(catalog, "systems", spec.name, spec.options), steps=steps)


def is_redacted(value: Any) -> bool:
    """Whether a secret was taken out of a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return any(map(is_redacted, value))
    return isinstance(value, str) and REDACTED in value


def _redacted(given: Mapping[str, Any], declared: Mapping[str, Option]) -> dict[str, Any]:
    return {
        key: REDACTED if _is_secret(key.replace("-", "_"), declared) else _plain(value) for key, value in given.items()
    }


def _is_secret(name: str, declared: Mapping[str, Option]) -> bool:
    """Whether an option holds a secret; one that its component does not declare is judged by its name."""
    return declared[name].secret if name in declared else bool(_SECRET_NAME.search(name))


def _plain(value: Any) -> Any:
    if isinstance(value, str) and ("://" in value or "@" in value):
        return _QUERY.sub(rf"\1{REDACTED}", _USER.sub(f"{REDACTED}@", value))
    if isinstance(value, Mapping):
        return _redacted(value, {})
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value

"""Secrets: what is taken out of a request before anything of it is kept or shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from context_bench.bench.specs import SystemSpec
from context_bench.plugins.catalog import Catalog

REDACTED = "***"

_USER = re.compile(r"(?<=//)[^/?#\s]*@")
_QUERY = re.compile(r"([?&][^=&#\s]*(?:key|token|secret|password|signature|auth)[^=&#\s]*=)[^&#\s]+", re.IGNORECASE)


def without_secrets(catalog: Catalog, kind: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that the manifest calls secret, and without what a URL says of its user."""
    found = catalog.named(kind, name)
    facts = found[0].facts if found else None
    secrets = {option.name for option in facts.options.values() if option.secret} if facts else set()
    return {key: REDACTED if key.replace("-", "_") in secrets else _plain(value) for key, value in given.items()}


def safe_spec(catalog: Catalog, spec: SystemSpec) -> SystemSpec:
    """Return a system spec, its steps included, without secrets."""
    steps = tuple(safe_spec(catalog, step) for step in spec.steps)
    return evolve(spec, options=without_secrets(catalog, "systems", spec.name, spec.options), steps=steps)


def is_redacted(value: Any) -> bool:
    """Whether a secret was taken out of a value."""
    return isinstance(value, str) and REDACTED in value


def _plain(value: Any) -> Any:
    if isinstance(value, str) and ("://" in value or "@" in value):
        return _QUERY.sub(rf"\1{REDACTED}", _USER.sub(f"{REDACTED}@", value))
    return value

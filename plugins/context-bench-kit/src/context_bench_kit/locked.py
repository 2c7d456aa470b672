"""What is installed, held against what a lock file was written with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from context_bench.catalog import Catalog
from context_bench.errors import ConfigurationError

_FACTS = ("distribution_version", "version", "manifest_sha256")


def lock_differences(path: Path, catalog: Catalog) -> list[str]:
    """Return how the components that a lock file names differ from those that are installed, a line each.

    Raises:
        ConfigurationError: It is no lock file.
    """
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"{path} is no lock file that can be read: it is no regular file.")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        datasets = document["datasets"].values()
        locked = {
            ("evaluators", name): facts
            for plan in datasets
            for name, facts in plan["evaluators"].items()
        }
        for kind, table in (("hooks", "extensions"), ("metrics", "metrics")):
            locked |= {(kind, name): facts for name, facts in document.get(table, {}).items()}
        return [
            line
            for key, facts in sorted(locked.items())
            for line in _differences(*key, dict(facts), catalog)
        ]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is no lock file that can be read: {type(error).__name__}: {error}. `context-bench lock` writes one."
        ) from error


def _differences(
    kind: str, name: str, locked: Mapping[str, Any], catalog: Catalog
) -> Iterator[str]:
    found = [component for component in catalog.of_kind(kind) if component.id == name]
    if not found:
        yield f"{name}: locked with {locked.get('distribution_version', '?')}, not installed"
        return
    component = found[0].called_by_id()
    if component.state != "ok":
        yield f"{name}: {component.state}: {component.reason}"
    now = {
        "distribution_version": component.distribution.version,
        "version": component.manifest.version,
        "manifest_sha256": component.distribution.manifest_hash,
    }
    for fact in _FACTS:
        if fact in locked and locked[fact] != now[fact]:
            yield f"{name}: {fact} was {locked[fact]!r}, is {now[fact]!r}"

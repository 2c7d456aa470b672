"""Where a run ran: versions, plugins, git state, and what the used packages require."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

from context_bench import __version__
from context_bench.plugins.catalog import Catalog
from context_bench.store.reader import RunReader


def provenance(catalog: Catalog) -> dict[str, Any]:
    """Return versions, plugins with their manifests' hashes, and git state; nothing that is
    secret."""
    distributions = {component.distribution.name: component.distribution for component in catalog}
    return {
        "context_bench": __version__,
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.system(),
        "machine": platform.machine(),
        "plugins": {
            name: {"version": distribution.version, "manifest_sha256": distribution.manifest_hash}
            for name, distribution in sorted(distributions.items())
        },
        "git": _git_state(),
    }


def used_distributions(store: RunReader) -> set[str]:
    """Return core and the distributions whose components a run uses, those met so far."""
    systems = [
        step
        for entry in store.systems()
        for step in entry["description"].get("steps", [entry["description"]])
    ]
    names = [step.get("adapter", "") for step in systems]
    names += [entry["description"].get("component", "") for entry in store.datasets()]
    names += [entry["provenance"].get("evaluator", "") for entry in store.evaluators()]
    return {"context-bench", *(name.partition("/")[0] for name in names if "/" in name)}


def dependencies(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Return, for each of these distributions, the versions of what it requires; None for what is
    not installed.

    Requirements for another system or of an extra are named only where they are installed.
    """
    from importlib_metadata import Distribution, PackageNotFoundError

    from context_bench.plugins.requirements import requirement_names

    @cache
    def version(name: str) -> str | None:
        try:
            return str(Distribution.from_name(name).version)
        except PackageNotFoundError:
            return None

    versions: dict[str, dict[str, str | None]] = {}
    for name in sorted(set(names)):
        if version(name) is None:
            continue
        needed = requirement_names(Distribution.from_name(name).requires or ())
        versions[name] = {
            other: version(other)
            for other, is_unconditional in sorted(needed.items())
            if is_unconditional or version(other) is not None
        }
    return versions


def _git_state() -> dict[str, Any] | None:
    commit = _git("rev-parse", "HEAD")
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return None if commit is None else {"commit": commit, "dirty": bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        process = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip() if process.returncode == 0 else None

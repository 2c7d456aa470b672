"""What a run records about where it ran and what it was given: versions, plugins, the git checkout, editions of datasets."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from context_bench import __version__
from context_bench.errors import DatasetError
from context_bench.plugins.catalog import Catalog
from context_bench.store.reader import RunReader

_CHUNK = 1 << 20
_LONGEST = 200


def provenance(catalog: Catalog) -> dict[str, Any]:
    """Return versions, plugins with their manifests' hashes, and git state; nothing that is secret."""
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
    systems = [step for entry in store.systems() for step in entry["description"].get("steps", [entry["description"]])]
    names = [step.get("adapter", "") for step in systems]
    names += [entry["description"].get("component", "") for entry in store.datasets()]
    names += [entry["provenance"].get("evaluator", "") for entry in store.evaluators()]
    return {"context-bench", *(name.partition("/")[0] for name in names if "/" in name)}


def dependencies(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Return, for each of these distributions, the versions of what it requires; None for what is not installed.

    Requirements for another system or of an extra are named only where they are installed.
    """
    from context_bench.plugins.installed import (
        UnreadableDistributionError,
        copies,
        installed_distributions,
        normalise,
        requirements,
    )

    installed = installed_distributions()

    @cache
    def version(name: str) -> str | None:
        found = installed.get(normalise(name))
        return copies(found)[0].version if found else None

    found: dict[str, dict[str, str | None]] = {}
    for name in sorted(set(names) & set(installed)):
        try:
            needed = requirements(copies(installed[name])[0])
        except UnreadableDistributionError:
            continue
        found[name] = {
            other: version(other)
            for other, markers in sorted(needed.items())
            if "" in markers or version(other) is not None
        }
    return found


def revision_of(thing: Any, arguments: Mapping[str, Any] | None = None) -> str | None:
    """Return the revision that a dataset or its loader tells, or None.

    It is an attribute ``revision`` or ``fingerprint`` (or ``_fingerprint``, as the library ``datasets`` has it): a text, or a
    function that returns one. A loader's function is called with the loader's own arguments.

    Raises:
        DatasetError: The function failed.
    """
    for name in ("revision", "fingerprint", "_fingerprint"):
        found = getattr(thing, name, None)
        if callable(found):
            try:
                found = found(**(arguments or {}))
            except DatasetError:
                raise
            except Exception as error:
                raise DatasetError(
                    f"The {name} of a dataset cannot be told: {type(error).__name__}: {error}"
                ) from error
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)[:_LONGEST]
    return None


def source_of(path: Any) -> dict[str, Any] | None:
    """Return name, size and SHA-256 of a dataset's file; None when there is no such file, which its loader will tell.

    The name comes without its folders: where a file lies is nobody's business.
    """
    try:
        file = Path(os.path.expanduser(path))
        if not file.is_file():
            return None
        content = sha256()
        size = 0
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
                size += len(chunk)
    except (OSError, TypeError, ValueError):
        return None
    return {"file": file.name, "bytes": size, "sha256": content.hexdigest()}


def _git_state() -> dict[str, Any] | None:
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no"))}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None

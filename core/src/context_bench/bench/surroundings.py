"""What a run records about the place where it ran: versions, plugins, and the state of the git checkout."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any

from context_bench import __version__
from context_bench.plugins.catalog import Catalog


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

"""What is installed, with the state of each component: the catalog as tools see it.

This module is stable API: see ``docs/reference/public-api.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings, load_project

__all__ = ["Catalog", "Component", "open_catalog"]


def open_catalog(
    switches: Iterable[str] = (), project: str | os.PathLike[str] | Mapping[str, Any] | None = None
) -> Catalog:
    """Return what is installed; no plugin is imported.

    Args:
        switches: What to switch off (``no:NAME``) or on (``NAME``), against the environment and the
            project file.
        project: The project file, or what it holds; None takes ``context-bench.toml`` in the
            current directory, where there is one.

    Raises:
        UnknownNameError: A switch, the environment or the project file has an unknown name.
        ConfigurationError: The project file cannot be read.
    """
    settings = PluginSettings.read(load_project(project).get("plugins", {}), os.environ, switches)
    catalog = discover(settings)
    settings.require_known(catalog)
    return catalog

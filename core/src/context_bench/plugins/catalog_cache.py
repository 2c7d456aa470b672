"""The catalog of a process: looked for again only when something has changed."""

from __future__ import annotations

import os
import sys

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings

_remembered: list[tuple[object, Catalog]] = []


def remembered_catalog(settings: PluginSettings) -> Catalog:
    """Return what :func:`discover` returns, without looking again in this process where nothing has
    changed.

    The folders of the path, the finders of modules, and the manifests decide whether something has.
    """
    finders = [id(finder) for finder in sys.meta_path]
    surroundings = settings, tuple(sys.path), finders, os.getcwd()
    for known, catalog in _remembered:
        if known == (surroundings, _stamps(catalog)):
            return catalog
    catalog = discover(settings)
    _remembered[:] = [((surroundings, _stamps(catalog)), catalog)]
    return catalog


def _stamps(catalog: Catalog) -> list[tuple[int, int] | None]:
    """Return time stamp and size of the folders of the path, and of the manifests of a catalog."""
    manifests = {component.distribution.manifest_path for component in catalog}
    stamps: list[tuple[int, int] | None] = []
    for path in [*sys.path, *sorted(filter(None, manifests))]:
        try:
            status = os.stat(path or os.curdir)
            stamps.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamps.append(None)
    return stamps

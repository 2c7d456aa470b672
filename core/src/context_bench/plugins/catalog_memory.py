"""The catalog of this process: discovered once, and again whenever anything that it depends on may have changed."""

from __future__ import annotations

import os
import sys
from time import time_ns
from typing import Any

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings

_UNSETTLED = 2_000_000_000
"""Nanoseconds for which a changed file may change again without a new time stamp: file systems count in ticks of up to 2 s."""

_remembered: list[tuple[Any, Catalog]] = []


def remembered_catalog(settings: PluginSettings) -> Catalog:
    """Return what :func:`~context_bench.plugins.discovery.discover` returns, without looking where nothing has changed.

    A catalog is taken again when the settings, ``sys.path``, the working directory, the finders of modules, and the time
    stamps of every folder in the path, of every manifest and of every plugin's metadata are as they were. What changed a
    moment before the discovery may change again within one tick of the file system's clock, so such a catalog is never
    taken again.
    """
    before = _remembered[-1] if _remembered else None
    if before is not None and before[0] == (_surroundings(settings), _stamps(before[1])):
        return before[1]
    started = time_ns()
    surroundings = _surroundings(settings)
    catalog = discover(settings)
    stamps = _stamps(catalog)
    _remembered.clear()
    if (
        surroundings == _surroundings(settings)
        and max((stamp[0] for stamp in stamps if stamp), default=0) < started - _UNSETTLED
    ):
        _remembered.append(((surroundings, stamps), catalog))
    return catalog


def _surroundings(settings: PluginSettings) -> Any:
    finders = [id(finder) for finder in sys.meta_path]
    return settings, tuple(sys.path), finders, os.getcwd(), [_stamp(place or os.curdir) for place in sys.path]


def _stamps(catalog: Catalog) -> list[tuple[int, int, int, int] | None]:
    """Return size, time stamps and inode of every file and folder that a catalog was made of."""
    return [_stamp(source or os.curdir) for source in catalog.sources]


def _stamp(path: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

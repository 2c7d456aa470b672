"""What several commands share: plugin settings and the project file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from context_bench.console import warn as warn
from context_bench.console import wrapped as wrapped
from context_bench.console import write_json as echo_json
from context_bench.errors import ContextBenchError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PROJECT_FILE, PluginSettings, load_project

__all__ = [
    "Catalogs",
    "catalog_of_environment",
    "echo_json",
    "json_option",
    "no_cache_option",
    "open_catalog",
    "plugin_option",
    "project_option",
    "warn",
    "wrapped",
]


class Catalogs:
    """What one call of the command line discovered: each catalog once, however often it is asked for."""

    def __init__(self) -> None:
        self._found: list[tuple[PluginSettings, Catalog]] = []

    def get(self, settings: PluginSettings) -> Catalog:
        """Return what is installed, under these settings."""
        for known, catalog in self._found:
            if known == settings:
                return catalog
        self._found.append((settings, discover(settings)))
        return self._found[-1][1]

    @property
    def sources(self) -> list[str]:
        """Every file and folder that decided what was found; empty when nothing was looked for."""
        found = [source for _, catalog in self._found for source in catalog.sources]
        return [PROJECT_FILE, *found] if found else []


Command = TypeVar("Command", bound=Callable[..., Any])

plugin_option = click.option(
    "-p",
    "plugin_switches",
    multiple=True,
    metavar="[no:]NAME",
    help="Switch a plugin off (no:NAME) or on, against the environment and the project file.",
)
project_option = click.option(
    "--project",
    "project_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Project file.  [default: context-bench.toml here, if there is one]",
)
no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    help="Look again, even where nothing has changed since the last look.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


def open_catalog(switches: tuple[str, ...], project: Mapping[str, Any], without: tuple[str, ...] = ()) -> Catalog:
    """Discover what is installed, with the settings of the project, the environment and the command line.

    Args:
        switches: Values of ``-p``.
        project: The project file.
        without: Values of ``--without``: to leave an evaluator out is to switch it off.

    Raises:
        UnknownNameError: A switch, the environment or the project file names what nobody has heard of.
    """
    settings = PluginSettings.read(
        project.get("plugins", {}), os.environ, (*switches, *(f"no:{name}" for name in without))
    )
    catalog = _catalogs().get(settings)
    settings.require_known((component.names for component in catalog), without)
    return catalog


def catalog_of_environment() -> Catalog:
    """Discover what is installed while the command line itself is being read; faulty settings are told later."""
    try:
        return open_catalog((), load_project())
    except ContextBenchError:
        return _catalogs().get(PluginSettings.read({}, os.environ))


def _catalogs() -> Catalogs:
    context = click.get_current_context(silent=True)
    catalogs = context.find_root().obj if context else None
    return catalogs if isinstance(catalogs, Catalogs) else Catalogs()

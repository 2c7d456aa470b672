"""Options that many commands have, and the catalog that they select."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from context_bench.errors import ContextBenchError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings, load_project

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


json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


def together(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command several options; its help shows them in this
    order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def catalog_options(command: Command) -> Callable[..., Any]:
    """Give a command ``-p`` and ``--project``; it receives the ``catalog`` that they select."""

    @together(plugin_option, project_option)
    @wraps(command)
    def call(plugin_switches: tuple[str, ...], project_path: Path | None, **values: Any) -> Any:
        return command(catalog=open_catalog(plugin_switches, load_project(project_path)), **values)

    return call


def open_catalog(
    switches: tuple[str, ...], project: Mapping[str, Any], without: tuple[str, ...] = ()
) -> Catalog:
    """Discover the installed components, with the settings of the project, the environment and the
    command line.

    Args:
        switches: Values of ``-p``.
        project: The project file.
        without: Values of ``--exclude``, which switch evaluators off.

    Raises:
        UnknownNameError: A switch, the environment or the project file has an unknown name.
    """
    settings = PluginSettings.read(
        project.get("plugins", {}), os.environ, (*switches, *(f"no:{name}" for name in without))
    )
    catalog = discovered(settings)
    settings.require_known(catalog, without)
    return catalog


def catalog_of_environment() -> Catalog:
    """Discover the installed components while the command line is parsed.

    Errors in settings are reported later.
    """
    try:
        return open_catalog((), load_project())
    except ContextBenchError:
        return discovered(PluginSettings.read({}, os.environ))


def discovered(settings: PluginSettings) -> Catalog:
    """Return the catalog for these settings; it is built once in a call of the command line."""
    context = click.get_current_context(silent=True)
    stored = context.find_root().obj if context else None
    catalogs: list[tuple[PluginSettings, Catalog]] = stored if isinstance(stored, list) else []
    for other, catalog in catalogs:
        if other == settings:
            return catalog
    catalog = discover(settings)
    catalogs.append((settings, catalog))
    return catalog

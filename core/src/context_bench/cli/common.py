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
from context_bench.errors import ContextBenchError, UnknownNameError
from context_bench.plugins.catalog import PACKAGE_HINT, Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings, load_project

__all__ = [
    "catalog_of_environment",
    "echo_json",
    "json_option",
    "open_catalog",
    "plugin_option",
    "project_option",
    "warn",
    "wrapped",
]

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


def open_catalog(switches: tuple[str, ...], project: Mapping[str, Any], without: tuple[str, ...] = ()) -> Catalog:
    """Discover what is installed, with the settings of the project, the environment and the command line.

    Args:
        switches: Values of ``-p``.
        project: The project file.
        without: Values of ``--without``: to leave an evaluator out is to switch it off.

    Raises:
        UnknownNameError: A switch names nothing that is installed.
    """
    off = (f"no:{name}" for name in without)
    catalog = discover(PluginSettings.read(project.get("plugins", {}), os.environ, (*switches, *off)))
    known = {name for component in catalog for name in component.names}
    for switch in switches:
        if switch.removeprefix("no:") not in known:
            raise UnknownNameError("plugin", switch.removeprefix("no:"), known, PACKAGE_HINT)
    return catalog


def catalog_of_environment() -> Catalog:
    """Discover what is installed while the command line itself is being read; a faulty project file is told later."""
    try:
        return open_catalog((), load_project())
    except ContextBenchError:
        return open_catalog((), {})

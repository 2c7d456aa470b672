"""``context-bench plugins``: the page that a team opens first."""

from __future__ import annotations

from pathlib import Path

import click

from context_bench.cli.common import json_option, no_cache_option, open_catalog, plugin_option, project_option
from context_bench.cli.groups import CommandGroup
from context_bench.cli.listing import listing, table
from context_bench.console import say, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import OK, PACKAGE_HINT, Catalog, Component
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.description import describe
from context_bench.plugins.settings import load_project


@click.group(cls=CommandGroup)
def plugins() -> None:
    """What is installed, in what state, wired to what."""


@plugins.command("list")
@click.option("--load", is_flag=True, help="Import every plugin too, which finds those that fail at it.")
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND", help=f"Only these: {', '.join(KINDS)}.")
@json_option
@no_cache_option
@plugin_option
@project_option
def list_plugins(
    load: bool, kind: str | None, as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None
) -> None:
    """List every component: state, distribution, what it is wired to, scores and needs.

    Nothing is imported, so this works with every plugin broken. Only --load can tell that a plugin fails at its import.
    """
    catalog = open_catalog(plugin_switches, load_project(project_path))
    if load:
        catalog = Catalog(map(_loaded, catalog))
    shown = [component for component in catalog if kind in (None, component.kind)]
    if as_json:
        write_json([describe(component) for component in shown])
    else:
        say("\n".join(listing(catalog, shown)))


@plugins.command("show")
@click.argument("name")
@click.option("--load", is_flag=True, help="Import it too.")
@json_option
@plugin_option
@project_option
def show(name: str, load: bool, as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> None:
    """Show everything that is known about a component or a distribution."""
    found = _named(open_catalog(plugin_switches, load_project(project_path)), name)
    if load:
        found = [_loaded(component) for component in found]
    if as_json:
        write_json([describe(component) for component in found])
        return
    for component in found:
        say("\n".join([*table(describe(component)), ""]))


def _named(catalog: Catalog, name: str) -> list[Component]:
    found = [component for component in catalog if name in component.names]
    if not found:
        raise UnknownNameError("plugin", name, {n for c in catalog for n in c.names if "/" not in n}, PACKAGE_HINT)
    return found


def _loaded(component: Component) -> Component:
    from context_bench.plugins.loading import try_load

    usable = component.called_by_id()
    if usable.state != OK:
        return component
    loaded = try_load(usable)[0]
    return component if loaded.state == OK else loaded

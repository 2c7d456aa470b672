"""``context-bench plugins``: the page that a team opens first."""

from __future__ import annotations

from pathlib import Path

import click

from context_bench.cli.groups import CommandGroup
from context_bench.cli.listed import FIELDS, USUAL_FIELDS, lines_of, tell_components
from context_bench.cli.listing import table
from context_bench.cli.options import json_option, no_cache_option, open_catalog, plugin_option, project_option
from context_bench.console import say, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import OPTIONAL, PACKAGE_HINT, STATES, Catalog, Component, describe
from context_bench.plugins.component_metadata import KINDS
from context_bench.plugins.settings import load_project


@click.group(cls=CommandGroup)
def plugins() -> None:
    """What is installed, in what state, wired to what."""


@plugins.command("list")
@click.option(
    "--load", is_flag=True, help="Import every plugin too, in a process of its own, which finds those that fail."
)
@click.option("--kind", type=click.Choice(KINDS), metavar="KIND", help=f"Only these: {', '.join(KINDS)}.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice((*STATES, OPTIONAL)),
    metavar="STATE",
    help=f"Only those that are: {', '.join((*STATES, OPTIONAL))}; repeatable.",
)
@click.option("--wired-to", metavar="DATASET", help="Only the evaluators that would score this dataset.")
@click.option("--fields", metavar="A,B", help=f"One line for each, with these: {', '.join(FIELDS)}.")
@click.option("--sort", type=click.Choice(tuple(FIELDS)), metavar="FIELD", help="In the order of one of the fields.")
@click.option("-v", "--verbose", is_flag=True, help="A block for each, on a terminal too.")
@json_option
@no_cache_option
@plugin_option
@project_option
def list_plugins(
    load: bool,
    kind: str | None,
    states: tuple[str, ...],
    wired_to: str | None,
    fields: str | None,
    sort: str | None,
    verbose: bool,
    as_json: bool,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
) -> None:
    """List every component: state, distribution, what it is wired to, scores and needs.

    On a terminal each has a line; elsewhere, and with -v, a block. Nothing is imported, so this works with every plugin
    broken. Only --load can tell that a plugin fails at its import.
    """
    catalog = open_catalog(plugin_switches, load_project(project_path))
    if load:
        catalog = Catalog(catalog.examined())
    shown = [component for component in catalog if kind in (None, component.kind)]
    shown = [component for component in shown if not states or {component.condition, component.state} & set(states)]
    if wired_to is not None:
        from context_bench.cli.explain import explain_wiring
        from context_bench.plugins.wiring import Choice

        report = explain_wiring(catalog, wired_to, (), Choice())
        wired = {told["evaluator"] for told in report["evaluators"] if told["wired"]}
        shown = [component for component in shown if component.kind == "evaluators" and component.id in wired]
    if sort is not None:
        shown.sort(key=lambda component: (FIELDS[sort](component, catalog), component.kind, component.id))
    if fields is not None and not as_json:
        say("\n".join(lines_of(catalog, shown, _fields(fields), None)))
    else:
        tell_components(catalog, shown, as_json, verbose)


def _fields(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FIELDS:
            raise UnknownNameError("field", name, FIELDS)
    return names or list(USUAL_FIELDS)


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
        found = Catalog(found).examined()
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

"""``context-bench datasets|systems|evaluators|metrics``: the installed components of one kind."""

from __future__ import annotations

from pathlib import Path

import click

from context_bench.cli.common import json_option, open_catalog, plugin_option, project_option
from context_bench.cli.groups import CommandGroup
from context_bench.console import say, wrapped, write_json
from context_bench.plugins.catalog import OK, singular
from context_bench.plugins.description import describe
from context_bench.plugins.project_file import load_project


def _group(kind: str) -> click.Group:
    @click.group(kind, cls=CommandGroup, help=f"The installed {kind}.")
    def group() -> None:
        pass

    @group.command("list", help=f"List the installed {kind}, one after the other.")
    @json_option
    @plugin_option
    @project_option
    def list_components(as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> None:
        components = list(open_catalog(plugin_switches, load_project(project_path)).of_kind(kind))
        if as_json:
            write_json([describe(component) for component in components])
            return
        if not components:
            say(f"No {kind} are installed.")
        longest = max((len(component.name) for component in components), default=0)
        for component in components:
            state = "" if component.state == OK else f"[{component.state}] "
            summary = component.facts.summary if component.facts else component.reason or "no manifest"
            say(wrapped(component.name, f"{state}{summary}", 0, longest + 2))

    @group.command("show", help=f"Show everything about one {singular(kind)}.")
    @click.argument("name")
    @json_option
    @plugin_option
    @project_option
    def show_component(name: str, as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> None:
        from context_bench.cli.listing import table

        component = open_catalog(plugin_switches, load_project(project_path)).find(kind, name)
        if as_json:
            write_json(describe(component))
        else:
            say("\n".join([*table(describe(component)), ""]))

    return group


datasets = _group("datasets")
systems = _group("systems")
evaluators = _group("evaluators")
metrics = _group("metrics")

"""Commands: what packages add to the command line, and what of the project's own is not installed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import OK, Component
from context_bench.plugins.remedies import install_line


def commands(catalog: Catalog, words: str, own: Container[str]) -> Iterator[Component]:
    """Yield the commands that packages add to a group.

    Args:
        words: The words before the names of its commands; empty at the top.
        own: The names of core's commands in it, which nobody takes.
    """
    for component in catalog.of_kind("commands"):
        command = component.command
        is_command = component.is_described and command.extends is None
        if is_command and (command.parent or "") == words and component.name not in own:
            yield component


def absent_commands(
    catalog: Catalog, words: str, own: Container[str]
) -> dict[str, tuple[str, str]]:
    """Return summary and distribution of the commands of ours that a group does not have here, by all their words."""
    from context_bench.plugins.first_party import COMMANDS

    here = {f"{words} {component.name}".strip() for component in commands(catalog, words, own)}
    return {
        name: told
        for name, told in COMMANDS.items()
        if name.rpartition(" ")[0] == words and name not in here
    }


def command_rows(
    catalog: Catalog, words: str, own: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the headings of what the help of a group lists, each with names and summaries; ``own`` gives core's."""
    told = [
        (c.name, ("" if c.state == OK else f"[{c.state}] ") + c.manifest.summary)
        for c in commands(catalog, words, own)
    ]
    absent = absent_commands(catalog, words, own).items()
    missing = [
        (name.rpartition(" ")[2], f"{said} `{install_line(home)}`") for name, (said, home) in absent
    ]
    headed = (("Commands", [*own.items(), *told]), ("Not installed", missing))
    yield from ((heading, rows) for heading, rows in headed if rows)

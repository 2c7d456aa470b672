"""Commands: what packages add to the command line, and what of the project's own is not
installed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from context_bench.installation import install_hint
from context_bench.plugins import first_party
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import OK, Component


def commands(catalog: Catalog, words: str, reserved: Container[str]) -> Iterator[Component]:
    """Yield the commands that packages add to a group.

    Args:
        catalog: What is installed.
        words: The words before the names of its commands; empty at the top.
        reserved: The names of core's commands in it.
    """
    for component in catalog.of_kind("commands"):
        command = component.command
        is_command = component.is_described and command.extends is None
        if is_command and (command.parent or "") == words and component.name not in reserved:
            yield component


def absent_commands(
    catalog: Catalog, words: str, reserved: Container[str]
) -> dict[str, first_party.Provider]:
    """Return the commands of the project that a group lacks because they are not installed, by all
    their words."""
    installed = {
        f"{words} {component.name}".strip() for component in commands(catalog, words, reserved)
    }
    return {
        name: provider
        for name, provider in first_party.COMMANDS.items()
        if name.rpartition(" ")[0] == words and name not in installed
    }


def command_rows(
    catalog: Catalog, words: str, core: Mapping[str, str]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the headings of what the help of a group lists, each with names and summaries.

    Args:
        catalog: What is installed.
        words: The words before the names of its commands.
        core: The summaries of core's commands in it, by name.
    """
    rows = list(core.items())
    for component in commands(catalog, words, core):
        state = "" if component.state == OK else f"[{component.state}] "
        rows.append((component.name, state + component.manifest.summary))
    if rows:
        yield "Commands", rows
    missing = []
    for name, provider in absent_commands(catalog, words, core).items():
        summary = f"{provider.text} {install_hint(provider.distribution)}"
        missing.append((name.rpartition(" ")[2], summary))
    if missing:
        yield "Not installed", missing

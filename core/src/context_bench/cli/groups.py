"""Command groups that packages add to: what a manifest declares is listed without an import, and imported when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from context_bench.cli.common import catalog_of_environment
from context_bench.console import printable
from context_bench.errors import ConfigurationError, PluginError, UnknownNameError
from context_bench.plugins.catalog import OK, Component, install_line
from context_bench.plugins.loading import load


class CommandGroup(click.Group):
    """A group with commands of its own and those that manifests declare with its name as their ``parent``.

    The top of the command line is the group without a name.
    """

    @property
    def words(self) -> str:
        """The words before the names of its commands; empty at the top."""
        return self.name or ""

    def own(self) -> dict[str, str]:
        """Return the summaries of its own commands, by name."""
        return {name: command.get_short_help_str(200) for name, command in self.commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands that are installed."""
        return [*self.own(), *(component.name for component in self.declared())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; that of a package is imported now.

        Raises:
            PluginError: A package declares it, but it cannot be used.
        """
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name in self.own():
            return own
        found = [component for component in self.declared() if cmd_name == component.name]
        return _loaded(found) if found else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the command that the arguments begin with; an absent one of ours is told with its package.

        Raises:
            ConfigurationError: It comes with a package that is not installed.
            UnknownNameError: There is no such command.
        """
        name = args[0]
        if name not in self.own() and not name.startswith("-") and self.get_command(ctx, name) is None:
            words = f"{self.words} {name}".strip()
            absent = self.absent()
            if words in absent:
                _, distribution = absent[words]
                raise ConfigurationError(
                    f"`context-bench {words}` comes with {distribution}, which is not installed: "
                    f"`{install_line(distribution)}`."
                )
            known = [*self.list_commands(ctx), *(words.rpartition(" ")[2] for words in absent)]
            raise UnknownNameError(
                f"{self.words} command".strip(), name, known, f"`{ctx.command_path} --help` shows all."
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries; nothing is imported."""
        lines = [*self.own().items(), *((c.name, _summary(c)) for c in self.declared())]
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl([(printable(name, lines=False), told) for name, told in lines])
        absent = self.absent()
        if absent:
            with formatter.section("Not installed"):
                formatter.write_dl(
                    [
                        (words.rpartition(" ")[2], f"{summary} `{install_line(distribution)}`")
                        for words, (summary, distribution) in absent.items()
                    ]
                )

    def declared(self) -> Iterator[Component]:
        """Yield the commands that packages add to this group."""
        for component in catalog_of_environment().of_kind("commands"):
            facts = component.facts
            if (
                facts
                and facts.extends is None
                and (facts.parent or "") == self.words
                and component.name not in self.own()
            ):
                yield component

    def absent(self) -> dict[str, tuple[str, str]]:
        """Return summary and distribution of the commands of ours that are not installed, by their words."""
        from context_bench.plugins.first_party import COMMANDS

        installed = {f"{self.words} {component.name}".strip() for component in self.declared()}
        return {
            words: told
            for words, told in COMMANDS.items()
            if words.rpartition(" ")[0] == self.words and words not in installed
        }


def _loaded(found: list[Component]) -> click.Command:
    usable = [component for component in found if component.state == OK]
    component = (usable or found)[0].require_ok()
    command = load(component)
    if not isinstance(command, click.Command):
        raise PluginError(
            f"The command {component.id} cannot be used: its entry point {component.target} names "
            f"{type(command).__name__}, not a click command. Tell the authors of {component.distribution.name}."
        )
    if isinstance(command, click.Group) and not isinstance(command, CommandGroup):
        return CommandGroup(
            component.name, command.commands, callback=command.callback, params=command.params, help=command.help
        )
    return command


def _summary(component: Component) -> str:
    summary = component.facts.summary if component.facts else ""
    return summary if component.state == OK else f"[{component.state}] {summary}"

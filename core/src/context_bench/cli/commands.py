"""The groups of commands: core's own commands, and those that packages declare in their
manifests."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from math import isfinite
from typing import Any

import click

from context_bench import __version__
from context_bench.cli import ABOUT, COMMANDS
from context_bench.cli.options import catalog_of_environment
from context_bench.console import echo, escape_control
from context_bench.errors import ConfigurationError, PluginError, UnknownNameError
from context_bench.plugins.commands import absent_commands, command_rows, commands
from context_bench.plugins.component import OK, Component
from context_bench.plugins.loading import load
from context_bench.plugins.remedies import install_line


class Readable(click.Context):
    """The context of every command, those of packages included: its help is printable, and its
    numbers are finite."""

    def get_help(self) -> str:
        """Return the help of its command: names, summaries and helps in it come from packages."""
        return escape_control(super().get_help())

    def invoke(self, *given: Any, **values: Any) -> Any:
        """Call the command.

        Raises:
            ConfigurationError: One of its options is not a number or infinite; click takes both for
                a float.
        """
        for option in self.command.params:
            if isinstance(value := self.params.get(option.name or ""), float) and not isfinite(
                value
            ):
                raise ConfigurationError(f"{option.opts[0]} must be a finite number, got {value}.")
        return super().invoke(*given, **values)


class CommandGroup(click.Group):
    """A group with commands of its own and those that manifests declare with its name as their
    ``parent``.

    The top of the command line is the group without a name.
    """

    context_class = Readable

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
        """Find the command that the arguments begin with; an absent one of ours is told with its
        package.

        Raises:
            ConfigurationError: It comes with a package that is not installed.
            UnknownNameError: There is no such command.
        """
        name = args[0]
        if (
            name not in self.own()
            and not name.startswith("-")
            and self.get_command(ctx, name) is None
        ):
            words = f"{self.words} {name}".strip()
            absent = absent_commands(catalog_of_environment(), self.words, self.own())
            if words in absent:
                _, distribution = absent[words]
                raise ConfigurationError(
                    f"`context-bench {words}` comes with {distribution}, which is not installed: "
                    f"`{install_line(distribution)}`."
                )
            known = [*self.list_commands(ctx), *(words.rpartition(" ")[2] for words in absent)]
            raise UnknownNameError(
                f"{self.words} command".strip(),
                name,
                known,
                f"`{ctx.command_path} --help` shows all.",
            )
        told, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            command = _as_group(command)
            command.context_class = Readable
        return told, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries; nothing is imported."""
        for heading, rows in command_rows(catalog_of_environment(), self.words, self.own()):
            with formatter.section(heading):
                formatter.write_dl(
                    [(escape_control(name, lines=False), told) for name, told in rows]
                )

    def declared(self) -> Iterator[Component]:
        """Return the commands that packages add to this group."""
        return commands(catalog_of_environment(), self.words, self.own())


def _loaded(found: list[Component]) -> click.Command:
    usable = [component for component in found if component.state == OK]
    component = (usable or found)[0].require_ok()
    command = load(component)
    if not isinstance(command, click.Command):
        raise PluginError(
            f"The command {component.id} cannot be used: its entry point {component.target} names "
            f"{type(command).__name__}, not a click command. Tell the authors of "
            f"{component.distribution.name}."
        )
    return _as_group(command)


def _as_group(command: click.Command) -> click.Command:
    """Return a group as one of ours, whose commands are found as all others are; any other command
    as it is."""
    if not isinstance(command, click.Group) or isinstance(command, CommandGroup):
        return command
    return CommandGroup(
        command.name,
        command.commands,
        callback=command.callback,
        params=command.params,
        help=command.help,
    )


explain = CommandGroup("explain", help="Tell why things are as they are.")


class _Top(CommandGroup):
    """The top group: its commands are imported when they are called. Flags without a command mean
    ``run``."""

    words = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if set(args) in ({"--version", "-v"}, {"--version", "--verbose"}):
            _say_versions()
            ctx.exit()
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h", "--version"):
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def own(self) -> dict[str, str]:
        return {name: summary for name, (_, summary) in COMMANDS.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


def _say_versions() -> None:
    """Say the version of everything that takes part, for a report of a fault."""
    import platform
    import sys

    echo(
        f"context-bench, version {__version__}\nPython {platform.python_version()} on "
        f"{sys.platform}"
    )
    trouble: dict[str, list[str]] = {}
    for component in catalog_of_environment():
        found = trouble.setdefault(
            f"{component.distribution.name} {component.distribution.told_version}", []
        )
        if component.status not in ("ok", "optional"):
            found.append(f"{component.name} {component.status}")
    for distribution in sorted(trouble):
        states = ", ".join(trouble[distribution])
        echo(f"{distribution}: {states}" if states else distribution)


@click.group(
    cls=_Top,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    help=ABOUT,
)
@click.version_option(__version__, prog_name="context-bench")
def app() -> None:
    """Hold every command."""

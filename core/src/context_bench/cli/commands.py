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
from context_bench.installation import install_hint
from context_bench.plugins.commands import absent_commands, command_rows, commands
from context_bench.plugins.component import OK, Component
from context_bench.plugins.loading import load


class Readable(click.Context):
    """The context of every command: its help is printable, and its numbers are finite."""

    def get_help(self) -> str:
        """Return the help of its command, made printable: packages write parts of it."""
        return escape_control(super().get_help())

    def invoke(self, *arguments: Any, **values: Any) -> Any:
        """Call the command.

        Raises:
            ConfigurationError: One of its options is infinite or not a number, which click accepts.
        """
        for option in self.command.params:
            value = self.params.get(option.name or "")
            if isinstance(value, float) and not isfinite(value):
                raise ConfigurationError(f"{option.opts[0]} must be a finite number, got {value}.")
        return super().invoke(*arguments, **values)


class CommandGroup(click.Group):
    """A group with its own commands and those of manifests that name it as ``parent``.

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
        """Return the names of all installed commands."""
        return [*self.own(), *(component.name for component in self.declared())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; a command of a package is imported now.

        Raises:
            PluginError: A package declares the command, but it cannot be used.
        """
        command = super().get_command(ctx, cmd_name)
        if command is not None or cmd_name in self.own():
            return command
        components = [component for component in self.declared() if cmd_name == component.name]
        return _loaded(components) if components else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the command that the arguments start with.

        Raises:
            ConfigurationError: Its package is a first-party package that is not installed.
            UnknownNameError: The command does not exist.
        """
        name = args[0]
        is_flag = name.startswith("-")
        if name not in self.own() and not is_flag and self.get_command(ctx, name) is None:
            raise self._unknown_command(ctx, name)
        resolved, command, remaining = super().resolve_command(ctx, args)
        if command is not None:
            command = _as_group(command)
            command.context_class = Readable
        return resolved, command, remaining

    def _unknown_command(self, ctx: click.Context, name: str) -> ConfigurationError:
        words = f"{self.words} {name}".strip()
        absent = absent_commands(catalog_of_environment(), self.words, self.own())
        if words in absent:
            _, distribution = absent[words]
            return ConfigurationError(
                f"`context-bench {words}` comes with {distribution}, which is not installed: "
                f"{install_hint(distribution)}."
            )
        known = [*self.list_commands(ctx), *(words.rpartition(" ")[2] for words in absent)]
        kind = f"{self.words} command".strip()
        return UnknownNameError(kind, name, known, f"`{ctx.command_path} --help` shows all.")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries; nothing is imported."""
        for heading, rows in command_rows(catalog_of_environment(), self.words, self.own()):
            with formatter.section(heading):
                formatter.write_dl(
                    [(escape_control(name, lines=False), summary) for name, summary in rows]
                )

    def declared(self) -> Iterator[Component]:
        """Return the commands that packages add to this group."""
        return commands(catalog_of_environment(), self.words, self.own())


def _loaded(components: list[Component]) -> click.Command:
    usable = [component for component in components if component.state == OK]
    component = (usable or components)[0].require_ok()
    command = load(component)
    if not isinstance(command, click.Command):
        raise PluginError(
            f"The command {component.id} cannot be used: its entry point {component.target} names "
            f"{type(command).__name__}, not a click command. Tell the authors of "
            f"{component.distribution.name}."
        )
    return _as_group(command)


def _as_group(command: click.Command) -> click.Command:
    """Return a group as a :class:`CommandGroup`, and any other command unchanged."""
    if not isinstance(command, click.Group) or isinstance(command, CommandGroup):
        return command
    return CommandGroup(
        command.name,
        command.commands,
        callback=command.callback,
        params=command.params,
        help=command.help,
    )


explain = CommandGroup("explain", help="Explain a row or a key of a run.")


class _Top(CommandGroup):
    """The top group: its commands are imported when they are called. Flags without a command mean
    ``run``."""

    words = ""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if set(args) in ({"--version", "-v"}, {"--version", "--verbose"}):
            _print_versions()
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


def _print_versions() -> None:
    """Print the versions of Python and of all packages, for a bug report."""
    import platform
    import sys

    echo(
        f"context-bench, version {__version__}\nPython {platform.python_version()} on "
        f"{sys.platform}"
    )
    faults: dict[str, list[str]] = {}
    for component in catalog_of_environment():
        distribution = component.distribution
        lines = faults.setdefault(f"{distribution.name} {distribution.told_version}", [])
        if component.status not in ("ok", "optional"):
            lines.append(f"{component.name} {component.status}")
    for name, lines in sorted(faults.items()):
        states = ", ".join(lines)
        echo(f"{name}: {states}" if states else name)


@click.group(
    cls=_Top,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    help=ABOUT,
)
@click.version_option(__version__, prog_name="context-bench")
def app() -> None:
    """Hold every command."""

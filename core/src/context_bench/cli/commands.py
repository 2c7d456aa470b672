"""The commands there are, and what packages add to them: groups of commands, and flags that are declared in manifests.

What a manifest declares is read like core's own and shown in the help, and never by an import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import click

from context_bench import __version__
from context_bench.cli import ABOUT, COMMANDS
from context_bench.console import echo, escape_control
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    PluginError,
    UnknownNameError,
)
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.commands import absent_commands, command_rows, commands
from context_bench.plugins.component import OK, Component, definition_of
from context_bench.plugins.discovery import discover
from context_bench.plugins.loading import load
from context_bench.plugins.options import Option
from context_bench.plugins.remedies import install_line, singular
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
    """Return what gives a command several options; its help shows them in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def catalog_options(command: Command) -> Callable[..., Any]:
    """Give a command ``-p`` and ``--project``; in their place it gets what is installed under them, as ``catalog``."""

    @together(plugin_option, project_option)
    @wraps(command)
    def call(plugin_switches: tuple[str, ...], project_path: Path | None, **values: Any) -> Any:
        return command(catalog=open_catalog(plugin_switches, load_project(project_path)), **values)

    return call


def open_catalog(
    switches: tuple[str, ...], project: Mapping[str, Any], without: tuple[str, ...] = ()
) -> Catalog:
    """Discover what is installed, with the settings of the project, the environment and the command line.

    Args:
        switches: Values of ``-p``.
        project: The project file.
        without: Values of ``--exclude``: to leave an evaluator out is to switch it off.

    Raises:
        UnknownNameError: A switch, the environment or the project file names what nobody has heard of.
    """
    settings = PluginSettings.read(
        project.get("plugins", {}), os.environ, (*switches, *(f"no:{name}" for name in without))
    )
    catalog = _discovered(settings)
    settings.require_known(catalog, without)
    return catalog


def catalog_of_environment() -> Catalog:
    """Discover what is installed while the command line itself is being read; faulty settings are told later."""
    try:
        return open_catalog((), load_project())
    except ContextBenchError:
        return _discovered(PluginSettings.read({}, os.environ))


def _discovered(settings: PluginSettings) -> Catalog:
    """Return what is installed under these settings, looked for once in a call of the command line, which keeps it."""
    context = click.get_current_context(silent=True)
    kept = context.find_root().obj if context else None
    found: list[tuple[PluginSettings, Catalog]] = kept if isinstance(kept, list) else []
    for known, catalog in found:
        if known == settings:
            return catalog
    found.append((settings, discover(settings)))
    return found[-1][1]


class Readable(click.Context):
    """The context of every command, those of packages included: its help is printable, and its numbers are finite."""

    def get_help(self) -> str:
        """Return the help of its command: names, summaries and helps in it come from packages."""
        return escape_control(super().get_help())

    def invoke(self, *given: Any, **values: Any) -> Any:
        """Call the command.

        Raises:
            ConfigurationError: One of its options is not a number or infinite; click takes both for a float.
        """
        for option in self.command.params:
            if isinstance(value := self.params.get(option.name or ""), float) and not isfinite(
                value
            ):
                raise ConfigurationError(f"{option.opts[0]} must be a finite number, got {value}.")
        return super().invoke(*given, **values)


class CommandGroup(click.Group):
    """A group with commands of its own and those that manifests declare with its name as their ``parent``.

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
        """Find the command that the arguments begin with; an absent one of ours is told with its package.

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
            f"{type(command).__name__}, not a click command. Tell the authors of {component.distribution.name}."
        )
    return _as_group(command)


def _as_group(command: click.Command) -> click.Command:
    """Return a group as one of ours, whose commands are found as all others are; any other command as it is."""
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
    """The top group: its commands are imported when they are called. Flags without a command mean ``run``."""

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
        f"context-bench, version {__version__}\nPython {platform.python_version()} on {sys.platform}"
    )
    trouble: dict[str, list[str]] = {}
    for component in catalog_of_environment():
        found = trouble.setdefault(
            f"{component.distribution.name} {component.distribution.told_version}", []
        )
        if component.status not in ("ok", "optional"):
            found.append(f"{component.name} {component.status}")
    for distribution in sorted(trouble):
        echo(
            f"{distribution}{': ' if trouble[distribution] else ''}{', '.join(trouble[distribution])}"
        )


@click.group(
    cls=_Top,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    help=ABOUT,
)
@click.version_option(__version__, prog_name="context-bench")
def app() -> None:
    """Hold every command."""


class DeclaredOptions(click.Command):
    """A command that also takes the flags of `run` which installed packages declare in their manifests."""

    def takes(self, component: Component) -> bool:
        """Whether flags of a component are flags of this command."""
        is_of_run = component.kind == "commands" and component.command.extends == "run"
        return is_of_run or component.kind in (
            "datasets",
            "evaluators",
            "hooks",
            "flags",
            "reporters",
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a flag that a package of ours would bring is told with the package."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            told = absent_flag(error.option_name)
            if told is None:
                raise
            raise ConfigurationError(told) from error

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, those that are declared in manifests included."""
        params = super().get_params(ctx)
        if _DECLARED not in ctx.meta:
            taken = {name for param in params for name in param.opts}
            found = {
                option.flag: (option, owner)
                for option, owner in self._flags()
                if option.flag not in taken
            }
            ctx.meta[_DECLARED] = [
                _declared_option(number, *one) for number, one in enumerate(found.values())
            ]
        return [*params, *ctx.meta[_DECLARED]]

    def _flags(self) -> Iterator[tuple[Option, str]]:
        """Yield each flag that a usable component declares, with its owner; one of a option group is the group's."""
        for component in catalog_of_environment():
            if self.takes(component) and (component.state == OK or component.lacks_extra):
                for option in component.manifest.options.values():
                    if option.flag and option.group is None:
                        yield option, f"{singular(component.kind)} {component.name}"


_DECLARED = "declared"


class RunOptions(DeclaredOptions):
    """A command that takes the arguments of `run`; its help shows the common options, ``--help-all`` the others.

    Args:
        own_names: Names of the parameters that `run` does not have; its help shows them, too.
    """

    def __init__(self, *arguments: Any, own_names: Collection[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._own_names = own_names

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options; all options by group where all were asked for."""
        params = self.get_params(ctx)
        declared = {param.opts[0]: param for param in ctx.meta[_DECLARED]}
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in params:
            record = param.get_help_record(ctx)
            if record is not None:
                heading = COMMON if param.name in self._own_names else _group_of(param, declared)
                groups.setdefault(heading, []).append(record)
        with formatter.section("Options"):
            formatter.write_dl(groups.pop(COMMON))
        if _HELP_ALL in ctx.meta:
            for heading, records in groups.items():
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what is installed below all options."""
        super().format_epilog(ctx, formatter)
        for kind in ("systems", "datasets", "evaluators") if _HELP_ALL in ctx.meta else ():
            components = list(catalog_of_environment().of_kind(kind))
            defined = sorted(one.name for one in components if _is_defined(one))
            entries = [_entry(one) for one in components if not _is_defined(one)]
            if defined:
                hint = "`context-bench datasets show NAME` shows each"
                entries.append(("by name", f"{', '.join(defined)}. {hint}"))
            if entries:
                with formatter.section(f"Installed {kind}"):
                    formatter.write_dl(entries)


COMMON = "Options"
OTHERS = "More options"
COMMON_FLAGS = frozenset(
    [
        "--system",
        "--reader",
        "--dataset",
        "--limit",
        "--proxy",
        "--name",
        "--model",
        "--evaluators",
        "--add-evaluator",
        "--max-workers",
        "--run-file",
        "--output",
        "--format",
        "--dry-run",
        "--project",
        "--set",
        "--help",
        "--help-all",
    ]
)
"""The options of ``run`` that most people need."""
_HELP_ALL = "help-all"


def _group_of(param: click.Parameter, declared: Mapping[str, click.Parameter]) -> str:
    """Return the heading under which the help shows a parameter."""
    if COMMON_FLAGS.intersection(param.opts):
        return COMMON
    if param.opts and param.opts[0] in declared:
        return "Options of installed packages"
    return OTHERS


def _show_all(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given:
        ctx.meta[_HELP_ALL] = True
        echo(ctx.get_help())
        ctx.exit()


help_all_option = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show every option, and what is installed, and exit.",
)


class AdmissionOptions(DeclaredOptions):
    """A command that continues a run, and takes the flags of extensions that admit calls, such as a budget."""

    def takes(self, component: Component) -> bool:
        """Return whether it is an extension that admits calls."""
        return component.kind == "hooks" and "admit_call" in component.extension.implements


class ReportOptions(DeclaredOptions):
    """A command that writes reports, and takes the flags which installed reporters declare."""

    def takes(self, component: Component) -> bool:
        """Whether it is a reporter."""
        return component.kind == "reporters"


def _is_defined(component: Component) -> bool:
    return definition_of(component) is not None and component.state == OK


def _entry(component: Component) -> tuple[str, str]:
    """Return name and summary of a component, with its options."""
    options = component.manifest.options.values()
    shown = [
        f"{o.name}={o.type.upper() if o.default is None or o.secret else o.default}"
        for o in options
    ]
    summary = component.manifest.summary if component.is_described else "no manifest"
    state = "" if component.state == OK else f"[{component.state}] "
    return component.name, f"{state}{summary}{'. Options: ' + ', '.join(shown) if shown else ''}"


def absent_flag(flag: str) -> str | None:
    """Return what to install for a flag that a package of the project would bring; None for any other."""
    from context_bench.plugins.first_party import FLAGS

    name = flag.partition("=")[0]
    if name not in FLAGS:
        return None
    component, distribution = FLAGS[name]
    return f"{name} is an option of {component}, which comes with {distribution}: `{install_line(distribution)}`."


def _declared_option(number: int, option: Option, owner: str) -> click.Option:
    names, told = [str(option.flag), f"flag_{number}"], f"{option.help}  ({owner})"
    if option.type == "bool":
        return click.Option(names, help=told, is_flag=True, default=None)
    if option.bare is not None:
        return click.Option(
            names, help=told, metavar="[VALUE]", is_flag=False, flag_value=option.bare
        )
    return click.Option(names, help=told, metavar="VALUE")


def flag_values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the declared flags that were given, by flag."""
    declared: list[click.Option] = click.get_current_context().meta.get(_DECLARED, [])
    values = {param.opts[0]: flags.get(param.name or "") for param in declared}
    return {flag: value for flag, value in values.items() if value is not None}

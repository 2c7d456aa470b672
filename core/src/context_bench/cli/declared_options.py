"""Options that packages declare in their manifests: read and shown like those of core, without an
import."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import click

from context_bench.cli.options import catalog_of_environment
from context_bench.console import echo
from context_bench.errors import ConfigurationError
from context_bench.installation import install_hint
from context_bench.plugins.component import OK, Component, definition_of
from context_bench.plugins.options import Option
from context_bench.plugins.remedies import singular


class DeclaredOptions(click.Command):
    """A command that also has the flags of `run` which installed packages declare."""

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
        """Read the arguments.

        Raises:
            ConfigurationError: A flag belongs to a first-party package that is not installed.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            message = absent_flag(error.option_name)
            if message is None:
                raise
            raise ConfigurationError(message) from error

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with those of manifests."""
        params = super().get_params(ctx)
        if _DECLARED not in ctx.meta:
            used = {name for param in params for name in param.opts}
            declared = {
                option.flag: (option, owner)
                for option, owner in self._flags()
                if option.flag not in used
            }
            ctx.meta[_DECLARED] = [
                _declared_option(number, option, owner)
                for number, (option, owner) in enumerate(declared.values())
            ]
        return [*params, *ctx.meta[_DECLARED]]

    def _flags(self) -> Iterator[tuple[Option, str]]:
        """Yield each flag that a usable component declares, with its owner; one of a option group
        is the group's."""
        for component in catalog_of_environment():
            if self.takes(component) and (component.state == OK or component.lacks_extra):
                for option in component.manifest.options.values():
                    if option.flag and option.group is None:
                        yield option, f"{singular(component.kind)} {component.name}"


_DECLARED = "declared"


class RunOptions(DeclaredOptions):
    """A command with the options of `run`; ``--help`` shows the common ones, ``--help-all`` all.

    Args:
        own_names: Names of the parameters that `run` does not have; its help shows them, too.
    """

    def __init__(self, *arguments: Any, own_names: Collection[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._own_names = own_names

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options, or all options by group for ``--help-all``."""
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
        """Write the installed components after all options."""
        super().format_epilog(ctx, formatter)
        if _HELP_ALL not in ctx.meta:
            return
        for kind in ("systems", "datasets", "evaluators"):
            defined: list[str] = []
            entries: list[tuple[str, str]] = []
            for component in catalog_of_environment().of_kind(kind):
                if _is_defined(component):
                    defined.append(component.name)
                else:
                    entries.append(_entry(component))
            if defined:
                hint = "`context-bench datasets show NAME` shows each"
                entries.append(("by name", f"{', '.join(sorted(defined))}. {hint}"))
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
    """A command that continues a run, with the flags of extensions that admit calls, such as a
    budget."""

    def takes(self, component: Component) -> bool:
        """Return whether it is an extension that admits calls."""
        return component.kind == "hooks" and "admit_call" in component.extension.implements


class ReportOptions(DeclaredOptions):
    """A command that writes reports, with the flags that installed reporters declare."""

    def takes(self, component: Component) -> bool:
        """Whether it is a reporter."""
        return component.kind == "reporters"


def _is_defined(component: Component) -> bool:
    return definition_of(component) is not None and component.state == OK


def _entry(component: Component) -> tuple[str, str]:
    """Return name and summary of a component, with its options."""
    options: list[str] = []
    for option in component.manifest.options.values():
        is_shown = option.default is not None and not option.secret
        options.append(f"{option.name}={option.default if is_shown else option.type.upper()}")
    text = component.manifest.summary if component.is_described else "no manifest"
    if component.state != OK:
        text = f"[{component.state}] {text}"
    if options:
        text += f". Options: {', '.join(options)}"
    return component.name, text


def absent_flag(flag: str) -> str | None:
    """Return a message with the first-party package of a flag; None for any other flag."""
    from context_bench.plugins.first_party import FLAGS

    name = flag.partition("=")[0]
    if name not in FLAGS:
        return None
    component, distribution = FLAGS[name]
    return (
        f"{name} is an option of {component}, which comes with {distribution}: "
        f"{install_hint(distribution)}."
    )


def _declared_option(number: int, option: Option, owner: str) -> click.Option:
    names = [str(option.flag), f"flag_{number}"]
    text = f"{option.help}  ({owner})"
    if option.type == "bool":
        return click.Option(names, help=text, is_flag=True, default=None)
    if option.bare is not None:
        return click.Option(
            names, help=text, metavar="[VALUE]", is_flag=False, flag_value=option.bare
        )
    return click.Option(names, help=text, metavar="VALUE")


def flag_values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the declared flags that were given, by flag."""
    declared: list[click.Option] = click.get_current_context().meta.get(_DECLARED, [])
    values = {param.opts[0]: flags.get(param.name or "") for param in declared}
    return {flag: value for flag, value in values.items() if value is not None}


def options_given(component: Component, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a component whose flags were given."""
    declared = component.manifest.options.items()
    return {
        name: values[option.flag]
        for name, option in declared
        if option.flag and option.flag in values
    }

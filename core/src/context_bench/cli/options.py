"""Options that commands share: plugin settings, the project file, and the flags that packages declare in their manifests.

Declared flags are read like core's own and shown in the help, and never by an import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import evolve

from context_bench.errors import ConfigurationError, ContextBenchError
from context_bench.plugins.catalog import OK, Catalog, singular
from context_bench.plugins.component_metadata import Option
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PROJECT_FILE, PluginSettings, load_project


class Catalogs:
    """What one call of the command line discovered: each catalog once, however often it is asked for."""

    def __init__(self) -> None:
        self._found: list[tuple[PluginSettings, Catalog]] = []

    def get(self, settings: PluginSettings) -> Catalog:
        """Return what is installed, under these settings."""
        for known, catalog in self._found:
            if known == settings:
                return catalog
        self._found.append((settings, discover(settings)))
        return self._found[-1][1]

    @property
    def sources(self) -> list[str]:
        """Every file and folder that decided what was found; empty when nothing was looked for."""
        found = [source for _, catalog in self._found for source in catalog.sources]
        return [PROJECT_FILE, *found] if found else []


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
no_cache_option = click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    help="Look again, even where nothing has changed since the last look.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


def open_catalog(switches: tuple[str, ...], project: Mapping[str, Any], without: tuple[str, ...] = ()) -> Catalog:
    """Discover what is installed, with the settings of the project, the environment and the command line.

    Args:
        switches: Values of ``-p``.
        project: The project file.
        without: Values of ``--without``: to leave an evaluator out is to switch it off.

    Raises:
        UnknownNameError: A switch, the environment or the project file names what nobody has heard of.
    """
    settings = PluginSettings.read(
        project.get("plugins", {}), os.environ, (*switches, *(f"no:{name}" for name in without))
    )
    catalog = _catalogs().get(settings)
    settings.require_known((component.names for component in catalog), without)
    return catalog


def catalog_of_environment() -> Catalog:
    """Discover what is installed while the command line itself is being read; faulty settings are told later."""
    try:
        return open_catalog((), load_project())
    except ContextBenchError:
        return _catalogs().get(PluginSettings.read({}, os.environ))


def _catalogs() -> Catalogs:
    context = click.get_current_context(silent=True)
    catalogs = context.find_root().obj if context else None
    return catalogs if isinstance(catalogs, Catalogs) else Catalogs()


_LISTED_KINDS = ("systems", "datasets", "evaluators")


class DeclaredOptions(click.Command):
    """A command that also takes the flags which installed packages declare in their manifests.

    Attributes:
        kinds: The kinds of components whose flags it takes; None for all whose flags are options of `run`.
    """

    kinds: tuple[str, ...] | None = None

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
        if "declared" not in ctx.meta:
            taken = {name for param in params for name in param.opts}
            flags = {option.flag: (option, owner) for option, owner in _flags(self.kinds) if option.flag not in taken}
            ctx.meta["declared"] = [
                _declared_option(number, option, owner) for number, (option, owner) in enumerate(flags.values())
            ]
        return [*params, *ctx.meta["declared"]]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what is installed below the options."""
        super().format_epilog(ctx, formatter)
        catalog = catalog_of_environment()
        for kind in _LISTED_KINDS:
            entries = []
            cards = []
            for component in catalog.of_kind(kind):
                if component.said.card and component.state == OK:
                    cards.append(component.name)
                    continue
                shown = [
                    f"{o.name}={o.default if o.default is not None and not o.secret else o.type.upper()}"
                    for o in component.said.options.values()
                ]
                summary = component.facts.summary if component.facts else "no manifest"
                state = "" if component.state == "ok" else f"[{component.state}] "
                entries.append((component.name, f"{state}{summary}{'. Options: ' + ', '.join(shown) if shown else ''}"))
            if cards:
                entries.append(
                    ("by name", f"{', '.join(sorted(cards))}. `context-bench datasets show NAME` tells of each")
                )
            if entries:
                with formatter.section(f"Installed {kind}"):
                    formatter.write_dl(entries)


class GovernorOptions(DeclaredOptions):
    """A command that goes on with a run, and takes the flags of governors: they can change what may still be called."""

    kinds = ("governors",)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing below the options: nothing that is installed is chosen here."""


class ReportOptions(DeclaredOptions):
    """A command that writes reports, and takes the flags which installed reporters declare."""

    kinds = ("reporters",)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing below the options: nothing that is installed is chosen here."""


def absent_flag(flag: str) -> str | None:
    """Return what to install for a flag that a package of the project would bring; None for any other."""
    from context_bench.plugins.catalog import install_line
    from context_bench.plugins.first_party import FLAGS

    name, _, _ = flag.partition("=")
    if name not in FLAGS:
        return None
    component, distribution = FLAGS[name]
    return f"{name} is an option of {component}, which comes with {distribution}: `{install_line(distribution)}`."


def _declared_option(number: int, option: Option, owner: str) -> click.Option:
    help_text = f"{option.help}  ({owner})"
    if option.type == "bool":
        return click.Option([str(option.flag), f"flag_{number}"], help=help_text, is_flag=True, default=None)
    names = [str(option.flag), f"flag_{number}"]
    if option.bare is not None:
        return click.Option(names, help=help_text, metavar="[VALUE]", is_flag=False, flag_value=option.bare)
    return click.Option(names, help=help_text, metavar="VALUE")


def _flags(kinds: tuple[str, ...] | None) -> Iterator[tuple[Option, str]]:
    """Yield each flag that a usable component declares, with its owner; one of a flag group is the group's."""
    for component in catalog_of_environment():
        said = component.said
        owns = component.kind in (kinds or ("evaluators", "run_parts", "flags", "reporters"))
        owns = owns or (kinds == ("governors",) and said.part_kind == "governor")
        owns = owns or (not kinds and component.kind == "commands" and said.extends == "run")
        if owns and (component.state == OK or component.lacks_extra):
            for option in said.options.values():
                if option.flag and option.group is None:
                    yield option, f"{singular(component.kind)} {component.name}"


def flag_values(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the declared flags that were given, by flag."""
    context = click.get_current_context()
    values = {
        param.opts[0]: flags.get(param.name or "")
        for param in context.command.get_params(context)
        if (param.name or "").startswith("flag_")
    }
    return {flag: value for flag, value in values.items() if value is not None}


def with_declared_flags(catalog: Catalog, request: Any, flags: Mapping[str, Any]) -> Any:
    """Return a request with the declared flags that were given, as options of the components that have them."""
    from context_bench.bench.run_parts import with_flags_of_parts

    options = {name: dict(given) for name, given in request.options.items()}
    values = flag_values(flags)
    for component in catalog.of_kind("evaluators"):
        for option in component.said.options.values():
            if option.flag and option.flag in values and component.called_by_id().state == OK:
                options.setdefault(component.name, {})[option.name] = values[option.flag]
    datasets = tuple(_dataset_with_flags(catalog, spec, values) for spec in request.datasets)
    return with_flags_of_parts(catalog, evolve(request, options=options, datasets=datasets), values)


def _dataset_with_flags(catalog: Catalog, spec: Any, values: Mapping[str, Any]) -> Any:
    """Return a dataset with the flags that were given and that it takes; what its own spec says comes first."""
    for component in catalog.named("datasets", spec.name):
        for option in component.said.options.values():
            if not option.flag or option.flag not in values:
                continue
            if option.name == "split":
                spec = evolve(spec, split=spec.split or values[option.flag])
            else:
                spec = evolve(spec, options={option.name: values[option.flag], **spec.options})
    return spec

"""Where results go: a table or text to standard output, files by their suffix, and what packages do after a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import click

from context_bench.cli.options import flag_values
from context_bench.console import Screen, say, tell
from context_bench.errors import ConfigurationError, ContextBenchError, PluginError, UnknownNameError
from context_bench.plugins.catalog import OK, Catalog, Component, of_suffix
from context_bench.plugins.loading import build, load, read_options
from context_bench.protocols import Reporter
from context_bench.reporters import TableReporter
from context_bench.results import EvalResult

SUFFIXES = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}

output_option = click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Write a report; its suffix says which: {' '.join(SUFFIXES)}. Repeatable.",
)


def _keep_brief(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_BRIEF] = value


_BRIEF = "context_bench.brief"
_brief_option = click.option(
    "--brief",
    is_flag=True,
    expose_value=False,
    callback=_keep_brief,
    help="Only the headline in the table, no further scores.",
)
_format_option = click.option(
    "--format",
    "result_format",
    default="table",
    show_default=True,
    metavar="NAME",
    help="What standard output gets: table, markdown, json, csv, none, or an installed reporter.",
)


def format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what standard output gets."""
    return _format_option(_brief_option(command))


class Reports:
    """The reports that a command was asked for; anything wrong with them is found before the run.

    Args:
        catalog: What is installed.
        outputs: Files to write.
        result_format: Reporter for standard output, or ``none``.
        flags: Values of the command's parameters: those of flags that reporters declare are their options.

    Raises:
        ConfigurationError: A file has no known suffix, or no folder to lie in.
        UnknownNameError: There is no such reporter.
    """

    def __init__(
        self, catalog: Catalog, outputs: Sequence[Path], result_format: str, flags: Mapping[str, Any] | None = None
    ) -> None:
        given = flag_values(flags) if flags else {}
        brief = {"brief": True} if _is_brief() else {}
        self._catalog = catalog
        self._screen = None if result_format == "none" else _reporter(catalog, result_format, given, brief)
        self._files = [(path, _reporter(catalog, _format_of(catalog, path), given)) for path in outputs]

    def write(self, result: EvalResult) -> None:
        """Write the result everywhere it was asked for, and below the table the sections that packages add."""
        own = isinstance(self._screen, TableReporter)  # its texts are printable, and rich knows the terminal
        if self._screen is not None:
            self._screen.write(result, sys.stdout if own else cast("TextIO", Screen()))
        for path, reporter in self._files:
            try:
                with path.open("w", encoding="utf-8", newline="") as stream:
                    reporter.write(result, stream)
            except OSError as error:
                raise ConfigurationError(f"The report {path} cannot be written: {error}.") from error
            tell(f"Report: {path}")
        for component in _extending(self._catalog, "table") if own else ():
            if text := _called(component, result):
                say(str(text))


def _is_brief() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_BRIEF))


def _reporter(catalog: Catalog, name: str, flags: Mapping[str, Any], own: Mapping[str, Any] | None = None) -> Reporter:
    component = catalog.find("reporters", name)
    declared = component.said.options
    options = {option: value for option, value in (own or {}).items() if option in declared}
    options |= {name: flags[option.flag] for name, option in declared.items() if option.flag and option.flag in flags}
    reporter = build(component, options)
    if not isinstance(reporter, Reporter):
        raise ConfigurationError(f"Reporter {name} is no reporter: it has no name or no write().")
    return reporter


def _format_of(catalog: Catalog, path: Path) -> str:
    if not path.parent.is_dir():
        raise ConfigurationError(f"There is no folder {path.parent} for the report {path.name}.")
    suffix, claims = path.suffix.lower(), catalog.suffixes("reporters")
    if suffix not in SUFFIXES and suffix not in claims:
        raise UnknownNameError("report suffix", path.suffix or path.name, [*SUFFIXES, *claims])
    return SUFFIXES.get(suffix) or of_suffix(catalog, "reporters", suffix).id


def after_run(catalog: Catalog, result: EvalResult, flags: Mapping[str, Any]) -> int:
    """Call what packages do after a run where one of their flags is given, and return the highest exit code.

    Raises:
        ContextBenchError: A value does not fit its option, or what is called fails.
    """
    values, codes = flag_values(flags), [0]
    for component in _extending(catalog, "run"):
        declared = component.said.options
        given = {name: values[option.flag] for name, option in declared.items() if option.flag in values}
        if given:
            code = _called(component, result, **read_options(declared, given, f"command {component.name}"))
            codes.append(code if isinstance(code, int) else 0)
    return max(codes)


def _extending(catalog: Catalog, what: str) -> list[Component]:
    found = catalog.of_kind("commands")
    return [one for one in found if one.state == OK and one.said.extends == what]


def _called(component: Component, *arguments: Any, **options: Any) -> Any:
    function = load(component)
    try:
        return function(*arguments, **options)
    except ContextBenchError:
        raise
    except (Exception, SystemExit, GeneratorExit) as error:
        raise PluginError(f"{component.id} failed: {type(error).__name__}: {error}") from error

"""Where results go: a table or text to standard output, files by their suffix, and what packages do after a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO, cast

import click

from context_bench.cli.commands import flag_values, options_given
from context_bench.console import Screen, say, tell
from context_bench.errors import ConfigurationError, ContextBenchError, PluginError, UnknownNameError
from context_bench.plugins.catalog import OK, Catalog, Component, of_suffix
from context_bench.plugins.loading import build, load, read_options
from context_bench.protocols import Reporter
from context_bench.reporters import TableReporter
from context_bench.results import EvalResult

SUFFIXES = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}

_options = (
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"Write a report; its suffix says which: {' '.join(SUFFIXES)}. Repeatable.",
    ),
    click.option(
        "--format",
        "result_format",
        default="table",
        show_default=True,
        metavar="NAME",
        help="What standard output gets: table, markdown, json, csv, none, or an installed reporter.",
    ),
    click.option("--brief", is_flag=True, help="Only the headline in the table, no further scores."),
)


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say where its result goes, and how; :class:`Reports` takes their values."""
    for option in reversed(_options):
        command = option(command)
    return command


class Reports:
    """The reports that a command was asked for; anything wrong with them is found before the run.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters: those of :func:`report_options`, and of flags that reporters declare.

    Raises:
        ConfigurationError: A file has no known suffix, or no folder to lie in.
        UnknownNameError: There is no such reporter.
    """

    def __init__(self, catalog: Catalog, flags: Mapping[str, Any]) -> None:
        given = flag_values(flags)
        brief = {"brief": True} if flags["brief"] else {}
        name = flags["result_format"]
        self._catalog = catalog
        self._screen = None if name == "none" else _reporter(catalog, name, given, brief)
        self._files = [(path, _reporter(catalog, _format_of(catalog, path), given)) for path in flags["outputs"]]

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


def _reporter(catalog: Catalog, name: str, flags: Mapping[str, Any], own: Mapping[str, Any] | None = None) -> Reporter:
    component = catalog.find("reporters", name)
    declared = component.said.options
    options = {option: value for option, value in (own or {}).items() if option in declared}
    reporter = build(component, {**options, **options_given(component, flags)})
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
        if given := options_given(component, values):
            options = read_options(component.said.options, given, f"command {component.name}")
            code = _called(component, result, **options)
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

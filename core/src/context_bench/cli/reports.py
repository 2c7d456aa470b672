"""Where the result of a command goes: reports in files and on standard output, and what packages do
after a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import click

from context_bench.cli.declared_options import flag_values, options_given
from context_bench.cli.options import together
from context_bench.console import atomic_write, check_place, echo, echo_err, result_stream
from context_bench.errors import ConfigurationError, PluginError, UnknownNameError
from context_bench.plan.run_config import PARAMETERS
from context_bench.plugins.catalog import Catalog, of_suffix
from context_bench.plugins.component import OK, Component
from context_bench.plugins.loading import attempted, build, load, unfit
from context_bench.plugins.options import read_options
from context_bench.protocols import Reporter
from context_bench.reporters import TableReporter
from context_bench.results.result import EvalResult

SUFFIXES = {".md": "markdown", ".json": "json", ".csv": "csv", ".txt": "table"}


report_options = together(
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
        help="What standard output gets: table, markdown, json, csv, none, or an installed "
        "reporter.",
    ),
    click.option(
        "--brief", is_flag=True, help="Only the primary score in the table, no further scores."
    ),
)
"""Gives a command the options that say where its result goes, and how; :class:`Reports` takes their
values."""


class Reports:
    """The reports that a command writes; a fault in their options is found before the run.

    Attributes:
        used: Kind and id of the reporters that write them.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters: those of :func:`report_options`, and of flags
            that reporters declare.
        taken: Files that the command reads or writes itself.

    Raises:
        ConfigurationError: A file has no known suffix, or no folder to lie in, or is taken.
        UnknownNameError: There is no such reporter.
    """

    def __init__(
        self, catalog: Catalog, flags: Mapping[str, Any], taken: Iterable[Any] = ()
    ) -> None:
        given = flag_values(flags)
        brief = {"brief": True} if flags["brief"] else {}
        name = flags["result_format"]
        self._catalog = catalog
        self.used: set[tuple[str, str]] = set()
        self._screen = None if name == "none" else self._reporter(name, given, brief)
        used = {os.path.realpath(str(one)) for one in taken if one is not None}
        for path in flags["outputs"]:
            if os.path.realpath(path) in used:
                raise ConfigurationError(
                    f"The report {path} would replace what this command reads or writes itself."
                )
            used.add(os.path.realpath(path))
        self._files = [
            (path, self._reporter(_format_of(catalog, path), given)) for path in flags["outputs"]
        ]

    def write(self, result: EvalResult) -> None:
        """Write the result to all reports, and after the table the sections that packages add."""
        own = isinstance(
            self._screen, TableReporter
        )  # its texts are printable, and rich knows the terminal
        if self._screen is not None:
            _write(self._screen, result, result_stream(is_drawn=own))
        for path, reporter in self._files:
            with atomic_write(path, "The report") as stream:
                _write(reporter, result, stream)
            echo_err(f"Report: {path}")
        for component in extending(self._catalog, "table") if own else ():
            if text := attempted(component.id, load(component), result):
                echo(str(text))

    def _reporter(
        self, name: str, flags: Mapping[str, Any], own: Mapping[str, Any] | None = None
    ) -> Reporter:
        component = self._catalog.find("reporters", name)
        declared = component.manifest.options
        options = {option: value for option, value in (own or {}).items() if option in declared}
        reporter = build(component, {**options, **options_given(component, flags)})
        if not isinstance(reporter, Reporter):
            raise unfit(component, f"{type(reporter).__name__} has no name or no write()")
        self.used.add((component.kind, component.id))
        return reporter


def _write(reporter: Reporter, result: EvalResult, stream: TextIO) -> None:
    try:
        attempted(f"The reporter {reporter.name}", reporter.write, result, stream)
    except PluginError as error:
        if isinstance(error.__cause__, OSError):  # the disk is full, or nobody reads any more
            raise error.__cause__ from None
        raise


def _format_of(catalog: Catalog, path: Path) -> str:
    if not path.parent.is_dir():
        raise ConfigurationError(f"There is no folder {path.parent} for the report {path.name}.")
    check_place(path, "The report")
    suffix, claims = path.suffix.lower(), catalog.suffixes("reporters")
    if suffix not in SUFFIXES and suffix not in claims:
        raise UnknownNameError("report suffix", path.suffix or path.name, [*SUFFIXES, *claims])
    return SUFFIXES.get(suffix) or of_suffix(catalog, "reporters", suffix).id


def after_run(catalog: Catalog, result: EvalResult, flags: Mapping[str, Any]) -> int:
    """Call what packages do after a run where one of their flags is given, and return the highest
    exit code.

    Raises:
        ContextBenchError: A value does not fit its option, or what is called fails.
    """
    values, codes = flag_values(flags), [0]
    for component in extending(catalog, "run"):
        if given := options_given(component, values):
            options = read_options(component.manifest.options, given, f"command {component.name}")
            code = attempted(component.id, load(component), result, **options)
            codes.append(code if isinstance(code, int) else 0)
    return max(codes)


def extending(catalog: Catalog, what: str) -> list[Component]:
    """Return the usable components that extend the table, or the command ``run``."""
    return [
        component
        for component in catalog.of_kind("commands")
        if component.state == OK and component.command.extends == what
    ]


def exit_code_of_run(result: Any, path: Path) -> int:
    """Return the exit code of a complete run: 12 for too many failed rows, else what an extension
    sets."""
    return failed_share(result, path) or int(result.config.get("exit_code", 0))


def failed_share(result: Any, path: Path) -> int:
    """Say how many rows failed and why, and return exit code 12 when they are more than may."""
    allowed = result.config["request"].get("max_failed")
    allowed = PARAMETERS["max_failed"].usual if allowed is None else allowed
    rows = sum(values.get("num_rows", 0) for values in result.summary.values())
    failed = sum(values.get("num_failed", 0) for values in result.summary.values())
    if not failed:
        return 0
    share = 100 * failed / rows
    shown = f"{share:.1f}" if share >= 0.1 else f"{share:.1g}"
    echo_err(f"{failed:.0f} of {rows:.0f} rows failed ({shown} %) and count as wrong.")
    from context_bench.results.reading import failure_causes

    for cause in failure_causes(path):
        echo_err(f"  {cause}")
    if share > 100 * allowed:
        echo_err(f"That is more than the {100 * allowed:g} % that --max-failed allows.")
        return 12
    return 0

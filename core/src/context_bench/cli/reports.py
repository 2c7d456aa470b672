"""The result of a command: reports in files and on standard output, and commands of packages that
follow a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TextIO

import click

from context_bench.cli.declared_options import flag_values, options_given
from context_bench.cli.options import together
from context_bench.console import atomic_write, check_place, echo, echo_err, result_stream, warn
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
"""Gives a command the options of its reports; :class:`Reports` receives their values."""


class Reports:
    """The reports that a command writes; errors in their options are found before the run.

    Attributes:
        used: Kind and id of the reporters that write them.

    Args:
        catalog: What is installed.
        flags: Values of the command's parameters: those of :func:`report_options`, and of flags
            that reporters declare.
        used_files: Files that the command reads or writes itself.

    Raises:
        ConfigurationError: A file has no known suffix, its folder does not exist, or the command
            uses it.
        UnknownNameError: A reporter does not exist.
    """

    def __init__(
        self, catalog: Catalog, flags: Mapping[str, Any], used_files: Iterable[Any] = ()
    ) -> None:
        values = flag_values(flags)
        brief = {"brief": True} if flags["brief"] else {}
        name = flags["result_format"]
        self._catalog = catalog
        self.used: set[tuple[str, str]] = set()
        self._screen = None if name == "none" else self._reporter(name, values, brief)
        used_paths = {os.path.realpath(str(file)) for file in used_files if file is not None}
        for path in flags["outputs"]:
            if os.path.realpath(path) in used_paths:
                raise ConfigurationError(
                    f"The report {path} would replace what this command reads or writes itself."
                )
            used_paths.add(os.path.realpath(path))
        self._files = [
            (path, self._reporter(_format_of(catalog, path), values)) for path in flags["outputs"]
        ]

    def write(self, result: EvalResult) -> None:
        """Write the result to all reports, and after the table the sections that packages add."""
        is_table = isinstance(self._screen, TableReporter)
        try:
            if self._screen is not None:
                # The texts of the table are printable, and rich knows the terminal.
                _write(self._screen, result, result_stream(is_drawn=is_table))
        finally:  # `| head` ends the output, and not the reports
            for path, reporter in self._files:
                with atomic_write(path, "The report") as stream:
                    _write(reporter, result, stream)
                echo_err(f"Report: {path}")
        if is_table:
            for component in extending(self._catalog, "table"):
                text = attempted(component.id, load(component), result)
                if text:
                    echo(str(text))

    def _reporter(
        self, name: str, flags: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
    ) -> Reporter:
        component = self._catalog.find("reporters", name)
        declared = component.manifest.options
        options = {name: value for name, value in (defaults or {}).items() if name in declared}
        options |= options_given(component, flags)
        reporter = build(component, options)
        if not isinstance(reporter, Reporter):
            raise unfit(component, f"{type(reporter).__name__} has no name or no write()")
        self.used.add((component.kind, component.id))
        return reporter


def _write(reporter: Reporter, result: EvalResult, stream: TextIO) -> None:
    try:
        attempted(f"The reporter {reporter.name}", reporter.write, result, stream)
    except PluginError as error:
        if isinstance(error.__cause__, OSError):  # the disk is full, or the pipe is closed
            raise error.__cause__ from None
        raise


def _format_of(catalog: Catalog, path: Path) -> str:
    if not path.parent.is_dir():
        raise ConfigurationError(f"There is no folder {path.parent} for the report {path.name}.")
    check_place(path, "The report")
    suffix = path.suffix.lower()
    claims = catalog.suffixes("reporters")
    if suffix not in SUFFIXES and suffix not in claims:
        raise UnknownNameError("report suffix", path.suffix or path.name, [*SUFFIXES, *claims])
    return SUFFIXES.get(suffix) or of_suffix(catalog, "reporters", suffix).id


def after_run(catalog: Catalog, result: EvalResult, flags: Mapping[str, Any]) -> int:
    """Call the commands of packages that follow a run, where one of their flags is given.

    Returns:
        The highest exit code.

    Raises:
        ContextBenchError: A value does not fit its option, or a command fails.
    """
    values = flag_values(flags)
    highest = 0
    for component in extending(catalog, "run"):
        requested = options_given(component, values)
        if requested:
            name = f"command {component.name}"
            options = read_options(component.manifest.options, requested, name)
            code = attempted(component.id, load(component), result, **options)
            if isinstance(code, int):
                highest = max(highest, code)
    return highest


def extending(catalog: Catalog, target: str) -> list[Component]:
    """Return the usable components that extend the table, or the command ``run``."""
    return [
        component
        for component in catalog.of_kind("commands")
        if component.state == OK and component.command.extends == target
    ]


NOTHING_SCORED = 3
"""Exit code of a run in which no evaluator scored a row."""


def exit_code_of_run(result: Any, path: Path) -> int:
    """Return the exit code of a complete run: 12 for too many failed rows, else what an extension
    sets, else 3 where evaluators were called and no row has a score."""
    code = failed_share(result, path) or int(result.config.get("exit_code", 0))
    return code or nothing_scored(result)


def nothing_scored(result: Any) -> int:
    """Print that no row has a score and return exit code 3, if that is so; else 0."""
    scores = [
        score
        for values in result.summary.values()
        for keys in values.get("scores", {}).values()
        for score in keys.values()
    ]
    is_silent = any(score["unscored"] for score in scores)
    if not is_silent or any(score["n"] > score["failed"] for score in scores):
        return 0
    warn(
        "No row has a score, so the exit code is 3. Name the columns with --field, or choose "
        "evaluators that fit the rows with --evaluators."
    )
    return NOTHING_SCORED


def failed_share(result: Any, path: Path) -> int:
    """Print how many rows failed and why; return exit code 12 if they are more than allowed."""
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

"""``context-bench resume``, ``report`` and ``export``: what can be done with a run file."""

from __future__ import annotations

from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

import click

from context_bench.cli.options import (
    GovernorOptions,
    ReportOptions,
    open_catalog,
    plugin_option,
    project_option,
    with_declared_flags,
)
from context_bench.cli.output import Reports, format_option, output_option
from context_bench.cli.run import parameters_of, set_option
from context_bench.console import Screen, warn, write_json
from context_bench.errors import RunStoppedError
from context_bench.plugins.settings import load_project
from context_bench.records import Completeness

INCOMPLETE = 3

partial_option = click.option(
    "--partial", is_flag=True, help="Take a run that is not complete as it is; else the exit code is 3."
)
run_argument = click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))


@click.command(cls=GovernorOptions)
@run_argument
@parameters_of("resume")
@output_option
@format_option
@plugin_option
@project_option
def resume(
    run_file: Path,
    outputs: tuple[Path, ...],
    result_format: str,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
    **flags: Any,
) -> int:
    """Finish a run: what was answered is not asked again, what failed is."""
    from context_bench.bench import runs
    from context_bench.bench.project import flags_over
    from context_bench.bench.requests import Request
    from context_bench.cli.run import failed_share, stopped

    def change(request: Request) -> Request:
        return with_declared_flags(catalog, flags_over(request, flags), flags)  # type: ignore[no-any-return]

    catalog = open_catalog(plugin_switches, load_project(project_path))
    reports = Reports(catalog, outputs, result_format)
    try:
        with redirect_stdout(cast("TextIO", Screen(aside=True))):
            result = runs.resume(catalog, run_file, change=change, on_warning=warn)
    except RunStoppedError as error:
        return stopped(error)
    reports.write(result)
    return failed_share(result, run_file)


@click.command()
@run_argument
@parameters_of("rescore")
@set_option
@click.option("--force", is_flag=True, help="Score again also what the same evaluators scored before.")
@output_option
@format_option
@plugin_option
@project_option
def rescore(
    run_file: Path,
    force: bool,
    outputs: tuple[Path, ...],
    result_format: str,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
    **flags: Any,
) -> None:
    """Score the stored responses of a run with new or changed evaluators; no system is asked."""
    from attrs import evolve

    from context_bench.bench.project import flags_over
    from context_bench.bench.requests import Request
    from context_bench.bench.rescoring import rescore as score_again

    def change(request: Request) -> Request:
        changed = flags_over(request, flags)
        also, without = (tuple(dict.fromkeys((*getattr(request, name), *flags[name]))) for name in ("also", "without"))
        return evolve(changed, also=also, without=without)

    catalog = open_catalog(plugin_switches, load_project(project_path))
    reports = Reports(catalog, outputs, result_format)
    with redirect_stdout(cast("TextIO", Screen(aside=True))):
        result = score_again(catalog, run_file, change, force=force, on_warning=warn)
    reports.write(result)


@click.command(cls=ReportOptions)
@run_argument
@click.option("--score-field", metavar="KEY", help="Score that the metrics look at.  [default: as in the run]")
@click.option("--threshold", type=float, metavar="X", help="Score that passes.  [default: as in the run]")
@click.option(
    "--baseline", metavar="LABEL", help="The system that the others are held against.  [default: as in the run]"
)
@output_option
@format_option
@partial_option
def report(
    run_file: Path,
    score_field: str | None,
    threshold: float | None,
    baseline: str | None,
    outputs: tuple[Path, ...],
    result_format: str,
    partial: bool,
    **flags: Any,
) -> int:
    """Show the result of a run again, or write it in another form; nothing is run."""
    from context_bench.bench.reading import read_result

    catalog = open_catalog((), {})
    reports = Reports(catalog, outputs, result_format, flags)
    result = read_result(run_file, score_field, threshold, baseline, catalog)
    for line in result.warnings:
        warn(line)
    reports.write(result)
    return _told(result.completeness, partial)


def _told(completeness: Completeness, partial: bool) -> int:
    """Say on standard error what is missing of a run, and return the exit code."""
    for sentence in completeness.sentences:
        warn(sentence)
    return 0 if partial or completeness.is_complete else INCOMPLETE


@click.command()
@run_argument
@click.option("--canonical", is_flag=True, help="Leave out what differs between equal runs: timing, attempts, reuse.")
@partial_option
def export(run_file: Path, canonical: bool, partial: bool) -> int:
    """Write the rows of a run as JSON lines to standard output, in canonical order."""
    from context_bench.bench.reading import canonical_row
    from context_bench.results import row_to_dict, strict
    from context_bench.runs import open_run

    with open_run(run_file) as run:
        for row in run.rows():
            told = canonical_row(row) if canonical else row_to_dict(row)
            write_json(strict(told), None)
        return _told(run.completeness, partial)

"""The commands for run files: ``resume``, ``rescore``, ``report``, ``export`` and ``merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from attrs import evolve

from context_bench.cli.declared_options import AdmissionOptions, ReportOptions
from context_bench.cli.options import catalog_options, open_catalog, plugin_option
from context_bench.cli.reports import Reports, exit_code_of_run, report_options
from context_bench.cli.run_options import (
    parameters_of,
    set_option,
    unused_options,
    with_declared_flags,
)
from context_bench.console import echo_err, stdout_aside, warn, write_json
from context_bench.errors import MissingValueError
from context_bench.plan.project import flags_over, settings_over
from context_bench.plan.run_config import RunConfig
from context_bench.plugins.catalog import Catalog
from context_bench.records import Completeness

INCOMPLETE = 3


_partial_option = click.option(
    "--partial",
    is_flag=True,
    help="Take a run that is not complete as it is; else the exit code is 3.",
)


_run_argument = click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
_trust_option = click.option(
    "--trust",
    "is_trusted",
    is_flag=True,
    help="Use what a run file of somebody else asks for; without it that is only listed.",
)


@click.command(cls=AdmissionOptions)
@_run_argument
@parameters_of("resume")
@_trust_option
@report_options
@catalog_options
def resume(run_file: Path, is_trusted: bool, catalog: Catalog, **flags: Any) -> int:
    """Finish a run: answered rows are kept, failed rows are repeated."""
    from context_bench.session.run import resume as resume_run

    def change(request: RunConfig) -> RunConfig:
        return with_declared_flags(catalog, flags_over(request, flags), flags)

    reports = Reports(catalog, flags, [run_file])
    with stdout_aside():
        result = resume_run(
            catalog, run_file, change=change, is_trusted=is_trusted, on_warning=warn
        )
    reports.write(result)
    return exit_code_of_run(result, run_file)


@click.command()
@_run_argument
@parameters_of("rescore")
@set_option
@click.option(
    "--force", is_flag=True, help="Score again also what the same evaluators scored before."
)
@_trust_option
@report_options
@catalog_options
def rescore(run_file: Path, force: bool, is_trusted: bool, catalog: Catalog, **flags: Any) -> None:
    """Score the stored responses of a run with new or changed evaluators; no system is called."""
    from context_bench.session.rescoring import rescore as score_again

    def change(request: RunConfig) -> RunConfig:
        # Options of extensions are for a run, so the catalog is empty.
        changed = settings_over(flags_over(request, flags), flags, Catalog())
        merged: dict[str, Any] = {}
        for name in ("add_evaluators", "exclude"):
            merged[name] = tuple(dict.fromkeys((*getattr(request, name), *flags[name])))
        return evolve(changed, **merged)

    reports = Reports(catalog, flags, [run_file])
    with stdout_aside():
        result = score_again(
            catalog, run_file, change, force=force, is_trusted=is_trusted, on_warning=warn
        )
    reports.write(result)


@click.command()
@click.argument("run_files", metavar="RUN...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "whole",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The run file of the whole.",
)
@click.option(
    "--format",
    "result_format",
    default="table",
    show_default=True,
    metavar="NAME",
    help="What standard output gets: table, markdown, json, csv, none, or an installed reporter.",
)
@click.option("--brief", is_flag=True, help="Only the primary score in the table.")
@_partial_option
@_trust_option
@catalog_options
def merge(
    run_files: tuple[Path, ...],
    whole: Path | None,
    partial: bool,
    is_trusted: bool,
    catalog: Catalog,
    **flags: Any,
) -> int:
    """Join the run files of the shards of a run (run --shard I/N) to that of the whole; nothing is
    called or scored."""
    from context_bench.session.merging import merge as merge_runs

    if not run_files:
        raise MissingValueError("run file", "Name the run files of the shards.")
    if whole is None:
        raise MissingValueError("output", "Pass -o FILE, the run file of the whole.")
    reports = Reports(catalog, {**flags, "outputs": ()}, [*run_files, whole])
    result = merge_runs(
        catalog,
        run_files,
        whole,
        is_partial=partial,
        is_trusted=is_trusted,
        on_warning=warn,
    )
    for line in result.warnings:
        warn(line)
    reports.write(result)
    echo_err(f"Run file: {whole}")
    _warn_of_missing(result.completeness, partial)
    return exit_code_of_run(result, whole)


@click.command(cls=ReportOptions)
@_run_argument
@click.option(
    "--score-field", metavar="KEY", help="Score that the metrics look at.  [default: as in the run]"
)
@click.option(
    "--threshold", type=float, metavar="X", help="Score that passes.  [default: as in the run]"
)
@click.option(
    "--baseline",
    metavar="LABEL",
    help="The system that the others are compared with.  [default: as in the run]",
)
@report_options
@_partial_option
@plugin_option
def report(
    run_file: Path,
    score_field: str | None,
    threshold: float | None,
    baseline: str | None,
    partial: bool,
    **flags: Any,
) -> int:
    """Show the result of a run again, or write it in another form; nothing is run."""
    from context_bench.results.reading import read_result

    catalog = open_catalog(flags["plugin_switches"], {})
    reports = Reports(catalog, flags, [run_file])
    for error in unused_options(catalog, flags, reports.used):
        raise error
    result = read_result(
        run_file,
        score_field=score_field,
        threshold=threshold,
        baseline=baseline,
        catalog=catalog,
    )
    for line in result.warnings:
        warn(line)
    reports.write(result)
    return _warn_of_missing(result.completeness, partial)


def _warn_of_missing(completeness: Completeness, partial: bool) -> int:
    """Print the missing parts of a run on standard error, and return the exit code."""
    for sentence in completeness.sentences:
        warn(sentence)
    return 0 if partial or completeness.is_complete else INCOMPLETE


@click.command()
@_run_argument
@click.option(
    "--canonical",
    is_flag=True,
    help="Leave out what differs between equal runs: timing, attempts, reuse.",
)
@_partial_option
def export(run_file: Path, canonical: bool, partial: bool) -> int:
    """Write the rows of a run as JSON lines to standard output, in canonical order."""
    from context_bench.results.reading import canonical_row
    from context_bench.results.result import strict
    from context_bench.runs import open_run

    with open_run(run_file) as run:
        for row in run.rows():
            fields = canonical_row(row) if canonical else run.to_dict(row)
            write_json(strict(fields), None)
        return _warn_of_missing(run.completeness, partial)

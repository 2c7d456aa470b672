"""``context-bench suite``: named suites."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from context_bench import EvalResult, evaluate
from context_bench.console import echo, echo_err, warn, wrap_text, write_json
from context_bench.errors import MissingValueError
from context_bench.runs import open_run
from context_bench_compare.comparing import Line
from context_bench_compare.of_result import compare_result
from context_bench_compare.rendering import HEADINGS, aligned, cells, sentences, to_dict
from context_bench_suites.comparing import compared_runs, compared_suite, shown_lines
from context_bench_suites.model import required_model
from context_bench_suites.running import arguments, headline
from context_bench_suites.suite_file import Suite
from context_bench_suites.suite_folders import find_suite, find_suites

_folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Folder of suites besides those of packages.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


@click.group()
def suite() -> None:
    """Named suites: a fixed request with a fixed report."""


@suite.command(name="list")
@_folder_option
@_json_option
def list_(folder: Path | None, as_json: bool) -> None:
    """Show the suites of installed packages and of a folder."""
    found = find_suites(folder)
    if as_json:
        write_json([{**one.stamp(), "summary": one.summary} for one in found])
        return
    rows = [(one.name, one.version, one.sha256[:12], one.summary) for one in found]
    echo(aligned(("suite", "version", "SHA-256", "summary"), rows))


@suite.command()
@click.argument("name")
@_folder_option
@_json_option
def show(name: str, folder: Path | None, as_json: bool) -> None:
    """Show what a suite pins: its TOML file and the hash of it."""
    found = find_suite(name, folder)
    if as_json:
        shown = {"model": found.model, "run": found.run, "compare": found.compare}
        write_json({**found.stamp(), **shown})
        return
    echo(f"# {found.name} {found.version}, SHA-256 {found.sha256}")
    echo(found.path.read_text(encoding="utf-8").rstrip())


@suite.command()
@click.argument("name")
@click.option(
    "--system",
    "-s",
    "systems",
    multiple=True,
    metavar="SPEC",
    help="A system to measure: [label=]name[:key=value,...]; repeatable.",
)
@click.option("--model", metavar="NAME", help="The model, for a suite that calls one.")
@click.option("--endpoint", metavar="URL", help="Address of the model's own endpoint.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="[LABEL=]URL",
    help="A proxy in front of the model to measure; repeatable.",
)
@click.option(
    "--run-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to keep the run; a file that is there already is resumed.  [default: NAME.sqlite]",
)
@click.option(
    "-n",
    "limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rows of each dataset, for a trial: comparable only with trials of as many rows.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@_folder_option
@_json_option
def run(
    *,
    name: str,
    systems: tuple[str, ...],
    run_file: Path | None,
    limit: int | None,
    quiet: bool,
    folder: Path | None,
    as_json: bool,
    **model: Any,
) -> None:
    """Run a suite with your systems, and show its headline table and its comparison."""
    found = find_suite(name, folder)
    called = required_model(found, **model)
    if not systems and not model["proxies"]:
        raise MissingValueError(
            "system",
            "Pass --system SPEC." if called is None else "Pass --proxy URL or --system SPEC.",
        )
    path = run_file or Path(f"{found.name}.sqlite")
    result = evaluate(
        **arguments(found, systems, limit, called),
        run_file=str(path),
        progress=not quiet,
        on_warning=warn,
    )
    if limit is not None:
        echo_err(f"A trial with -n {limit}: it is not a result of {found.name}.")
    with open_run(path) as opened:
        table = headline(found, result, opened)
    if as_json:
        write_json(_told(found, result, table))
        return
    _show_headline(table)
    echo()
    echo(aligned(HEADINGS, cells(_lines(found, result))))
    echo()
    echo(_suite_line(found))
    echo(f"Run file: {path}")


@suite.command()
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@_folder_option
@_json_option
def compare(first: Path, second: Path, folder: Path | None, as_json: bool) -> None:
    """Compare two runs of one suite; runs with unequal pins are refused, and the pins are named."""
    with ExitStack() as opened:
        runs = [opened.enter_context(open_run(path)) for path in (first, second)]
        found = compared_suite(runs[0], runs[1], folder)
        lines = shown_lines(found, compared_runs(found, runs))
    if as_json:
        write_json({"suite": found.stamp(), "comparisons": [to_dict(line) for line in lines]})
        return
    echo(aligned(HEADINGS, cells(lines)))
    echo()
    for sentence in sentences(lines):
        indent = len(sentence) - len(sentence.lstrip())
        echo(wrap_text("", sentence.strip(), indent, 0))
    echo(_suite_line(found))


def _told(found: Suite, result: EvalResult, table: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "suite": found.stamp(),
        "headline": table,
        "comparisons": [to_dict(line) for line in _lines(found, result)],
    }


def _lines(found: Suite, result: EvalResult) -> list[Line]:
    return shown_lines(found, compare_result(result, **found.compare).overview)


def _suite_line(found: Suite) -> str:
    return f"Suite {found.name} {found.version}, SHA-256 {found.sha256[:12]}."


def _show_headline(table: list[dict[str, Any]]) -> None:
    headings = list(table[0])
    rows = [[_cell(line[heading]) for heading in headings] for line in table]
    echo(aligned(headings, rows))


def _cell(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else value

"""``context-bench baseline``: runs that a team has agreed to hold others against."""

from __future__ import annotations

from pathlib import Path

import click

from context_bench.console import echo, echo_err, write_json
from context_bench.errors import ConfigurationError
from context_bench_compare import baselines as named
from context_bench_compare.rendering import aligned

folder_option = click.option(
    "--baselines",
    "folder",
    type=click.Path(path_type=Path),
    default=named.BASELINES,
    show_default=True,
    help="Folder of the named baselines.",
)


@click.group()
def baseline() -> None:
    """Name the runs that a team compares others with."""


@baseline.command()
@click.argument("run")
@click.option(
    "--as",
    "name",
    required=True,
    metavar="NAME",
    help="Name of the baseline; gates write it @NAME.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Why it is the baseline, for others.")
@folder_option
def promote(run: str, name: str, reason: str, folder: Path) -> None:
    """Make a finished run, or another baseline by @NAME, a named baseline, in place of the one that had the name."""
    made = named.promote(named.find_baseline(run, folder), name, reason, folder)
    echo(f"@{made.name} is now {made.path}, a copy of {run}.")


@baseline.command(name="list")
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def list_(folder: Path, as_json: bool) -> None:
    """Show the named baselines, how old they are, and why they are there."""
    found, faults = [], []
    for path in named.baseline_files(folder):
        try:
            found.append(named.read_baseline(path))
        except ConfigurationError as error:  # the others are told all the same
            faults.append(error)
    if as_json:
        write_json(
            [
                {
                    "name": one.name,
                    "path": str(one.path),
                    "reason": one.reason,
                    "promoted": one.promoted,
                }
                for one in found
            ]
        )
    elif found:
        rows = [(f"@{one.name}", one.age(), one.reason, one.path) for one in found]
        echo(aligned(("name", "age", "reason", "run file"), rows))
    elif not faults:
        echo_err(
            f"{folder} holds no baseline. `context-bench baseline promote RUN --as NAME --reason TEXT` makes one."
        )
    if faults:
        raise faults[0]

"""``context-bench verify``: can a run file be trusted?"""

from __future__ import annotations

from pathlib import Path

import click
from attrs import asdict

from context_bench.cli.common import echo_json, json_option, open_catalog, plugin_option, project_option, warn
from context_bench.plugins.project_file import load_project

MISSED = 10


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@json_option
@plugin_option
@project_option
def verify(run_file: Path, as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> int:
    """Hold a run file against its seal, its check sums and its hashes, and recompute its deterministic scores.

    The exit code is 10 when something is wrong.
    """
    from context_bench.bench.verification import verify as verify_run

    found = verify_run(open_catalog(plugin_switches, load_project(project_path)), run_file)
    if as_json:
        echo_json(asdict(found))
    else:
        for note in found.notes:
            warn(note)
        for problem in found.problems:
            click.echo(f"{click.style('Wrong: ', fg='red')}{problem}")
        if not found.problems:
            seal = "whole and as it was when its run ended" if found.sealed else "whole"
            click.echo(f"{run_file} is {seal}: {found.rows} rows, {found.recomputed} scorings computed again.")
    return MISSED if found.problems else 0

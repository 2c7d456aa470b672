"""``context-bench verify``: can a run file be trusted?"""

from __future__ import annotations

from pathlib import Path

import click
from attrs import asdict

from context_bench.catalog import open_catalog
from context_bench.console import echo, style, warn, write_json

MISSED = 10


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option(
    "--write-checksum",
    is_flag=True,
    help="Write the SHA-256 of the file to RUN.sha256 when nothing is wrong; a later verify compares it.",
)
@click.option(
    "-p",
    "switches",
    multiple=True,
    metavar="[no:]NAME",
    help="Switch a plugin off (no:NAME) or on, against the environment and the project file.",
)
@click.option(
    "--project",
    "project_path",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Project file.  [default: context-bench.toml here, if there is one]",
)
def verify(
    run_file: Path,
    as_json: bool,
    write_checksum: bool,
    switches: tuple[str, ...],
    project_path: Path | None,
) -> int:
    """Check the checksums and hashes of a run file, and compute its deterministic scores again.

    The exit code is 10 when something is wrong.
    """
    from context_bench_audit.checksum import write_checksum as write_checksum_of
    from context_bench_audit.verification import verify as verify_run

    found = verify_run(open_catalog(switches, project_path), run_file)
    if as_json:
        write_json(asdict(found))
    else:
        for note in found.notes:
            warn(note)
        for problem in found.problems:
            echo(f"{style('Wrong: ', color='red')}{problem}")
        if not found.problems:
            state = "whole and matches its checksum" if found.has_checksum else "whole"
            rest = f", {found.left_out} left out" if found.left_out else ""
            echo(
                f"{run_file} is {state}: {found.rows} rows, {found.recomputed} scorings computed again{rest}."
            )
    if found.problems:
        return MISSED
    if write_checksum:
        write_checksum_of(run_file)
    return 0

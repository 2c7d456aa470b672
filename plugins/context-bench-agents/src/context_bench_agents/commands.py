"""``context-bench datasets swebench-predictions``: what SWE-bench's harness is given."""

from __future__ import annotations

import json
from pathlib import Path

import click

from context_bench.answers import part_answer
from context_bench.console import atomic_write, echo, escape_control
from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.runs import open_run
from context_bench_agents.patches import patch_of


@click.command("swebench-predictions")
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="JSONL to write.",
)
@click.option(
    "--system",
    metavar="LABEL",
    help="The system whose patches to write; needed where a run has several.",
)
def predictions(run_file: Path, target: Path, system: str | None) -> int:
    """Write the patches of a run as SWE-bench's harness reads them.

    Run the harness where there are containers; then `context-bench rescore RUN --set
    evaluators.swebench-resolved.report=REPORT.json` scores the run by its report.
    """
    with open_run(run_file) as run:
        labels = [str(entry["label"]) for entry in run.systems]
        if system is not None and system not in labels:
            raise UnknownNameError("system of this run", system, labels)
        if system is None and len(labels) != 1:
            raise ConfigurationError(
                f"{run_file} has the systems {', '.join(labels)}: choose one with --system."
            )
        chosen = system or labels[0]
        written = 0
        with atomic_write(target) as file:
            for row in run.rows(labels.index(chosen)):
                if row.repetition or row.response is None:
                    continue
                patch = patch_of(part_answer(row.response).answer) or ""
                line = {
                    "instance_id": row.example_id,
                    "model_name_or_path": chosen,
                    "model_patch": patch,
                }
                file.write(
                    escape_control(json.dumps(line, ensure_ascii=False), is_json=True) + "\n"
                )
                written += 1
    echo(f"{written} predictions in {target}")
    return 0

"""``context-bench compare``: which system is better, by how much and how surely."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from context_bench.console import (
    atomic_write,
    echo,
    echo_err,
    escape_control,
    wrap_text,
    write_json,
)
from context_bench.errors import ConfigurationError
from context_bench.runs import Run, open_run
from context_bench_compare import baselines as named
from context_bench_compare.baseline_command import baseline, folder_option
from context_bench_compare.columns import PRIMARY, threshold_of
from context_bench_compare.comparing import Overview, overview
from context_bench_compare.entrants import baseline_of, contestants, is_own_baseline
from context_bench_compare.gates import Outcome, difference, exit_code, parse_gate, project_gates
from context_bench_compare.gating import judge
from context_bench_compare.plan_command import plan
from context_bench_compare.rendering import (
    HEADINGS,
    aligned,
    cells,
    csv,
    gate_sentence,
    junit,
    markdown,
    more_sentences,
    more_to_dict,
    outcome_to_dict,
    sentences,
    to_dict,
)
from context_bench_compare.verdicts import Rules

INCOMPLETE = 3

_path = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=str, metavar="RUN...")
@click.option(
    "--baseline",
    metavar="LABEL",
    help="The system that the others are compared with, or @NAME for that of a named baseline.  [default: the run's own, or the "
    "first]",
)
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    metavar="KEY",
    help="Score or measure to compare; repeatable.  [default: the primary score]",
)
@click.option(
    "--by",
    multiple=True,
    metavar="FIELD",
    help="Compare slices too: dataset, tag, length, depth, or any field of the examples; repeatable.",
)
@click.option(
    "--cluster",
    metavar="FIELD",
    help="Field by which rows hang together, id:SEPARATOR for the part of the id before it, or row for none.  [default: cluster, "
    "session_id or context]",
)
@click.option(
    "--margin",
    type=difference,
    metavar="X",
    help="Difference that does not matter, 0.02 or 2pp: within it two systems are equivalent.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="C",
    help="Of the intervals.",
)
@click.option(
    "--threshold",
    type=float,
    metavar="X",
    help="Score that passes, for flips, pass_rate and the cost of a pass.  [default: as in the first run]",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="S",
    help="Seed of everything that is drawn.",
)
@click.option(
    "--gate",
    "gate_texts",
    multiple=True,
    metavar="GATE",
    help="f1:max-drop=1pp, pass_rate:min=0.9, p95:max=2s, cost:max-rise=0; repeatable.",
)
@click.option(
    "--project-gates/--no-project-gates",
    "is_held",
    default=True,
    show_default=True,
    help="Check the gates of the project file's table [gate] on the first run too.",
)
@folder_option
@click.option(
    "--anyway", is_flag=True, help="Compare rows that were scored or requested in different ways."
)
@click.option("--partial", is_flag=True, help="Compare runs that are not complete.")
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    type=_path,
    help="Write a file by its suffix: .json, .md, .csv or .xml (JUnit); repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
def compare(
    runs: tuple[str, ...],
    baseline: str | None,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    cluster: str | None,
    margin: float | None,
    confidence: float,
    threshold: float | None,
    seed: int,
    gate_texts: tuple[str, ...],
    is_held: bool,
    folder: Path,
    anyway: bool,
    partial: bool,
    outputs: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Compare systems row by row: which is better, by how much, and how certain that is.

    The systems of one run are compared with its baseline; of several runs, the rows with the same content are compared. A run
    may be written @NAME for a named baseline. Exit code 10: a gate failed; 11: a gate is inconclusive.
    """
    for path in outputs:
        if path.suffix not in _WRITERS:
            raise ConfigurationError(
                f"{path} has no suffix that is written here: {', '.join(_WRITERS)}."
            )
        if not path.parent.is_dir():
            raise ConfigurationError(f"There is no folder {path.parent} for the comparison {path}.")
    gates = [
        *(project_gates() if is_held else ()),
        *(gate for text in gate_texts for gate in parse_gate(text)),
    ]
    rules = Rules(confidence, margin, 0.0 if threshold is None else threshold, "higher", seed)
    if baseline is not None and baseline.startswith("@"):
        runs = (*(name for name in runs if name != baseline), baseline)
        gates = [
            evolve(gate, against=baseline) if gate.is_paired and gate.against is None else gate
            for gate in gates
        ]
    used = [*runs, *(gate.against for gate in gates if gate.against is not None)]
    paths = [named.find_baseline(name, folder) for name in runs]
    _require_different(runs, paths)
    with ExitStack() as opened:
        found = [opened.enter_context(open_run(path)) for path in paths]
        if threshold is None:
            rules = evolve(rules, threshold=threshold_of(found[0]))
        for story in filter(None, (named.story_of(name, folder) for name in dict.fromkeys(used))):
            echo_err(story)
        baseline = _named_baseline(runs, found, baseline)
        incomplete = [run for run in found if not run.completeness.is_complete]
        for run in incomplete:
            echo_err(f"{run.path}: {run.completeness.sentence}")
        if incomplete and not partial:
            echo_err("A comparison of a part can mislead: --partial compares it all the same.")
            return INCOMPLETE
        told = overview(found, metrics or (PRIMARY,), rules, baseline, cluster, by, anyway)
        if (
            len(found) > 1
            and told.lines
            and all(line.found.unmatched and not line.found.rows for line in told.lines)
        ):
            raise ConfigurationError(
                f"{' and '.join(str(run.path) for run in found)} have no row in common, so there is nothing to compare. Rows "
                "match by the content of their examples."
            )
        own = (
            baseline
            if baseline in [one["label"] for one in found[0].systems] or len(runs) == 1
            else None
        )
        outcomes = (
            judge(found[0], gates, (), own, threshold, cluster, folder, anyway=anyway)
            if gates
            else []
        )
    if as_json:
        write_json(_told(told, outcomes))
    else:
        _show(told, outcomes)
    for path in outputs:
        with atomic_write(path, "The report") as stream:
            stream.write(_WRITERS[path.suffix](told, outcomes))
    return exit_code(outcomes)


def _require_different(runs: Sequence[str], paths: Sequence[Path]) -> None:
    """Refuse two names of one run."""
    names: dict[str, str] = {}
    for name, path in zip(runs, paths):
        place = os.path.realpath(path)
        if place in names:
            raise ConfigurationError(
                f"{names[place]} and {name} are the same run. Name another run."
            )
        names[place] = name


def _named_baseline(runs: Sequence[str], found: Sequence[Run], baseline: str | None) -> str | None:
    """Return the name of the baseline's system where a run is written @NAME: it is the baseline unless a run has its own."""
    place = next((place for place, name in enumerate(runs) if name.startswith("@")), None)
    if place is None or (len(runs) < 2 and baseline is None):
        return baseline
    entrants, _ = contestants(found, None)
    if baseline == runs[-1]:
        return baseline_of(entrants, None, found[-1]).name
    if baseline is not None or any(map(is_own_baseline, entrants)):
        return baseline
    return baseline_of(entrants, None, found[place]).name


def _told(compared: Overview, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    lines = [to_dict(line) for line in compared.lines]
    return {
        "comparisons": lines,
        **more_to_dict(compared),
        "gates": [outcome_to_dict(one) for one in outcomes],
    }


def _json(compared: Overview, outcomes: Sequence[Outcome]) -> str:
    import json

    text = json.dumps(_told(compared, outcomes), indent=2, ensure_ascii=False, allow_nan=False)
    return escape_control(text, is_json=True) + "\n"


_WRITERS = {".json": _json, ".md": markdown, ".xml": junit, ".csv": csv}


def _show(compared: Overview, outcomes: Sequence[Outcome]) -> None:
    echo(aligned(HEADINGS, cells(compared.lines)))
    echo()
    for sentence in (*sentences(compared.lines), *more_sentences(compared)):
        indent = len(sentence) - len(sentence.lstrip())
        echo(wrap_text("", sentence.strip(), indent, 0))
    for outcome in outcomes:
        echo(wrap_text("", gate_sentence(outcome), 0, 0))


__all__ = ["baseline", "compare", "plan"]

"""``context-bench controls``: a finished run, the rows of its compressors held against five controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import click

from context_bench.console import echo, echo_err, write_json
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_compare.intervals import Interval, TooFew
from context_bench_compare.rendering import aligned
from context_bench_compare.verdicts import require_confidence
from context_bench_controls.choosing import SEEDS
from context_bench_controls.measuring import IDLE, failure_sentences, failures_of, held_rows
from context_bench_controls.summing import HEADINGS, Line, cells, line_to_dict, lines_of


@click.command()
@click.argument("run", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--seeds",
    type=click.IntRange(2, 1000),
    default=SEEDS,
    show_default=True,
    metavar="N",
    help="Draws of random deletion.",
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
    "--format",
    "shape",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Shape of the output.",
)
@click.option("--rows", "with_rows", is_flag=True, help="A line for each row too.")
def controls(run: Path, seeds: int, confidence: float, shape: str, with_rows: bool) -> None:
    """Compare each row of a run's compressors with deletion at random at the same number of tokens.

    Controls are random, newest, head+tail, drop-oldest-results and clear-results; a result is never kept without its call. It calls no
    system and writes no file.
    """
    require_confidence(confidence)
    with open_run(run) as opened:
        held = list(held_rows(opened, seeds))
        failures = failures_of(opened)
        complete = opened.completeness.sentence
    if not held:
        raise ConfigurationError(
            " ".join(failure_sentences(failures))
            or f"{run} has no row that controls can be made for: they need kept examples with messages or a context, and systems "
            "that put out one of them."
        )
    lines = lines_of(held, confidence)
    if shape == "json":
        told = {
            "run": str(run),
            "seeds": seeds,
            "lines": [line_to_dict(line) for line in lines],
            "failed_rows": failures,
        }
        rows = [
            {
                "system": one.system,
                "example_id": one.example_id,
                "session": one.cluster,
                "tokens": one.tokens,
                "ratio": one.ratio,
                "kept": dict(one.values),
                "controls": {name: dict(values) for name, values in one.controls.items()},
                "random_spread": dict(one.spread),
                "idle": one.is_idle,
            }
            for one in held
        ]
        write_json({**told, **({"rows": rows} if with_rows else {})})
        return
    echo(table_of(lines, seeds, failures))
    if with_rows:
        echo("")
        echo(
            aligned(
                ("system", "row", "ratio", "needed", "random", "all", "random", "sd"),
                [
                    [
                        one.system,
                        one.example_id,
                        f"{one.ratio:.4f}",
                        _number(one.values["needed"]),
                        _number(one.controls["random"]["needed"]),
                        _number(one.values["all"]),
                        _number(one.controls["random"]["all"]),
                        f"{one.spread['all']:.4f}",
                    ]
                    for one in held
                ],
            )
        )
    echo_err(complete)


def correction_sentences(lines: Sequence[Line]) -> list[str]:
    """Return what the p-values are corrected for, as a sentence; none where there is one line, or no test."""
    tested = [line for line in lines if isinstance(line.interval, Interval)]
    if len(tested) < 2:
        return []
    return [
        "p tests whether the advantage is zero. The first system's is not corrected; those of other systems, and of all "
        "literals, are corrected for their number by Holm's method. Intervals are not corrected."
    ]


def table_of(
    lines: Sequence[Line], seeds: int = SEEDS, failures: Mapping[str, int] = MappingProxyType({})
) -> str:
    """Return the lines as a table, with what its words mean."""
    told = [
        aligned(HEADINGS, [cells(line) for line in lines]),
        "",
        f"advantage: what a system kept less the mean of {seeds} draws of random deletion at the same tokens, by row; "
        "the interval is over sessions.",
        *correction_sentences(lines),
        f"idle rows kept more than {IDLE:.0%} of the region's tokens and count nowhere else.",
    ]
    reasons = [
        line.interval.reason for line in lines if isinstance(line.interval, TooFew) and line.rows
    ]
    told += failure_sentences(failures)
    return "\n".join([*told, *(f"No interval: {reason}." for reason in dict.fromkeys(reasons))])


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"

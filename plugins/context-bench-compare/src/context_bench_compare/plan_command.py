"""``context-bench plan``: how many rows a decision takes, and what they cost, told from a pilot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from context_bench.console import echo, wrap_text, write_json
from context_bench.runs import open_run
from context_bench_compare.columns import PRIMARY
from context_bench_compare.gates import BASES, GUARANTEE, difference
from context_bench_compare.planning import plans
from context_bench_compare.rendering import aligned


@click.command()
@click.argument("pilot", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--margin",
    type=difference,
    required=True,
    metavar="X",
    help="What may be lost, such as 0.01 or 1pp for one point in a hundred.",
)
@click.option(
    "--metric",
    "-m",
    default=PRIMARY,
    metavar="KEY",
    help="Score to decide about.  [default: the primary score]",
)
@click.option(
    "--baseline", "against", metavar="LABEL", help="The system that the others are compared with."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="C",
    help="Of the interval that decides.",
)
@click.option(
    "--basis",
    type=click.Choice(BASES),
    default=GUARANTEE,
    show_default=True,
    help="What decides: the guarantee, as for gates, or the test.",
)
@click.option("--rpm", type=float, metavar="N", help="Requests a minute that the endpoint allows.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def plan(
    pilot: Path,
    margin: float,
    metric: str,
    against: str | None,
    confidence: float,
    basis: str,
    rpm: float | None,
    as_json: bool,
) -> None:
    """Compute from a pilot run how many rows a decision needs, and what they cost."""
    with open_run(pilot) as run:
        found = plans(run, metric, margin, against, confidence, rpm, basis)
    if as_json:
        write_json([one.to_dict() for one in found])
        return
    headings = (
        "system",
        "score",
        "margin",
        "rows",
        "range",
        "calls",
        "tokens",
        "minutes",
        "cost",
        "pilot rows",
        "pilot shows",
    )
    echo(aligned(headings, [_planned(one) for one in found]))
    echo()
    echo(
        wrap_text(
            "",
            "Rows: so many matched rows show in four runs of five that an equally good system loses no more than the margin, by "
            f"the {basis}. Range: what other pilots of this size would have said, in four of five.",
            0,
            0,
        )
    )


def _planned(one: Any) -> tuple[Any, ...]:
    minutes = None if one.minutes is None else f"{one.minutes:.3g}"
    cost = None if one.cost is None else f"{one.cost:.4g}"
    return (
        one.system,
        one.metric,
        one.margin,
        one.rows,
        f"{one.rows_low:,} to {one.rows_high:,}",
        one.calls,
        one.tokens,
        minutes,
        cost,
        one.pilot_rows,
        None if math.isinf(one.pilot_shows) else f"{one.pilot_shows:.3g}",
    )

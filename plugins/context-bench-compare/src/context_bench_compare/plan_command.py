"""``context-bench plan``: from a pilot, how many rows a decision needs, or what a large run takes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from context_bench.console import echo, wrap_text, write_json
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_compare.capacity import BUSY, SHORT, Capacity, capacity
from context_bench_compare.columns import PRIMARY
from context_bench_compare.gates import BASES, GUARANTEE, difference
from context_bench_compare.planning import plans
from context_bench_compare.rendering import aligned

_UNITS = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def _count(text: str) -> int:
    """Return a number of examples, such as 20000, 500k or 10M."""
    unit = _UNITS.get(text[-1:], 1)
    try:
        number = float(text if unit == 1 else text[:-1]) * unit
    except ValueError:
        number = 0.0
    if not 1 <= number < math.inf or number != int(number):
        raise click.BadParameter(
            f"{text!r} is not a number of examples, such as 20000, 500k or 10M."
        )
    return int(number)


@click.command()
@click.argument("pilot", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--margin",
    type=difference,
    metavar="X",
    help="Show the rows that rule out a loss of X, such as 0.01 or 1pp for one point in a hundred.",
)
@click.option(
    "--rows",
    "examples",
    type=_count,
    metavar="N",
    help="Show what a run of N examples takes, such as 500k or 10M: calls, hours, disk, memory, money, workers.",
)
@click.option(
    "--max-workers",
    type=click.IntRange(1),
    metavar="N",
    help="With --rows: calls in flight.  [default: as in the pilot]",
)
@click.option(
    "--metric",
    "-m",
    default=PRIMARY,
    metavar="KEY",
    help="Score to decide about.  [default: the primary score]",
)
@click.option("--baseline", metavar="LABEL", help="The system that the others are compared with.")
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
    margin: float | None,
    examples: int | None,
    max_workers: int | None,
    rpm: float | None,
    as_json: bool,
    **decision: Any,
) -> None:
    """Compute from a pilot run how many rows a decision needs, and what they cost.

    With --rows, compute what a run of so many examples takes.
    """
    if (margin is None) == (examples is None):
        raise ConfigurationError("Pass --margin to plan a decision, or --rows to plan a large run.")
    with open_run(pilot) as run:
        if examples is not None:
            _show(capacity(run, examples, max_workers, rpm), as_json)
            return
        assert margin is not None
        found = plans(run, margin=margin, requests_per_minute=rpm, **decision)
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
            f"the {decision['basis']}. Range: what other pilots of this size would have said, in four of five.",
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


def _show(projected: Capacity, as_json: bool) -> None:
    """Print what a large run takes."""
    if as_json:
        write_json(projected.to_dict())
        return
    lines: list[tuple[str, object]] = [
        ("examples", f"{projected.examples:,}"),
        ("rows", f"{projected.rows:,}"),
        ("calls", f"{projected.calls:,}"),
        ("tokens", None if projected.tokens is None else f"{projected.tokens:,}"),
        ("cost", None if projected.cost is None else f"{projected.cost:,.4g}"),
        ("workers", f"{projected.workers:,}"),
        ("hours", f"{projected.hours:,.3g}"),
        ("disk", _bytes(projected.disk)),
        ("memory of rows", _bytes(projected.memory)),
        (
            "workers at the limit",
            None if projected.workers_at_limit is None else f"{projected.workers_at_limit:,}",
        ),
    ]
    echo(aligned(("quantity", "value"), lines))
    echo()
    busy = f"Systems took {projected.busy:.0%} of the workers' time in the pilot"
    if projected.busy >= BUSY:
        remark = f"{busy}: more workers make the run shorter."
    else:
        remark = f"{busy}: this machine is the limit, and more workers do not make the run shorter."
    if projected.workers_at_limit is None:
        remark += " Pass --rpm for the number of workers at which the endpoint is the limit."
    if projected.pilot_seconds < SHORT:
        remark += (
            f" The pilot took {projected.pilot_seconds:.3g} s, its start included: a pilot of "
            f"{SHORT:g} s or more gives truer hours."
        )
    echo(wrap_text("", remark, 0, 0))


def _bytes(number: int) -> str:
    """Return a number of bytes in the largest unit that leaves a whole number."""
    value, units = float(number), ["B", "kB", "MB", "GB", "TB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.3g} {units[0]}"

"""``context-bench scorecard``: one line for each system of a run, sweeps as curves, and break-downs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from attrs import asdict

from context_bench.console import echo, echo_err, write_json
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_compare.rendering import aligned
from context_bench_controls.breakdown import BREAKS, Share, fates_of, shares_by
from context_bench_controls.choosing import SEEDS
from context_bench_controls.commands import correction_sentences
from context_bench_controls.measuring import IDLE, failure_sentences, failures_of
from context_bench_controls.scorecard import (
    SCORES,
    Card,
    Curve,
    Draws,
    cards_of,
    curves_of,
    draws_of,
)
from context_bench_controls.summing import HEADINGS, cells, line_to_dict

_NAMES = {
    "survival_needed": "needed",
    "survival_all": "all",
    "invented": "invented/1k",
    "pair_faults": "faults",
    "role_changes": "roles changed",
    "recoverable_needed": "recoverable needed",
    "recoverable_all": "recoverable all",
    "unredeemable_markers": "dead markers",
    "re_reads": "re-reads",
    "recall_corrected": "recall-floor",
    "next_action_target": "next action",
    "next_action_aa": "A/A",
    "prefix_kept": "prefix",
}

_RARE = ("role_changes",)
"""Scores that a table shows only where a system has some."""


@click.command()
@click.argument("run", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--by",
    "breaks",
    type=click.Choice(BREAKS),
    multiple=True,
    help="Break down the literals kept; repeatable.",
)
@click.option(
    "--needed", "is_needed", is_flag=True, help="Break down only the literals that were needed."
)
@click.option(
    "--seeds",
    type=click.IntRange(2, 1000),
    default=SEEDS,
    show_default=True,
    metavar="N",
    help="Draws of random deletion.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Shape of the output.",
)
def scorecard(run: Path, breaks: tuple[str, ...], is_needed: bool, seeds: int, shape: str) -> None:
    """Show what each compressor of a run kept, broke and cost, and its advantage over deletion at random.

    Systems that differ in one number, such as bm25 at three ratios, are joined to a curve. It calls no system and writes no file.
    """
    with open_run(run) as opened:
        cards = cards_of(opened, seeds)
        curves = curves_of(opened, cards)
        draws = draws_of(opened, cards)
        fates = list(fates_of(opened, seeds)) if breaks else []
        failures = failures_of(opened)
        complete = opened.completeness.sentence
    if not cards:
        raise ConfigurationError(
            " ".join(failure_sentences(failures))
            or f"{run} has no row with a compressed context: it needs kept examples, and systems that put out one or messages."
        )
    kind = "needed" if is_needed else "all"
    shares = {by: shares_by(fates, by, kind) for by in breaks}
    if shape == "json":
        write_json(
            {
                "run": str(run),
                "seeds": seeds,
                "failed_rows": failures,
                "systems": [_card_to_dict(card) for card in cards],
                "curves": [asdict(curve) for curve in curves],
                "draws": [asdict(one) for one in draws],
                "breakdowns": {by: [asdict(one) for one in found] for by, found in shares.items()},
            }
        )
        return
    echo(_table(cards))
    echo("")
    echo(
        f"Rows that kept more than {IDLE:.0%} of the region's tokens are idle, and count nowhere else."
    )
    echo(
        f"advantage: needed literals kept less the mean of {seeds} random draws at the same tokens, by row."
    )
    echo("Intervals are over sessions; over: the rows with a needed literal, and their sessions.")
    for sentence in correction_sentences([card.needed for card in cards]):
        echo(sentence)
    for sentence in failure_sentences(failures):
        echo(sentence)
    if draws:
        echo("")
        echo(_draws_table(draws))
    for curve in curves:
        echo("")
        echo(_curve_table(curve))
    for by, found in shares.items():
        echo("")
        echo(_share_table(by, kind, found))
    echo_err(complete)


def _table(cards: list[Card]) -> str:
    keys = [key for key in SCORES if any(key in card.scores for card in cards)]
    keys = [key for key in keys if key not in _RARE or any(card.scores.get(key) for card in cards)]
    headings = [
        "system",
        "rows",
        "idle",
        "tokens kept",
        "quartiles",
        "ratio",
        *(_NAMES.get(key, key) for key in keys),
    ]
    has_cost = any(card.cost is not None for card in cards)
    lines = []
    for card in cards:
        low, middle, high = card.tokens or (None, None, None)
        against = dict(zip(HEADINGS, cells(card.needed), strict=True))
        lines.append(
            [
                card.system,
                str(card.rows),
                str(card.idle),
                None if middle is None else f"{middle:.0f}",
                None if low is None else f"{low:.0f}-{high:.0f}",
                None if card.ratio is None else f"{card.ratio:.3f}",
                *(f"{card.scores[key]:.4f}" if key in card.scores else None for key in keys),
                against["advantage"],
                against["interval"],
                against["p"],
                f"{card.needed.rows}/{card.needed.sessions}",
                *([None if card.cost is None else f"{card.cost:.4g}"] if has_cost else []),
            ]
        )
    return aligned(
        [
            *headings,
            "advantage",
            "interval",
            "p",
            "over",
            *(["cost a session"] if has_cost else []),
        ],
        lines,
    )


def _draws_table(draws: list[Draws]) -> str:
    """Return a line for each group of systems that differ in their seed alone."""
    lines = [
        [
            one.systems[0],
            one.kind,
            str(len(one.systems)),
            f"{one.kept:.4f}",
            f"{one.spread:.4f}",
            f"{one.advantage:+.4f}",
            f"{one.advantage_spread:.4f}",
        ]
        for one in draws
    ]
    table = aligned(["first draw", "literals", "draws", "kept", "sd", "advantage", "sd"], lines)
    return f"{table}\nDraws differ in their seed alone; sd is the standard deviation between them."


def _curve_table(curve: Curve) -> str:
    lines = [
        [
            f"{point.setting:g}",
            f"{point.ratio:.3f}",
            f"{point.kept:.4f}",
            f"{point.random:.4f}",
            f"{point.kept - point.random:+.4f}",
        ]
        for point in curve.points
    ]
    table = aligned([f"{curve.option} =", "kept tokens", "kept", "random", "advantage"], lines)
    return f"{curve.system}, literals: {curve.kind}\n{table}\narea over random: {curve.area:+.4f}"


def _share_table(by: str, kind: str, shares: list[Share]) -> str:
    lines = [
        [
            one.system,
            one.group,
            str(one.literals),
            f"{one.kept:.4f}",
            f"{one.random:.4f}",
            f"{one.kept - one.random:+.4f}",
        ]
        for one in shares
    ]
    return f"literals: {kind}\n{aligned(['system', by, 'literals', 'kept', 'random', 'advantage'], lines)}"


def _card_to_dict(card: Card) -> dict[str, Any]:
    quartiles = (
        None
        if card.tokens is None
        else dict(zip(("low", "median", "high"), card.tokens, strict=True))
    )
    return {
        "system": card.system,
        "rows": card.rows,
        "idle_rows": card.idle,
        "tokens_kept": quartiles,
        "ratio": card.ratio,
        "scores": dict(card.scores),
        "cost_a_session": card.cost,
        "needed": line_to_dict(card.needed),
        "all": line_to_dict(card.every),
    }

"""``context-bench agent-scorecard``: a row for each arm of a run of agents, and success against bill as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import asdict

from context_bench.console import echo, echo_err, escape_control, write_json
from context_bench.errors import ConfigurationError
from context_bench.runs import Run, open_run
from context_bench_agents_live.plane import text_plane
from context_bench_agents_live.scorecard import (
    Against,
    AgentCard,
    agents_of,
    cards_of,
    sources_of,
)
from context_bench_compare.intervals import Interval, TooFew
from context_bench_compare.rendering import aligned

HEADINGS = (
    "arm",
    "success",
    "95 %",
    "turns",
    "re-reads",
    "cached",
    "kept",
    "bill",
    "bill/success",
    "advantage",
    "ended",
)
AGAINST = ("arm", "lost", "won", "difference", "p", "guarantee", "turns", "bill")
MATCHED = ("arm", "control", *AGAINST[1:])
_CONTROL_NOTE = (
    "Compared with controls that keep at most the same share of the tokens in results of tools, task by task: lines at random, the "
    "first part of each result, or the last results."
)
_NOTES = (
    "success: tasks whose check passes; a failed task is no success. turns, re-reads and bill: means of a task.",
    "cached: share of the tokens that equals the previous request. kept: share of the tokens in results of tools.",
)


@click.command()
@click.argument("run", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--baseline",
    metavar="LABEL",
    help="Arm to compare with; by default the system direct, or else the first.",
)
@click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "markdown", "json"]),
    default="table",
    show_default=True,
    help="Shape of the output.",
)
def agent_scorecard(run: Path, baseline: str | None, shape: str) -> None:
    """Show success, turns, re-reads and the bill of each arm of a run of agents, compared with a baseline task by task.

    Nothing is called and nothing written.
    """
    with open_run(run) as opened:
        cards = cards_of(opened.rows(), baseline, sources_of(opened), agents_of(opened))
        complete = opened.completeness.sentence
    if not cards:
        raise ConfigurationError(
            f"{run} has no row of an agent: it needs the system agent and the evaluator agent-task."
        )
    if shape == "json":
        write_json({"run": str(run), "arms": [card_to_dict(card) for card in cards]})
        return
    echo(_page(cards) if shape == "markdown" else _text(cards))
    echo_err(complete)


def picture_of(run: Run) -> list[dict[str, Any]]:
    """Return the picture of success against bill for a report, with the scorecard as its table; nothing without agents."""
    agents = agents_of(run)
    cards = cards_of(run.rows(), agents=agents) if agents else []
    points = _points(cards)
    if not points:
        return []
    reference = next(card for card in cards if card.against is None)
    unit = reference.bill or 1.0
    series = []
    for arm, (bill, success) in points.items():
        told = f"{arm}: {success:.0%} of the tasks at {bill:.4g}"
        point = {"x": bill / unit, "y": success, "told": told}
        series.append({"form": "mark", "name": arm, "points": [point]})
    tables = [*_cells(cards)]
    compared = {card.arm: _against_cells(card.against) for card in cards if card.against}
    missing = ["-"] * (len(AGAINST) - 1)
    return [
        {
            "title": "Success of agents against the bill of a task",
            "note": f"{_NOTES[0]} {_NOTES[1]} {_baseline_note(cards)}",
            "across": f"bill of a task, {reference.arm} = 1"
            if reference.bill
            else "bill of a task",
            "up": "share of the tasks that succeed",
            "series": series,
            "headings": [*HEADINGS, *AGAINST[1:]],
            "lines": [[*line, *compared.get(line[0], missing)] for line in tables],
        }
    ]


def card_to_dict(card: AgentCard) -> dict[str, Any]:
    """Return a card as JSON-like values; an infinite bill for a success is None."""
    record = asdict(card, recurse=False)
    record["success"] = card.success
    record["interval"] = _interval_to_dict(card.interval)
    if card.bill_per_success is not None and math.isinf(card.bill_per_success):
        record["bill_per_success"] = None
    if card.against is not None:
        record["against"] = _against_to_dict(card.against)
    record["controls"] = [_against_to_dict(against) for against in card.controls]
    return record


def _against_to_dict(against: Against) -> dict[str, Any]:
    return {
        **asdict(against, recurse=False),
        "interval": _interval_to_dict(against.interval),
        "guarantee": _interval_to_dict(against.guarantee),
    }


def _interval_to_dict(interval: Interval | TooFew) -> dict[str, Any]:
    if isinstance(interval, TooFew):
        return {"too_few": interval.reason}
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def _text(cards: Sequence[AgentCard]) -> str:
    parts = [aligned(HEADINGS, _cells(cards))]
    compared = _compared(cards)
    if compared:
        parts += [f"{_baseline_note(cards)}\n{aligned(AGAINST, compared)}"]
    matched = matched_lines(cards)
    if matched:
        parts += [f"{_CONTROL_NOTE}\n{aligned(MATCHED, matched)}"]
    points = _points(cards)
    if points:
        parts.append(escape_control(text_plane(points)))
    return "\n\n".join([*parts, "\n".join(_NOTES)])


def _page(cards: Sequence[AgentCard]) -> str:
    parts = ["# Agents", _markdown(HEADINGS, _cells(cards))]
    compared = _compared(cards)
    if compared:
        parts += [_baseline_note(cards), _markdown(AGAINST, compared)]
    matched = matched_lines(cards)
    if matched:
        parts += [_CONTROL_NOTE, _markdown(MATCHED, matched)]
    points = _points(cards)
    if points:
        named = {_cell(arm): place for arm, place in points.items()}
        parts.append(f"```text\n{text_plane(named)}\n```")
    return "\n\n".join([*parts, *_NOTES])


def _markdown(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["---:"] * (len(headings) - 1)]
    table = [headings, marks, *([*map(_cell, line)] for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in table)


def _cell(text: str) -> str:
    """Return a text that cannot leave its cell or a block of code."""
    line = escape_control(" ".join(text.split()), lines=False)
    for sign, shown in (("\\", "\\\\"), ("|", "\\|"), ("[", "\\["), ("<", "&lt;"), ("`", "'")):
        line = line.replace(sign, shown)
    return line


def _points(cards: Sequence[AgentCard]) -> dict[str, tuple[float, float]]:
    return {card.arm: (card.bill, card.success) for card in cards if card.bill is not None}


def _cells(cards: Sequence[AgentCard]) -> list[list[str]]:
    return [
        [
            card.arm,
            f"{card.successes}/{card.tasks}",
            _range(card.interval, ".2f"),
            _number(card.turns, ".1f"),
            _number(card.re_reads, ".1f"),
            _number(card.cached_share, ".2f"),
            _number(card.kept_share, ".2f"),
            _number(card.bill, ".4g"),
            _number(card.bill_per_success, ".4g"),
            _number(card.advantage, "+.2f"),
            _endings(card.endings),
        ]
        for card in cards
    ]


def _compared(cards: Sequence[AgentCard]) -> list[list[str]]:
    return [[card.arm, *_against_cells(card.against)] for card in cards if card.against]


def matched_lines(cards: Sequence[AgentCard]) -> list[list[str]]:
    """Return a line for each arm and matched control, as `MATCHED` names its cells."""
    lines: list[list[str]] = []
    for card in cards:
        lines.extend(
            [card.arm, against.baseline, *_against_cells(against)] for against in card.controls
        )
    return lines


def _against_cells(against: Against) -> list[str]:
    guarantee = against.guarantee
    return [
        str(against.regressed),
        str(against.improved),
        f"{against.difference:+.2f}",
        "-" if isinstance(against.interval, TooFew) else f"{against.p_value:.2g}",
        guarantee.told if isinstance(guarantee, TooFew) else _range(guarantee, "+.2f"),
        _number(against.turns, "+.1f"),
        _number(against.bill, "+.4g"),
    ]


def _baseline_note(cards: Sequence[AgentCard]) -> str:
    compared = [card.against for card in cards if card.against is not None]
    if not compared:
        return ""
    return (
        f"Compared with {compared[0].baseline}, task by task. lost and won: tasks that only {compared[0].baseline}, or only "
        "the arm, finished; p: McNemar's mid-p; guarantee: what the difference of success is between, whatever the tasks "
        "did not show (95 %)."
    )


def _endings(endings: Mapping[str, int]) -> str:
    return ", ".join(f"{how} {count}" for how, count in endings.items())


def _range(interval: Interval | TooFew, shape: str) -> str:
    if isinstance(interval, TooFew):
        return "-"
    return f"{interval.low:{shape}} to {interval.high:{shape}}"


def _number(value: float | None, shape: str) -> str:
    if value is None:
        return "-"
    return "never" if math.isinf(value) else f"{value:{shape}}"

"""Which lines of a long run a page holds: those that failed and the worst first, then an even sample; the same ones each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from context_bench import EvalRow
from context_bench.runs import Run
from context_bench_html.packed import Lines
from context_bench_html.side_by_side import (
    FAILED,
    SideBySide,
    array_of,
    excerpt_of,
    gold_of,
    question_of,
)

MOST_LINES = 2_000
"""A file with more lines holds a sample of them."""

_EXCERPT = 160


@frozen(eq=False)
class Sample:
    """Some of the lines of a run.

    Attributes:
        found: They, side by side.
        sentence: How many they are, and which.
    """

    found: SideBySide
    sentence: str


def sample_of(found: SideBySide, states: Sequence[int], most: int = MOST_LINES) -> Sample | None:
    """Return a sample of the lines, in their order; None where there are no more than ``most``.

    At most half of it are lines with a failure, and a quarter are the worst of the others: those that lose most against the
    baseline, or score worst where there is none.

    Args:
        found: All lines.
        states: What each line is.
        most: How many lines are taken.
    """
    total = len(found.lines)
    if total <= most:
        return None
    failed = np.flatnonzero(np.array(states) & FAILED)
    shown = _spread(failed, most // 2)
    badness = _badness(found)
    badness[failed] = np.nan
    by_badness = np.argsort(-badness, kind="stable")  # what has none is last
    worst = by_badness[: min(most // 4, int((~np.isnan(badness)).sum()))]
    is_free = np.ones(total, dtype=bool)
    is_free[shown] = is_free[worst] = False
    others = np.flatnonzero(is_free)
    even = _spread(others, most - len(shown) - len(worst))
    step = round(len(others) / max(1, len(even)))
    failures = (
        f"all {len(failed):,} with a failure"
        if len(shown) == len(failed)
        else f"{len(shown):,} of {len(failed):,} with a failure"
    )
    what = "that score worst" if found.baseline is None else "that lose most"
    sentence = (
        f"{most:,} of {total:,} lines are listed here: {failures}, the {len(worst):,} {what}, "
        f"and about one in {step:,} of the others."
    )
    lines = np.sort(np.concatenate([shown, worst, even])).tolist()
    return Sample(found.only(lines), sentence)


def page_of(found: SideBySide, lines: Sequence[int], what: str) -> Sample:
    """Return some lines of a run, which ``what`` says, such as ``lines 1 to 2,000``."""
    return Sample(found.only(lines), f"{what} of {len(found.lines):,} are listed here.")


def add_texts(found: SideBySide, rows: Sequence[EvalRow], run: Run | None) -> None:
    """Add ids, and the beginnings of questions, right answers and responses to lines, each read on its own."""
    ids: list[str] = [""] * len(found.lines)
    for cells in found.cells:
        for number, index in enumerate(cells.rows):
            row = None if index is None else rows[index]
            response = None if row is None else row.response
            cells.responses.append(None if response is None else excerpt_of(response, _EXCERPT))
            if row is not None:
                ids[number] = row.example_id
    lines = Lines()
    for line, example_id in zip(found.lines, ids):
        lines.append(evolve(line, id=example_id))
    found.lines = lines
    if run is not None:
        contents: list[Any] = [run.example(line.identity).content or {} for line in lines]
        found.questions = [question_of(content, _EXCERPT) for content in contents]
        found.golds = [gold_of(content, _EXCERPT) for content in contents]


def _spread(lines: Any, most: int) -> Any:
    """Return up to so many lines, evenly spread."""
    if len(lines) <= most:
        return lines
    return lines[np.arange(most) * len(lines) // most]


def _badness(found: SideBySide) -> Any:
    """Return how bad the worst system is on each line; nan where no score is better than another."""
    sign = np.full(len(found.lines), np.nan)
    for name in found.datasets:
        better = found.directions.get(name, found.better)
        if better in ("higher", "lower"):
            sign[found.lines.are_of(name)] = -1.0 if better == "higher" else 1.0
    worst = np.full(len(found.lines), np.nan)
    if found.baseline is None:
        for cells in found.competing:
            np.fmax(worst, sign * array_of(cells.values), out=worst)
    else:
        baseline = array_of(found.cells[found.baseline].values)
        for _, cells in found.others():
            np.fmax(worst, sign * (array_of(cells.values) - baseline), out=worst)
    return worst

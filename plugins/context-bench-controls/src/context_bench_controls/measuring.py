"""Held against chance: each row of a compressor beside its controls at the tokens that it really kept."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from context_bench import EvalRow
from context_bench.messages import whole_text
from context_bench.runs import Run
from context_bench_compare.intervals import counted
from context_bench_controls.choosing import NAMES, SEEDS, chosen, shares
from context_bench_controls.units import region_of, tokens_of
from context_bench_survival import asked_of, given, kept_probes, left

IDLE = 0.98
"""A row whose region keeps more than this share of its tokens is one in which the system did nothing."""


@frozen(eq=False)
class Held:
    """One row held against its controls.

    Attributes:
        system, example_id, cluster: Whose row it is, and the session that it belongs to.
        tokens: Tokens of the region as given.
        ratio: The share of them that the system kept.
        values: The system's share of literals, by ``needed`` and ``all``; None where there is none to ask about.
        controls: The same by control; of ``random`` the mean of the draws.
        spread: Standard deviation of the draws of ``random``, by ``needed`` and ``all``.
    """

    system: str
    example_id: str
    cluster: str
    tokens: int
    ratio: float
    values: Mapping[str, float | None]
    controls: Mapping[str, Mapping[str, float | None]]
    spread: Mapping[str, float]

    @property
    def is_idle(self) -> bool:
        """Whether the system did nothing to the row."""
        return self.ratio > IDLE


def held_rows(run: Run, seeds: int = SEEDS) -> Iterator[Held]:
    """Yield the rows of a run that put out messages or a context, each beside its controls.

    Args:
        run: The run; it must have kept its examples.
        seeds: Draws of the random control.
    """
    for example, row in answered_rows(run):
        found = held(example.content, row.output, row.system, example.id, seeds)
        if found is not None:
            yield found


def answered_rows(run: Run) -> Iterator[tuple[Any, EvalRow]]:
    """Yield example and row of what the systems of a run answered; what is derived from a system's rows is none of them."""
    derived = _derived(run)
    for example in run.examples():
        for _, row in run.rows_of(example.identity) if example.content is not None else ():
            if row.system not in derived and not _is_unanswered(row):
                yield example, row


def failures_of(run: Run) -> dict[str, int]:
    """Return how many rows of each system failed, and so have no context to hold against anything, by its label."""
    derived = _derived(run)
    return dict(
        Counter(
            row.system for row in run.rows() if row.system not in derived and _is_unanswered(row)
        )
    )


def failure_sentences(failures: Mapping[str, int]) -> list[str]:
    """Return which systems failed how often, a sentence each."""
    return [
        f"{counted(count, 'row')} of {system} failed: without a context {'it counts' if count == 1 else 'they count'} nowhere."
        for system, count in failures.items()
    ]


def _derived(run: Run) -> set[str]:
    return {str(entry["label"]) for entry in run.systems if "derived" in entry["description"]}


def _is_unanswered(row: EvalRow) -> bool:
    return any(error.evaluator is None for error in row.errors)


def held(
    original: Mapping[str, Any],
    output: Mapping[str, Any],
    system: str,
    example_id: str,
    seeds: int = SEEDS,
) -> Held | None:
    """Return a row beside its controls; None when it has no context, no output of one, or nothing to ask about."""
    before, region = given(original)
    after = left(original, output)
    if before is None or after is None:
        return None
    asked = asked_of(original)
    found = region_of(before, region, asked)
    if not asked or not found.tokens:
        return None
    achieved = achieved_tokens(before, region, after)
    kept = kept_probes(original, output, asked)
    needed = [is_kept for is_kept, probe in zip(kept, asked, strict=True) if probe.needed]
    budget = min(achieved, found.tokens)
    draws = [shares(found, chosen(found, "random", budget, seed)) for seed in range(seeds)]
    controls = {name: shares(found, chosen(found, name, budget)) for name in NAMES[1:]}
    spread: dict[str, float] = {}
    controls["random"] = {}
    for kind in ("needed", "all"):
        drawn = [value for draw in draws if (value := draw[kind]) is not None]
        controls["random"][kind] = statistics.fmean(drawn) if drawn else None
        spread[kind] = statistics.stdev(drawn) if len(drawn) > 1 else 0.0
    return Held(
        system=system,
        example_id=example_id,
        cluster=str(original.get("session_id") or example_id),
        tokens=found.tokens,
        ratio=achieved / found.tokens,
        values={
            "needed": sum(needed) / len(needed) if needed else None,
            "all": sum(kept) / len(kept),
        },
        controls=controls,
        spread=spread,
    )


def achieved_tokens(
    before: Sequence[Mapping[str, Any]], region: tuple[int, int], after: Sequence[Mapping[str, Any]]
) -> int:
    """Return the tokens that a system left of a region.

    They are those of the messages that stand in its place, between as many as stood before and behind it: a proxy may shorten
    head and tail too, which is no credit to what it did to the region. Where all that was left, less head and tail as they were,
    is more, that counts: then the region went elsewhere.
    """
    start, end = region
    sizes = list(map(_size, after))
    inside = sizes[start : max(start, len(after) - (len(before) - end))]
    stays = [*before[:start], *before[end:]]
    return max(sum(inside), sum(sizes) - sum(map(_size, stays)))


def _size(message: Mapping[str, Any]) -> int:
    return tokens_of(whole_text(message))

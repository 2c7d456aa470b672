"""Break-downs: what was kept by class, role, age and format, with what chance kept of the same literals."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from context_bench.runs import Run
from context_bench_controls.choosing import chosen
from context_bench_controls.measuring import IDLE, achieved_tokens, answered_rows
from context_bench_controls.units import region_of
from context_bench_survival import asked_of, given, kept_probes, left

BREAKS = ("class", "role", "age", "format")

DECILES = 10


@frozen
class Fate:
    """What became of one literal.

    Attributes:
        system: Whose row it is.
        groups: Its group by each of :data:`BREAKS`; ages are deciles of the region, 1 the oldest.
        needed: Whether the recorded agent used it.
        is_kept: Whether the system kept it.
        by_chance: The share of random draws that kept it.
    """

    system: str
    groups: Mapping[str, str]
    needed: bool
    is_kept: bool
    by_chance: float


def fates_of(run: Run, seeds: int) -> Iterator[Fate]:
    """Yield what became of every literal of a run's rows; rows in which a system did nothing are left out."""
    for example, row in answered_rows(run):
        yield from _of_row(example.content, row.output, row.system, seeds)


def _of_row(
    original: Mapping[str, Any], output: Mapping[str, Any], system: str, seeds: int
) -> Iterator[Fate]:
    before, region = given(original)
    after = left(original, output)
    asked = asked_of(original)
    if before is None or after is None or not asked:
        return
    found = region_of(before, region, asked)
    budget = min(achieved_tokens(before, region, after), found.tokens)
    if not found.tokens or budget > IDLE * found.tokens:
        return
    draws = [chosen(found, "random", budget, seed) for seed in range(seeds)]
    length = max(1, region[1] - region[0])
    kept = kept_probes(original, output, asked)
    for probe, is_kept, holders in zip(asked, kept, found.holders, strict=True):
        decile = 1 + DECILES * (probe.message - region[0]) // length
        groups = {
            "class": probe.kind,
            "role": probe.role,
            "age": f"{decile:2} of {DECILES}",
            "format": str(original.get("format") or "context"),
        }
        chance = statistics.fmean(not draw.isdisjoint(holders) for draw in draws)
        yield Fate(system, groups, probe.needed, is_kept, chance)


@frozen
class Share:
    """One group of one system: how many literals, what share was kept, and what share chance kept."""

    system: str
    group: str
    literals: int
    kept: float
    random: float


def shares_by(fates: list[Fate], by: str, kind: str = "all") -> list[Share]:
    """Return the shares of each group, by system and in the order of the groups.

    Args:
        fates: What became of the literals.
        by: One of :data:`BREAKS`.
        kind: ``needed`` or ``all``.
    """
    groups: dict[tuple[str, str], list[Fate]] = {}
    for fate in fates:
        if fate.needed or kind == "all":
            groups.setdefault((fate.system, fate.groups[by]), []).append(fate)
    return [
        Share(
            system,
            group,
            len(found),
            statistics.fmean(one.is_kept for one in found),
            statistics.fmean(one.by_chance for one in found),
        )
        for (system, group), found in sorted(groups.items())
    ]

"""The controls: what of a region stays at a number of tokens, when nobody thinks about it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import lru_cache

from context_bench_controls.units import Region

NAMES = ("random", "newest", "head+tail", "drop-oldest-results")

SEEDS = 20
"""Draws of the random control; their mean is what systems are held against."""

REMEMBERED_UNITS = 20_000
"""Units of the largest region whose draws are remembered for the next system."""


def chosen(region: Region, name: str, tokens: int, seed: int | str = 0) -> frozenset[int]:
    """Return the units that a control keeps: as many as fit, a result never without its call.

    Args:
        region: What it chooses from.
        name: One of :data:`NAMES`.
        tokens: The most tokens that may stay.
        seed: Of the random control.
    """
    count = len(region.units)
    if name == "random":
        return _fill(region, _shuffled(count, seed), tokens)
    if name == "newest":
        return _fill(region, range(count - 1, -1, -1), tokens, stops=True)
    if name == "head+tail":
        first = _fill(region, range(count), tokens // 2, stops=True)
        return _fill(region, range(count - 1, -1, -1), tokens, first, stops=True)
    if name == "drop-oldest-results":
        rest = [number for number in range(count) if not region.units[number].is_result]
        results = [number for number in range(count - 1, -1, -1) if region.units[number].is_result]
        return _fill(region, [*reversed(rest), *results], tokens, stops=True)
    raise ValueError(f"no control is called {name!r}; there is {', '.join(NAMES)}")


def _shuffled(count: int, seed: int | str) -> Sequence[int]:
    """Return the order of a draw: the same for every system of an example."""
    return _drawn(count, seed) if count <= REMEMBERED_UNITS else _drawn.__wrapped__(count, seed)


@lru_cache(maxsize=SEEDS)
def _drawn(count: int, seed: int | str) -> Sequence[int]:
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def share(region: Region, kept: frozenset[int], needed: bool = False) -> float | None:
    """Return the share of the probes that a set of units holds; None where there is none to ask about."""
    asked = [
        not kept.isdisjoint(holders)
        for holders, is_needed in zip(region.holders, region.needed, strict=True)
        if is_needed or not needed
    ]
    return sum(asked) / len(asked) if asked else None


def kept_tokens(region: Region, kept: Iterable[int]) -> int:
    """Return the tokens of a set of units."""
    return sum(region.units[number].tokens for number in kept)


def _fill(
    region: Region, order: Sequence[int], tokens: int, given: frozenset[int] = frozenset(), stops: bool = False
) -> frozenset[int]:
    """Return units in an order as long as they fit, each with the call that it needs.

    Args:
        region: Where they are.
        order: In which they are tried.
        tokens: The most tokens.
        given: Units that are kept anyway.
        stops: Whether the first that does not fit ends it; else the next smaller one may.
    """
    kept, units = set(given), region.units
    left = tokens - kept_tokens(region, kept)
    for number in order:
        unit = units[number]
        if number in kept:
            continue
        if unit.tokens <= left:
            needs = unit.needs
            if needs is None or needs in kept:
                kept.add(number)
                left -= unit.tokens
                continue
            if unit.tokens + units[needs].tokens <= left:
                kept.update((number, needs))
                left -= unit.tokens + units[needs].tokens
                continue
        if stops:
            break
    return frozenset(kept)

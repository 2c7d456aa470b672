"""The controls: what of a region stays at a number of tokens, when nobody thinks about it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from context_bench_controls.units import Region

NAMES = ("random", "newest", "head+tail", "drop-oldest-results")

SEEDS = 20
"""Draws of the random control; their mean is what systems are held against."""


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
        order = list(range(count))
        random.Random(seed).shuffle(order)
        return _fill(region, order, tokens)
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
    kept = set(given)
    left = tokens - kept_tokens(region, kept)
    for number in order:
        if number in kept:
            continue
        needs = region.units[number].needs
        both = [number] if needs is None or needs in kept else [number, needs]
        size = kept_tokens(region, both)
        if size > left:
            if stops:
                break
            continue
        kept.update(both)
        left -= size
    return frozenset(kept)

"""The controls: what of a region stays at a number of tokens, when nobody thinks about it."""

from __future__ import annotations

import random
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, compress

from context_bench_controls.units import Region

NAMES = ("random", "newest", "head+tail", "drop-oldest-results", "clear-results")

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
    if name == "clear-results":
        return _with_results(region, tokens)
    raise ValueError(f"no control is called {name!r}; there is {', '.join(NAMES)}")


def _with_results(region: Region, tokens: int) -> frozenset[int]:
    """Return what stays when old results are emptied as wholes, the oldest first, as agents do themselves.

    All calls stay, and then all else that is no result, the newest first.
    """
    called = {call for call in region.calls if call >= 0}
    numbers = range(len(region.units) - 1, -1, -1)
    rest = [number for number in numbers if not region.units[number].is_result]
    rest.sort(key=lambda number: number not in called)
    kept = _fill(region, rest, tokens, stops=True)
    if len(kept) < len(rest):
        return kept
    results: dict[int, list[int]] = {}
    for number in numbers:
        if region.units[number].is_result:
            results.setdefault(region.units[number].message, []).append(number)
    left = tokens - kept_tokens(region, kept)
    for lines in results.values():
        left -= kept_tokens(region, lines)
        if left < 0:
            break
        kept |= frozenset(lines)
    return kept


def _shuffled(count: int, seed: int | str) -> Sequence[int]:
    """Return the order of a draw: the same for every system of an example."""
    return _drawn(count, seed) if count <= REMEMBERED_UNITS else _drawn.__wrapped__(count, seed)


@lru_cache(maxsize=SEEDS)
def _drawn(count: int, seed: int | str) -> Sequence[int]:
    return shuffled(count, random.Random(seed))


def shuffled(count: int, drawn: random.Random) -> list[int]:
    """Return the numbers below a count in the order of ``random.shuffle``, in half of its time.

    The words that it would draw one by one are drawn at once; a place takes the first whose upper bits are small enough.
    """
    order, last = list(range(count)), count - 1
    words: Iterator[int] = iter(())
    while last > 0:
        length = (last + 1).bit_length()
        shift, floor = 32 - length, (1 << length - 1) - 1
        for word in words:
            place = word >> shift
            if place <= last:
                order[last], order[place] = order[place], order[last]
                last -= 1
                if last < floor:
                    break
        else:
            more = array("I", drawn.getrandbits(64 * count).to_bytes(8 * count, "little"))
            if sys.byteorder == "big":
                more.byteswap()
            words = iter(more)
    return order


def share(region: Region, kept: frozenset[int], needed: bool = False) -> float | None:
    """Return the share of the probes that a set of units holds; None where there is none to ask about."""
    return shares(region, kept)["needed" if needed else "all"]


def shares(region: Region, kept: frozenset[int]) -> dict[str, float | None]:
    """Return the shares of the probes that a set of units holds, of those that were ``needed`` and of ``all``."""
    held = [not kept.isdisjoint(holders) for holders in region.holders]
    needed = list(compress(held, region.needed))
    return {
        "needed": sum(needed) / len(needed) if needed else None,
        "all": sum(held) / len(held) if held else None,
    }


def kept_tokens(region: Region, kept: Iterable[int]) -> int:
    """Return the tokens of a set of units."""
    return sum(map(region.sizes.__getitem__, kept))


def _fill(
    region: Region,
    order: Sequence[int],
    tokens: int,
    given: frozenset[int] = frozenset(),
    stops: bool = False,
) -> frozenset[int]:
    """Return units in an order as long as they fit, each with the call that it needs.

    Args:
        region: Where they are.
        order: In which they are tried.
        tokens: The most tokens.
        given: Units that are kept anyway.
        stops: Whether the first that does not fit ends it; else the next smaller one may.
    """
    kept, sizes, calls = set(given), region.sizes, region.calls
    sums = list(accumulate(map(sizes.__getitem__, order)))
    certain = order[: bisect_right(sums, tokens - kept_tokens(region, kept) - region.call_tokens)]
    kept.update(certain, map(calls.__getitem__, certain))  # these fit whatever calls they need
    kept.discard(-1)
    left, smallest = tokens - kept_tokens(region, kept), min(sizes, default=0)
    waiting, is_narrowed = iter(order[len(certain) :]), False
    while left >= smallest and (number := next(waiting, None)) is not None:
        if number in kept:
            continue
        size = sizes[number]
        if size <= left:
            call = calls[number]
            if call < 0 or call in kept:
                kept.add(number)
                left -= size
                continue
            if size + sizes[call] <= left:
                kept.update((number, call))
                left -= size + sizes[call]
                continue
        if stops:
            break
        if not is_narrowed:  # what is left only falls, and few units are small enough for it
            most, is_narrowed = left, True
            waiting = iter([other for other in waiting if sizes[other] <= most])
    return frozenset(kept)

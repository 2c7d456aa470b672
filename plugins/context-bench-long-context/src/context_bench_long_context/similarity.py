"""How alike two texts are, as ``difflib.SequenceMatcher`` says, in time that does not grow with the product of their lengths.

fuzzywuzzy's ``ratio``, by which LongBench compares code, is Ratcliff and Obershelp's: the longest block that two texts share is
taken, the first one of several, and likewise what stands before and behind it. ``difflib`` looks for each block in all pairs of
equal letters. Here blocks of one length are found together, from long to short: what stands before the first longest block has
shorter ones only, so each length is looked for once, in one pass over both texts. Whether two parts of one length are equal is
known from the numbers of their halves (Karp, Miller and Rosenberg 1972).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_FEW = 16
"""Up to this length each one is tried; above it the next one that there is is searched for."""


def ratio(ours: str, theirs: str) -> float:
    """Return ``difflib.SequenceMatcher(None, ours, theirs).ratio()``, to the last bit.

    >>> ratio("return a + b", "return b + a")
    0.8333333333333334
    """
    length = len(ours) + len(theirs)
    return 2.0 * _Matching(ours, theirs).matched() / length if length else 1.0


class _Part(NamedTuple):
    """A stretch of each text that may share blocks: from the first place to before the second one."""

    start: int
    end: int
    other_start: int
    other_end: int


class _Shared(NamedTuple):
    """Where the parts of a length begin in our text that the other one has, and for each of them where it begins there."""

    places: list[int]
    others: list[list[int]]


class _Matching:
    def __init__(self, ours: str, theirs: str) -> None:
        self._ours, self._theirs = ours, theirs
        counts = Counter(theirs)
        most = (
            len(theirs) // 100 + 1 if len(theirs) >= 200 else len(theirs)
        )  # difflib's rule: others begin no block
        numbers = {
            letter: number for number, letter in enumerate(counts, 1) if counts[letter] <= most
        }
        both = [*map(numbers.get, ours), None, *map(numbers.get, theirs)]
        self._halves = [
            [number or 0 for number in both]
        ]  # of parts of 1, 2, 4, ... letters from each place on; 0: no part

    def matched(self) -> int:
        """Return how many letters stand in shared blocks."""
        found, length = 0, min(len(self._ours), len(self._theirs))
        pending = [_Part(0, len(self._ours), 0, len(self._theirs))]
        while length := self._next(pending, length):
            shared = self._shared(length)
            left: list[_Part] = []
            for part in pending:
                for block, rest in self._blocks(part, length, shared):
                    found += block
                    left.append(rest)
            pending = [
                part for part in left if part.start < part.end and part.other_start < part.other_end
            ]
            length -= 1
        return found + sum(self._same_beginning(part) for part in pending)

    def _next(self, parts: list[_Part], most: int) -> int:
        """Return a length up to which the longest block of these parts is no longer, and which some part may have."""
        least = 0
        while most > _FEW and least < most:
            middle = (least + most + 1) // 2
            shared = self._shared(middle)
            if any(_first(part, middle, shared) for part in parts):
                least = middle
            else:
                most = middle - 1
        return most

    def _blocks(self, part: _Part, length: int, shared: _Shared) -> Iterator[tuple[int, _Part]]:
        """Yield how many letters each block of a length has, with what stands before it; at last 0 and what is left."""
        start, end, other_start, other_end = part
        while found := _first(part, length, shared):
            at, other = found
            until, other_until = at + length, other + length
            while (
                at > start and other > other_start and self._ours[at - 1] == self._theirs[other - 1]
            ):
                at, other = at - 1, other - 1
            more = self._same_beginning(_Part(until, end, other_until, other_end))
            until, other_until = until + more, other_until + more
            yield until - at, _Part(start, at, other_start, other)
            start, other_start = until, other_until
            part = _Part(start, end, other_start, other_end)
        yield 0, part

    def _same_beginning(self, part: _Part) -> int:
        """Return with how many equal letters the two stretches begin."""
        start, end, other_start, other_end = part
        most = min(end - start, other_end - other_start)
        return next(
            (n for n in range(most) if self._ours[start + n] != self._theirs[other_start + n]), most
        )

    def _shared(self, length: int) -> _Shared:
        """Return what the texts share of parts of a length."""
        numbers, ours = self._numbers(length), len(self._ours)
        others: dict[int, list[int]] = {}
        for place in range(len(self._theirs) - length + 1):
            if number := numbers[ours + 1 + place]:
                others.setdefault(number, []).append(place)
        places = [place for place in range(ours - length + 1) if numbers[place] in others]
        return _Shared(places, [others[numbers[place]] for place in places])

    def _numbers(self, length: int) -> list[int]:
        """Return a number for the part of a length from each place on: equal parts have equal numbers; 0 is no part."""
        level = length.bit_length() - 1
        while len(self._halves) <= level:
            halves, width = self._halves[-1], 1 << len(self._halves) - 1
            seen: dict[tuple[int, int], int] = {}
            pairs = zip(halves, halves[width:])
            self._halves.append(
                [seen.setdefault(pair, len(seen) + 1) if all(pair) else 0 for pair in pairs]
            )
        halves, width = self._halves[level], 1 << level
        if width == length:
            return halves
        base = len(halves) + 1
        return [
            one * base + other if one and other else 0
            for one, other in zip(halves, halves[length - width :])
        ]


def _first(part: _Part, length: int, shared: _Shared) -> tuple[int, int] | None:
    """Return where the first block of a length lies in the two stretches; None where there is none."""
    places = shared.places
    for number in range(
        bisect_left(places, part.start), bisect_left(places, part.end - length + 1)
    ):
        others = shared.others[number]
        nearest = bisect_left(others, part.other_start)
        if nearest < len(others) and others[nearest] + length <= part.other_end:
            return places[number], others[nearest]
    return None

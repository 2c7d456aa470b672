"""Which comparisons are corrected together: one is tested first, the others stand in families below it.

The primary comparison is the first score of the first system against its baseline, over all rows. It is tested alone, so that no
slice, no further score and no further system changes its verdict. The others form three families - further systems, further
scores, slices -, each corrected by Holm's step-down method (1979). Comparisons of one family that rest on the same differences
are one comparison under several names, and count once; one that is the primary comparison under another name has its verdict.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from attrs import frozen

PRIMARY, SYSTEMS, SCORES, SLICES = "primary", "systems", "scores", "slices"


@frozen
class Member:
    """A comparison among others.

    Attributes:
        family: One of the four families.
        p_value: Of its test.
        content: Equal for comparisons that rest on the same differences.
    """

    family: str
    p_value: float
    content: Hashable


@frozen
class Corrected:
    """What becomes of a p-value.

    Attributes:
        p_value: Corrected for the family.
        together: How many comparisons the family holds.
        left: By how many the error of one that shows nothing is divided, beside those that did show something.
    """

    p_value: float
    together: int = 1
    left: int = 1


def correct(members: Sequence[Member], error: float) -> list[Corrected]:
    """Return the corrected p-value of each comparison, in the order given; ``error`` is that of each family."""
    first = next((one for one in members if one.family == PRIMARY), None)
    distinct: dict[str, dict[Hashable, float]] = {}
    for one in members:
        if first is None or one.content != first.content:
            distinct.setdefault(one.family, {}).setdefault(one.content, one.p_value)
    values = {family: dict(zip(own, holm(list(own.values())))) for family, own in distinct.items()}
    found = []
    for one in members:
        own = values.get(one.family, {})
        if one.content not in own:
            found.append(Corrected(one.p_value))
            continue
        shown = sum(value < error for value in own.values())
        found.append(Corrected(own[one.content], len(own), max(1, len(own) - shown)))
    return found


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected

"""The scale of a rating."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A rating scale, both ends included.

    >>> Scale.of("1-10").normalized(5.5)
    0.5

    Attributes:
        low: The worst rating.
        high: The best rating.
    """

    low: float = 1
    high: float = 5

    @classmethod
    def of(cls, ends: Scale | str | Sequence[float | str]) -> Scale:
        """Return the scale that is written as ``(1, 5)`` or ``"1-5"``.

        Raises:
            ValueError: The two ends are missing, equal, no numbers, or the wrong way round.
        """
        if isinstance(ends, Scale):
            return ends
        written = (
            re.fullmatch(r"\s*(-?[\d.]+)\s*(?:-|:|\.\.|to|,|/)\s*(-?[\d.]+)\s*", ends)
            if isinstance(ends, str)
            else None
        )
        pair = written.groups() if written else ends
        try:
            low, high = (_plain(float(end)) for end in pair)
        except (TypeError, ValueError):
            raise ValueError(f"A scale is written (1, 5) or '1-5', not {ends!r}.") from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(
                f"A scale goes from its worst to its best rating, as in '1-5', not {ends!r}."
            )
        return cls(low, high)

    def __contains__(self, rating: float) -> bool:
        return self.low <= rating <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}"

    @property
    def steps(self) -> list[int]:
        """The whole numbers of the scale, or nothing when they are too few or too many to be listed."""
        if (
            not (isinstance(self.low, int) and isinstance(self.high, int))
            or not 1 < self.high - self.low <= 100
        ):
            return []
        return list(range(self.low, self.high + 1))

    def normalized(self, rating: float) -> float:
        """Return a rating between 0 (worst) and 1 (best)."""
        return (rating - self.low) / (self.high - self.low)


def _plain(number: float) -> float:
    return int(number) if number.is_integer() else number

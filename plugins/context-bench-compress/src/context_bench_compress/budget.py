"""How much of a context may stay."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

DEFAULT_RATIO = 0.5


@dataclass(frozen=True)
class Budget:
    """A share of a context's tokens, or a fixed number of them: exactly one of the two."""

    ratio: float | None = None
    tokens: int | None = None

    @classmethod
    def of(cls, owner: str, ratio: float | None, tokens: int | None) -> Budget:
        """Return the budget that the options of ``owner`` ask for; half of the context if they ask for none.

        Raises:
            TypeError: An option is no number.
            ValueError: Both are given, the ratio is not above 0 and at most 1, or the tokens are below 0.
        """
        if ratio is not None and tokens is not None:
            raise ValueError(
                f"{owner}: both ratio={ratio} and tokens={tokens} are given; give one of them."
            )
        if tokens is not None:
            return cls(tokens=whole(owner, "tokens", tokens, least=0))
        share = DEFAULT_RATIO if ratio is None else ratio
        if isinstance(share, bool) or not isinstance(share, (int, float)):
            raise TypeError(
                f"{owner}: ratio is {share!r}, and a number above 0 and at most 1 is needed."
            )
        if not 0 < share <= 1:
            raise ValueError(
                f"{owner}: ratio is {share}, and it must be above 0 and at most 1: the share that stays."
            )
        return cls(ratio=float(share))

    def allowed(self, total: int) -> int:
        """Return how many of ``total`` tokens may stay: the share rounded down, and never more than there are.

        The ratio counts as the decimal number that was written, so 0.29 of 100 is 29.
        """
        if self.tokens is not None:
            return min(self.tokens, total)
        return int(Fraction(repr(self.ratio)) * total)

    def fingerprint(self) -> dict[str, Any]:
        """Return the option that holds."""
        return {"tokens": self.tokens} if self.ratio is None else {"ratio": self.ratio}


def whole(owner: str, option: str, value: object, *, least: int) -> int:
    """Return a whole number option.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is below ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner}: {option} is {value!r}, and a whole number is needed.")
    if value < least:
        raise ValueError(f"{owner}: {option} is {value}, and it must be {least} or more.")
    return value

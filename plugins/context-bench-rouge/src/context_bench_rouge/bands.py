"""Words for the height of a ROUGE score."""

from __future__ import annotations

_BANDS = ((1.0, "identical"), (0.9, "very high"), (0.7, "high"), (0.5, "moderate"), (0.3, "low"))


def score_band(score: float) -> str:
    """The band that a ROUGE score from 0 to 1 falls into. A band holds its lower bound and not its upper one.

    1.0 "identical", from 0.9 "very high", from 0.7 "high", from 0.5 "moderate", from 0.3 "low", above 0.0 "very low",
    0.0 "none". The names are for reading; there is no authority for what a good score is, which depends on the data.

    >>> [score_band(score) for score in (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0)]
    ['identical', 'very high', 'high', 'moderate', 'low', 'very low', 'none']

    Raises:
        ValueError: The score is not a number from 0 to 1.
    """
    if not 0 <= score <= 1:
        raise ValueError(f"score_band() takes a score from 0 to 1, not {score!r}.")
    for bound, name in _BANDS:
        if score >= bound - 1e-12:  # 0.9 may come out of a division as 0.8999999999999999
            return name
    return "very low" if score else "none"

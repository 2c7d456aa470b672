"""Words for the height of a ROUGE score."""

from __future__ import annotations

_BANDS = (
    (0.9, "Nearly complete overlap"),
    (0.7, "High overlap"),
    (0.5, "Moderate overlap"),
    (0.3, "Some overlap"),
    (0.0, "Little to no overlap"),
)


def score_band(score: float) -> str:
    """The band that a ROUGE score from 0 to 1 falls into. A band holds its lower bound and not its upper one.

    The names are for reading; there is no authority for what a good score is, which depends on the data.

    >>> [score_band(score) for score in (1.0, 0.7, 0.5, 0.3, 0.1)]
    ['Nearly complete overlap', 'High overlap', 'Moderate overlap', 'Some overlap', 'Little to no overlap']

    Raises:
        ValueError: The score is not a number from 0 to 1.
    """
    if not hasattr(score, "__float__") or not 0 <= score <= 1:
        raise ValueError(f"score_band() takes a score from 0 to 1, not {score!r}.")
    # 0.9 may come out of a division as 0.8999999999999999
    return next(name for bound, name in _BANDS if score >= bound - 1e-12)

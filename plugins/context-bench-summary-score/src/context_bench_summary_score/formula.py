"""The arithmetic of the score."""

from __future__ import annotations

from context_bench.tokens import WordTokenizer

FORMULAS = ("page", "ragas")
LENGTH_UNITS = ("chars", "words", "tokens")
_NO_ZERO = 1e-10


def length(text: str, unit: str) -> int:
    """Return the length of a text in characters, in words between white space, or in tokens (words and marks)."""
    if unit == "chars":
        return len(text)
    return len(text.split()) if unit == "words" else WordTokenizer().count(text)


def conciseness(summary: int, source: int) -> float:
    """Return how much shorter a summary is than its source; about 0 when it is not.

    >>> conciseness(183, 310)
    0.4096774193550291

    Args:
        summary: Length of the summary.
        source: Length of the source.
    """
    return 1 - min(summary, source) / (source + _NO_ZERO)


def final_score(qa: float, concise: float, coeff: float, formula: str = "page") -> float:
    """Return the score of both parts.

    >>> round(final_score(7 / 8, 0.4096774193550291, 0.5), 10)
    0.6423387097
    >>> final_score(1.0, 0.0, 0.8), round(final_score(1.0, 0.0, 0.8, "ragas"), 10)
    (0.8, 0.2)

    Args:
        qa: Share of questions that the summary answers.
        concise: How much shorter it is.
        coeff: Weight of the first, or with ``"ragas"`` of the second: so its code has it.
        formula: ``page`` or ``ragas``.
    """
    weight = coeff if formula == "page" else 1 - coeff
    return qa * weight + concise * (1 - weight)

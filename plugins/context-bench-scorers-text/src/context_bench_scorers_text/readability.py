"""How easily an English text reads."""

from __future__ import annotations

import math
import re

from context_bench_scorers import Category, Scorer, ScoreResult
from context_bench_scorers_text.parity import is_arthur
from context_bench_scorers_text.syllables import syllables
from context_bench_scorers_text.words import counted_words, sentences_of, words_of

_EMPTY = Category("empty", "the text has no words")
_SHORT_SENTENCE = 2
_ARTHUR_SENTENCE = re.compile(r"\b[^.!?]+[.!?]*")


class Readability(Scorer):
    """Flesch's reading ease: ``206.835 - 1.015 * words/sentences - 84.6 * syllables/words``.

    About 100 is very easy, 30 is hard; there is no lower or upper limit. A text without words has no score. R. Flesch, *A new
    readability yardstick*, Journal of Applied Psychology 32, 1948.

    >>> round(Readability().run(["The cat sat on the mat."])[0].score, 3)
    116.145

    Args:
        parity: ``"arthur"`` counts as the predecessor did, by textstat 0.7.3: a sentence ends at each full stop, also of an
            abbreviation or a decimal, sentences of up to two words are left out of their count, the averages are rounded to
            one decimal and the score to two, and an empty text has 206.84. Syllables are ours.
    """

    def __init__(self, *, parity: str | None = None) -> None:
        self.parity = parity
        self._is_arthur = is_arthur(parity)

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "readability"

    @staticmethod
    def requires_reference() -> bool:
        """Whether it compares with references: it does not."""
        return False

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        return [self._result(text) for text in candidate_batch]

    def _result(self, text: str) -> ScoreResult:
        if self._is_arthur:
            return ScoreResult(_as_arthur(text))
        words, sentences = words_of(text), sentences_of(text)
        if not words:
            return ScoreResult(None, _EMPTY)
        spoken = sum(map(syllables, words))
        score = 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * spoken / len(words)
        return ScoreResult(
            score, details={"words": len(words), "sentences": len(sentences), "syllables": spoken}
        )


def _as_arthur(text: str) -> float:
    words = counted_words(text)
    sentences = sum(
        len(counted_words(found)) > _SHORT_SENTENCE for found in _ARTHUR_SENTENCE.findall(text)
    )
    length = _rounded(len(words) / max(1, sentences), 1)
    weight = _rounded(sum(map(syllables, words)) / len(words), 1) if words else 0.0
    return _rounded(206.835 - 1.015 * length - 84.6 * weight, 2)


def _rounded(number: float, digits: int) -> float:
    """Return a number with so many decimals, a half away from zero."""
    scale = 10.0**digits
    return math.floor(number * scale + math.copysign(0.5, number)) / scale

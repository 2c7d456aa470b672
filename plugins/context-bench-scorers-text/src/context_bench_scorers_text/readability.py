"""How easily an English text reads."""

from __future__ import annotations

from context_bench_scorers import Category, Scorer, ScoreResult
from context_bench_scorers_text.syllables import syllables
from context_bench_scorers_text.words import sentences_of, words_of

_EMPTY = Category("empty", "the text has no words")


class Readability(Scorer):
    """Flesch's reading ease: ``206.835 - 1.015 * words/sentences - 84.6 * syllables/words``.

    About 100 is very easy, 30 is hard; there is no lower or upper limit. A text without words has no score. R. Flesch, *A new
    readability yardstick*, Journal of Applied Psychology 32, 1948.

    >>> round(Readability().run(["The cat sat on the mat."])[0].score, 3)
    116.145
    """

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
        words, sentences = words_of(text), sentences_of(text)
        if not words:
            return ScoreResult(None, _EMPTY)
        spoken = sum(map(syllables, words))
        score = 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * spoken / len(words)
        return ScoreResult(
            score, details={"words": len(words), "sentences": len(sentences), "syllables": spoken}
        )

"""How near the lengths of two texts are."""

from __future__ import annotations

from context_bench_scorers import Scorer, ScoreResult
from context_bench_scorers.batches import need_references
from context_bench_scorers_text.words import counted_words


class WordCountMatch(Scorer):
    """1.0 where candidate and reference have as many words, less the share that they differ by, never below 0.0.

    The score is ``max(0, (r - |r - c|) / r)`` for r words of the reference and c of the candidate. Two empty texts score 1.0, any
    words beside an empty reference 0.0.

    >>> [result.score for result in WordCountMatch().run(["two words", "one", "this one has five words"], ["the same"] * 3)]
    [1.0, 0.5, 0.0]
    """

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "word_count_match"

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        wanted = need_references(self.name(), reference_batch, len(candidate_batch))
        return [
            ScoreResult(_closeness(candidate, reference))
            for candidate, reference in zip(candidate_batch, wanted)
        ]


def _closeness(candidate: str, reference: str) -> float:
    has, wanted = len(counted_words(candidate)), len(counted_words(reference))
    if wanted == 0:
        return 1.0 if has == 0 else 0.0
    return max(0.0, (wanted - abs(wanted - has)) / wanted)

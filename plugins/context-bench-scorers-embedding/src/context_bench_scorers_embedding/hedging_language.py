"""Whether a text hedges."""

from __future__ import annotations

from typing import Any

from context_bench_scorers import Scorer, ScoreResult, UserValueError
from context_bench_scorers_embedding.bertscore import DEBERTA
from context_bench_scorers_embedding.embedders import Embedder, embedder_for
from context_bench_scorers_embedding.matching import match_pairs

HEDGE = "As an AI language model, I don't have personal opinions, emotions, or beliefs."


class HedgingLanguage(Scorer):
    """F1 of BERTScore between a text and a sentence that hedges: the nearer to 1, the more the text hedges.

    Compare texts by it: a fixed limit means nothing, because the scores of most models lie close together.

    Args:
        model_type: The model, as for `BERTScore`.
        hedging_language: The sentence.
        embedder: What embeds, in place of a model by name.

    Raises:
        UserValueError: The sentence is blank.
    """

    def __init__(
        self,
        model_type: str = DEBERTA,
        hedging_language: str = HEDGE,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        if not str(hedging_language or "").strip():
            raise UserValueError("hedging_language must be a sentence that hedges.")
        self.model_type = model_type if embedder is None else embedder.model
        self.hedging_language = hedging_language
        self._embedder = embedder

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "hedging_language"

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
        embedder = self._embedder or embedder_for(self.model_type)
        matches = match_pairs(
            embedder, candidate_batch, [self.hedging_language] * len(candidate_batch)
        )
        return [ScoreResult(match.f1, details={"model": embedder.model}) for match in matches]

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {"scorer": self.name(), **self.to_dict()}

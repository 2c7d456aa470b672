"""How near two texts are, token by token."""

from __future__ import annotations

from typing import Any

from context_bench_scorers import Scorer, ScoreResult, UserValueError
from context_bench_scorers.batches import need_references
from context_bench_scorers_embedding.embedders import Embedder, embedder_for
from context_bench_scorers_embedding.matching import match_pairs

DEBERTA = "microsoft/deberta-v3-base"


class BERTScore(Scorer):
    """``precision_weight * precision + (1 - precision_weight) * recall`` of the tokens' best cosines.

    Precision, recall, F1 and the model are in the details. Scores of two models cannot be compared, and those of most models lie
    close together: they rank texts.

    Args:
        model_type: The model. The documented default needs the extra ``transformers`` and downloads the model;
            `PACKAGED_MINILM` needs neither. A model is never replaced by another.
        precision_weight: Weight of precision, from 0 to 1.
        embedder: What embeds, in place of a model by name.

    Raises:
        UserValueError: The weight is outside of 0 to 1.
    """

    def __init__(
        self,
        model_type: str = DEBERTA,
        precision_weight: float = 0.1,
        *,
        embedder: Embedder | None = None,
    ) -> None:
        if (
            isinstance(precision_weight, bool)
            or not hasattr(precision_weight, "__float__")
            or not 0 <= precision_weight <= 1
        ):
            raise UserValueError(f"precision_weight must be from 0 to 1, not {precision_weight!r}.")
        self.model_type = model_type if embedder is None else embedder.model
        self.precision_weight = precision_weight
        self._embedder = embedder

    @staticmethod
    def name() -> str:
        """Return the name of the scorer."""
        return "bertscore"

    def run_batch(
        self,
        candidate_batch: list[str],
        reference_batch: list[str] | None = None,
        input_text_batch: list[str] | None = None,
        context_batch: list[str] | None = None,
    ) -> list[ScoreResult]:
        """Return a result for each candidate."""
        wanted = need_references(self.name(), reference_batch, len(candidate_batch))
        embedder = self._embedder or embedder_for(self.model_type)
        weight = self.precision_weight
        return [
            ScoreResult(
                weight * match.precision + (1 - weight) * match.recall,
                details={
                    "precision": match.precision,
                    "recall": match.recall,
                    "f1": match.f1,
                    "model": embedder.model,
                },
            )
            for match in match_pairs(embedder, candidate_batch, wanted)
        ]

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {"scorer": self.name(), **self.to_dict()}

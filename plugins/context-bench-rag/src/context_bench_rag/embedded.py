"""Answer relevancy without a judge: how near the response lies to the question, by the embeddings of a small local model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.records import Scores
from context_bench_rag.row import RagRow

EMBEDDED = "embedding: cosine of question and response, no judgement"
"""What details say of scores that rest on this."""
_PACKAGED = "packaged/all-MiniLM-L6-v2-int8"


class EmbeddedAnswerRelevancy:
    """The cosine of the mean token vectors of question and response, under ``answer_relevancy_embedding``; 0.0 below 0.

    With the packaged MiniLM this is the sentence embedding of its authors (sentence-transformers: mean pooling, unit length).

    An answer that is near the question in words and meaning scores high, a right one of a single word does not: it ranks
    answers of one kind, and knows nothing of truth. A blank response is 0.0.

    Args:
        model_type: The model: the packaged one, or one of the library transformers.
        embedder: What embeds, in place of a model by name: anything with ``model`` and ``embed(texts)``.
    """

    name = "answer_relevancy_embedding"

    def __init__(self, *, model_type: str = _PACKAGED, embedder: Any = None) -> None:
        self.model_type = model_type if embedder is None else embedder.model
        self._embedder = embedder

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the cosine, or nothing and the reason in the details."""
        row = RagRow.of(original, processed)
        lack = row.lacks("question", "response")
        if lack:
            return Scores({}, {"unscored": lack})
        details = {"method": EMBEDDED, "model": self.model_type}
        if not (row.response or "").strip():
            return Scores({self.name: 0.0}, {**details, "reason": "the response is blank"})
        if self._embedder is None:
            from context_bench_scorers_embedding import embedder_for

            self._embedder = embedder_for(self.model_type)
        one, other = (
            _mean(tokens) for tokens in self._embedder.embed([row.question, row.response])
        )
        return Scores({self.name: _cosine(one, other)}, details)

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {"model_type": self.model_type}


def _mean(tokens: Any) -> Any:
    """Return the mean of a text's token vectors as the model gave them, in 64 bits; None without tokens."""
    vectors = tokens.vectors.astype(float)
    lengths = getattr(tokens, "lengths", None)
    return (
        (vectors if lengths is None else vectors * lengths[:, None]).mean(axis=0)
        if len(vectors)
        else None
    )


def _cosine(one: Any, other: Any) -> float:
    """Return the cosine, 0.0 below 0 and for a vector of zeros; NaN where a vector has one: that is no 0.0."""
    if one is None or other is None:
        return 0.0
    one, other = (
        vector / (abs(vector).max() or 1.0) for vector in (one, other)
    )  # so that no square is 0 or infinite
    product = float(one @ other)
    lengths = float((one @ one) * (other @ other)) ** 0.5
    return min(max(product / lengths, 0.0), 1.0) if lengths else 0.0

"""Arthur's scorers that compare texts by the vectors of their tokens: BERTScore and hedging language."""

from context_bench_scorers_embedding.bertscore import BERTScore
from context_bench_scorers_embedding.embedders import (
    PACKAGED_MINILM,
    Embedder,
    HashedEmbedder,
    TokenVectors,
    embedder_for,
)
from context_bench_scorers_embedding.evaluators import BERTScoreEvaluator, HedgingLanguageEvaluator
from context_bench_scorers_embedding.hedging_language import HedgingLanguage
from context_bench_scorers_embedding.matching import Match, match_pairs

__all__ = [
    "BERTScore",
    "BERTScoreEvaluator",
    "Embedder",
    "HashedEmbedder",
    "HedgingLanguage",
    "HedgingLanguageEvaluator",
    "Match",
    "PACKAGED_MINILM",
    "TokenVectors",
    "embedder_for",
    "match_pairs",
]

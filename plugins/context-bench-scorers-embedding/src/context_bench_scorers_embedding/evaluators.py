"""The scorers as evaluators of a run. Their default model is the packaged one: nothing is downloaded unasked."""

from __future__ import annotations

from context_bench_scorers import ScorerEvaluator
from context_bench_scorers_embedding.bertscore import BERTScore
from context_bench_scorers_embedding.embedders import PACKAGED_MINILM
from context_bench_scorers_embedding.hedging_language import HEDGE, HedgingLanguage


class BERTScoreEvaluator(ScorerEvaluator):
    """`BERTScore` of the response and the best reference, under ``bertscore``.

    Args:
        model_type: The model.
        precision_weight: Weight of precision, from 0 to 1.
    """

    def __init__(self, *, model_type: str = PACKAGED_MINILM, precision_weight: float = 0.1) -> None:
        super().__init__(BERTScore(model_type, precision_weight))


class HedgingLanguageEvaluator(ScorerEvaluator):
    """`HedgingLanguage` of the response, under ``hedging_language``.

    Args:
        model_type: The model.
        hedging_language: The sentence that hedges.
    """

    def __init__(self, *, model_type: str = PACKAGED_MINILM, hedging_language: str = HEDGE) -> None:
        super().__init__(HedgingLanguage(model_type, hedging_language))

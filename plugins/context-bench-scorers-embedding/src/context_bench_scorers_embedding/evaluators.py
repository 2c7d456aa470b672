"""The scorers as evaluators of a run, with the defaults of their classes."""

from __future__ import annotations

from context_bench_scorers import ScorerEvaluator, ScorerUserError
from context_bench_scorers_embedding.bertscore import DEBERTA, BERTScore
from context_bench_scorers_embedding.embedders import PACKAGED_MINILM, embedder_for
from context_bench_scorers_embedding.hedging_language import HEDGE, HedgingLanguage


class BERTScoreEvaluator(ScorerEvaluator):
    """`BERTScore` of the response and the best reference, under ``bertscore``.

    Args:
        model_type: The model.
        precision_weight: Weight of precision, from 0 to 1.

    Raises:
        ScorerUserError: The libraries of the model are not installed.
    """

    def __init__(self, *, model_type: str = DEBERTA, precision_weight: float = 0.1) -> None:
        super().__init__(BERTScore(model_type, precision_weight))
        _require_libraries("bertscore", model_type)


class HedgingLanguageEvaluator(ScorerEvaluator):
    """`HedgingLanguage` of the response, under ``hedging_language``.

    Args:
        model_type: The model.
        hedging_language: The sentence that hedges.

    Raises:
        ScorerUserError: The libraries of the model are not installed.
    """

    def __init__(self, *, model_type: str = DEBERTA, hedging_language: str = HEDGE) -> None:
        super().__init__(HedgingLanguage(model_type, hedging_language))
        _require_libraries("hedging-language", model_type)


def _require_libraries(evaluator: str, model_type: str) -> None:
    """Refuse a model whose libraries are missing before the first call of a system."""
    try:
        embedder_for(model_type)
    except ScorerUserError as error:
        setting = f"--set evaluators.{evaluator}.model_type={PACKAGED_MINILM}"
        raise ScorerUserError(f"{error} In a run: `{setting}`.") from error

"""The metrics of deepeval that are called, and what each of them needs of a row."""

from __future__ import annotations

from attrs import frozen


@frozen
class MetricKind:
    """A metric class of deepeval.

    Attributes:
        class_name: Its name in ``deepeval.metrics``.
        needs: Fields of deepeval's test case that a row must fill, in addition to input and output.
        is_judged: Whether it asks a model.
    """

    class_name: str
    needs: tuple[str, ...] = ()
    is_judged: bool = True


METRICS: dict[str, MetricKind] = {
    "answer_relevancy": MetricKind("AnswerRelevancyMetric"),
    "faithfulness": MetricKind("FaithfulnessMetric", ("retrieval_context",)),
    "contextual_precision": MetricKind(
        "ContextualPrecisionMetric", ("retrieval_context", "expected_output")
    ),
    "contextual_recall": MetricKind(
        "ContextualRecallMetric", ("retrieval_context", "expected_output")
    ),
    "contextual_relevancy": MetricKind("ContextualRelevancyMetric", ("retrieval_context",)),
    "hallucination": MetricKind("HallucinationMetric", ("context",)),
    "summarization": MetricKind("SummarizationMetric"),
    "bias": MetricKind("BiasMetric"),
    "toxicity": MetricKind("ToxicityMetric"),
    "g_eval": MetricKind("GEval"),
    "exact_match": MetricKind("ExactMatchMetric", ("expected_output",), is_judged=False),
    "pattern_match": MetricKind("PatternMatchMetric", is_judged=False),
}
"""The metrics by the names that options and score keys have. In deepeval 4.3 more is better in each of them."""

RESERVED = frozenset(
    {
        "model",
        "async_mode",
        "eval_mode",
        "system_one_model",
        "include_reason",
        "evaluation_template",
    }
)
"""Arguments of metrics that the evaluator sets itself."""

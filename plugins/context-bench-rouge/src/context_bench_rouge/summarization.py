"""ROUGE-L of summaries, over lower-cased words between white space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of, gold
from context_bench.records import Scores
from context_bench_rouge.lcs import lcs_length


def rouge_l(prediction: str, reference: str) -> dict[str, float]:
    """ROUGE-L precision, recall and F1 of a text, with lower case and white space as the only tokenisation.

    Precision is the length of the longest common subsequence over the words of the prediction, recall over those of the
    reference, F1 their harmonic mean. An empty text on either side, or on both, gives 0.0.

    >>> rouge_l("the cat sat", "the cat sat on the mat")
    {'rouge_l_precision': 1.0, 'rouge_l_recall': 0.5, 'rouge_l_f1': 0.6666666666666666}
    """
    predicted, expected = prediction.lower().split(), reference.lower().split()
    length = lcs_length(predicted, expected)
    if not length:
        return _all(0.0)
    precision, recall = length / len(predicted), length / len(expected)
    return {
        "rouge_l_precision": precision,
        "rouge_l_recall": recall,
        "rouge_l_f1": 2 * precision * recall / (precision + recall),
    }


class SummarizationQuality:
    """Scores a summary by `rouge_l`; with several references in `answers`, by the one that gives the best F1.

    An empty reference asks for nothing and gives 1.0 for all three scores; one of nothing but white space gives 0.0, as
    rouge-score has it; a missing one leaves the row unscored: `{}`, with the reason in the details. An empty answer to a
    reference with words in it scores 0.0.

    >>> SummarizationQuality().score(
    ...     {"answer": "The committee approved the budget."},
    ...     {"response": "The budget was approved by the committee."},
    ... )
    {'rouge_l_precision': 0.42857142857142855, 'rouge_l_recall': 0.6, 'rouge_l_f1': 0.5}
    """

    name = "summarization_quality"

    def fingerprint(self) -> dict[str, str]:
        """Every parameter that can change a score: there are none."""
        return {}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """The three scores of the answer in `processed["response"]` against the references of the example."""
        response, found = answer_of(processed), gold(original)
        blank = [text for text in found.values if isinstance(text, str)]
        if response is None or not (found.texts or blank):
            return Scores({}, {"unscored": NO_ANSWER if response is None else found.reason})
        if not found.texts:
            return _all(float("" in blank))
        scores = [rouge_l(response, reference) for reference in found.texts]
        return max(scores, key=lambda score: score["rouge_l_f1"])


def _all(value: float) -> dict[str, float]:
    return dict.fromkeys(("rouge_l_precision", "rouge_l_recall", "rouge_l_f1"), value)

"""Accuracy on natural language inference and claim verification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, reply_of
from context_bench.records import Scores
from context_bench_nli.conclusion import find_label
from context_bench_nli.labels import label_set


class NLILabelMatch:
    """Scores 1.0 if the response concludes with the right label, 0.0 if it concludes with another one or with none.

    The labels are those of the example: `labels`, or else the family of its `answer`.

    >>> NLILabelMatch().score({"answer": "Entailment"}, {"response": "Yes, this is true."})
    {'nli_accuracy': 1.0}
    >>> NLILabelMatch().score({"answer": "SUPPORTS"}, {"response": "The abstract does not support the claim."})
    {'nli_accuracy': 0.0}

    `details` of the scores hold the label that was found, the rule that found it and the place; or `"label": None` and the
    reason. An example without a right label, and an output without a text, are unscored.
    """

    name = "nli"

    def fingerprint(self) -> dict[str, Any]:
        """The parameters that can change a score: there are none."""
        return {}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """`nli_accuracy` of one response.

        Args:
            original: The example, with `answer` (or `answers`), and `labels` if it has any other than those of the family.
            processed: The output, with `response`.
        """
        labels = label_set(original)
        if not labels.gold:
            return Scores(details={"unscored": labels.reason})
        response = reply_of(processed)
        if response is None:
            return Scores(details={"unscored": NO_ANSWER})
        repeated = [original.get(field) for field in ("question", "claim", "hypothesis")]
        finding = find_label(response, labels, [text for text in repeated if isinstance(text, str)])
        gold = "/".join(labels.labels[place].text for place in sorted(labels.gold))
        found = None if finding.label is None else labels.labels[finding.label].text
        details: dict[str, Any] = {"label": found, "gold": gold}
        shown = {"how": finding.how, "quote": finding.quote, "reason": finding.reason}
        details.update((name, text) for name, text in shown.items() if text)
        return Scores({"nli_accuracy": float(finding.label in labels.gold)}, details)

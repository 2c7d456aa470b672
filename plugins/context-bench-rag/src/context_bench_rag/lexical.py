"""The scores that can be had without a model: by words, not by meaning, under names that say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from context_bench.answers import plain_signs, without_layout, without_remarks
from context_bench.records import Scores
from context_bench_judging.lexical import LEXICAL, content_words, overlap, sentences
from context_bench_rag.contexts import average_precision
from context_bench_rag.row import RagRow

_CITATION = re.compile(  # [1], [2, 3], [4-6], [^7], 【8†source】, (source 9), [doc 10]
    r"\s?\[\^?(?:(?:doc|document|source|ref|reference|context|chunk|passage|citation)s?\.?\s*:?\s*#?)?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]"
    r"(?:\([^()\s]*\))?|\s?【[^【】\n]{0,80}】"
    r"|\s?\((?:doc|document|source|ref|reference|context|chunk|passage|citation)s?\.?\s*:?\s*#?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\)"
    r"|(?:(?<=[^\W\d_]{3})|(?<=[.,;:)\]\"]))[¹²³⁰⁴-⁹]+(?=[\s.,;:]|\Z)",
    re.IGNORECASE,
)
_TELLS_NOTHING = "the text has no word or number that could be looked for"


class _Lexical:
    """What they have in common: sentences of words like "it", "is" and "no" alone, which any text has, do not count.

    Args:
        threshold: Share of a sentence's content words that must be found; its numbers must all be.

    Raises:
        ValueError: The threshold is outside of 0 to 1.
    """

    name = "lexical"

    def __init__(self, threshold: float = 0.7) -> None:
        if (
            isinstance(threshold, bool)
            or not hasattr(threshold, "__float__")
            or not 0 <= threshold <= 1
        ):
            raise ValueError(f"threshold must be from 0 to 1, not {threshold!r}.")
        self.threshold = threshold

    def fingerprint(self) -> dict[str, Any]:
        """Return everything that can change a score."""
        return {"threshold": self.threshold}

    def _share_of_sentences(self, text: str, source: str) -> Scores:
        listed = _telling(plain_signs(text))
        if not listed:
            return Scores({}, {"unscored": _TELLS_NOTHING})
        source = plain_signs(source)
        missing = [sentence for sentence in listed if overlap(sentence, source) < self.threshold]
        return Scores(
            {self.name: 1 - len(missing) / len(listed)}, {"method": LEXICAL, "not_found": missing}
        )


class LexicalFaithfulness(_Lexical):
    """The share of the response's sentences whose words are in the contexts, under ``faithfulness_lexical``.

    >>> LexicalFaithfulness().score({"contexts": ["It is 330 m tall."]}, {"response": "It is 331 m tall."})
    {'faithfulness_lexical': 0.0}
    """

    name = "faithfulness_lexical"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the share, or nothing and the reason in the details."""
        row = RagRow.of(original, processed)
        lack = row.lacks("response", "contexts")
        return (
            Scores({}, {"unscored": lack})
            if lack
            else self._share_of_sentences(_claims(row.response or ""), row.source)
        )


def _claims(response: str) -> str:
    """A response without layout, courtesies and the marks of its citations, whose numbers no source has to have."""
    return _CITATION.sub("", without_remarks(without_layout(response)))


class LexicalContextRecall(_Lexical):
    """The share of the reference's sentences whose words are in the contexts, under ``context_recall_lexical``."""

    name = "context_recall_lexical"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the share, or nothing and the reason in the details."""
        row = RagRow.of(original, processed)
        lack = row.lacks("contexts", "reference")
        return (
            Scores({}, {"unscored": lack})
            if lack
            else self._share_of_sentences(row.reference, row.source)
        )


class LexicalContextPrecision(_Lexical):
    """Average precision of the contexts that have the words of a sentence of the reference: ``context_precision_lexical``."""

    name = "context_precision_lexical"

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """Return the average precision, or nothing and the reason in the details."""
        row = RagRow.of(original, processed)
        lack = row.lacks("contexts", "reference")
        if lack:
            return Scores({}, {"unscored": lack})
        wanted = _telling(row.reference)
        if not wanted:
            return Scores({}, {"unscored": _TELLS_NOTHING})
        useful = [
            any(overlap(one, context) >= self.threshold for one in wanted)
            for context in row.contexts
        ]
        return Scores(
            {self.name: average_precision(useful)},
            {"method": LEXICAL, "useful": [int(one) for one in useful]},
        )


def _telling(text: str) -> list[str]:
    """Return the sentences of a text that have something in them to look for."""
    return [sentence for sentence in sentences(text) if content_words(sentence)]

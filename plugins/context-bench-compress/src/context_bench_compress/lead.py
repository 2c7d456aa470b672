"""The first sentences: the baseline that news summarization is measured against."""

from __future__ import annotations

from typing import Any

from context_bench_compress.budget import Budget, whole
from context_bench_compress.sentences import sentence_spans, splitter_version
from context_bench_compress.tokens import count_tokens
from context_bench_compress.transform import Kept, transform
from context_bench_compress.truncation import beginning


class LeadSentences:
    r"""Keeps the first whole sentences of the context.

    Where not even the first sentence fits the budget, its beginning is kept, and ``compression`` says ``cut``.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        sentences: The number of sentences that stays, instead of a budget of tokens: 3 is the classic Lead-3.
        language: Code of the language, for its abbreviations and full stops; an unknown one is treated as English.

    >>> LeadSentences(sentences=1).process({"context": "Dr. Ash fell. Time passed."})["context"]
    'Dr. Ash fell.'
    """

    name = "lead"
    reads = ("context",)

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        sentences: int | None = None,
        language: str = "en",
    ) -> None:
        if sentences is not None and not (ratio is None and tokens is None):
            raise ValueError(
                f"lead: sentences={sentences} is given together with ratio or tokens; give one of them."
            )
        self.budget = (
            Budget.of(self.name, ratio, tokens) if sentences is None else Budget(ratio=1.0)
        )
        self.sentences = (
            sentences if sentences is None else whole(self.name, "sentences", sentences, least=1)
        )
        self.language = language

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the first sentences of the context, white space between them as it was."""
        return transform(
            self.name, example, self.budget, self._keep, always=self.sentences is not None
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        amount = (
            self.budget.fingerprint() if self.sentences is None else {"sentences": self.sentences}
        )
        return {**amount, "language": self.language, "splitter": splitter_version()}

    def _keep(self, texts: list[str], sizes: list[int], allowed: int) -> Kept:
        kept: list[str] = []
        count = 0
        for text in texts:
            last = 0
            for start, end in sentence_spans(text, self.language):
                size = count_tokens(text[start:end])
                if size > allowed or count == self.sentences:
                    break
                last, allowed, count = end, allowed - size, count + (size > 0)
            if last:
                kept.append(text[:last].rstrip() if last < len(text) else text)
            if last < len(text):
                break
        if count or not texts:
            return kept, {"sentences": count}
        return beginning(texts, sizes, allowed)[0], {"sentences": 0, "cut": True}

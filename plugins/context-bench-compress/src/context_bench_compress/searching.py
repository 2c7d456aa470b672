"""Compressors that search: they keep the passages that fit the question best, by a score of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_bench_compress.budget import Budget
from context_bench_compress.ranking import Cutter, keep_best, text_of
from context_bench_compress.terms import terms_of
from context_bench_compress.transform import Kept, transform


class PassageSearch:
    """What searching compressors have in common; a child gives `scores` and adds to `fingerprint`.

    Without a question there is nothing to search for: the first passages are kept and ``compression`` says
    ``"fallback": "no question"``, or the row fails, as ``without_question`` tells.
    """

    name = ""
    reads = ("context", "question")

    def __init__(
        self,
        ratio: float | None,
        tokens: int | None,
        passage_sentences: int | None,
        passage_tokens: int | None,
        language: str,
        without_question: str,
    ) -> None:
        self.budget = Budget.of(self.name, ratio, tokens)
        self.cutter = Cutter(self.name, passage_sentences, passage_tokens, language)
        if without_question not in ("lead", "error"):
            raise ValueError(
                f"{self.name}: without_question is {without_question!r}, and it is 'lead' or 'error'."
            )
        self.without_question = without_question

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the passages that fit the question best, white space within them as it was.

        Raises:
            ValueError: There is no question, and ``without_question`` is ``error``.
        """
        asked = example.get("question")
        question = asked if isinstance(asked, str) and terms_of(asked) else None
        if question is None and self.without_question == "error":
            raise ValueError(
                f"{self.name}: the row has no question to search with; choose another compressor for this data set, or "
                "set without_question=lead to keep the first passages."
            )

        def keep(texts: list[str], sizes: list[int], allowed: int) -> Kept:
            passages = self.cutter.cut(texts)
            if question is None:
                told: Mapping[str, Any] = {
                    "fallback": "no question",
                    **self.told([0.0] * len(passages)),
                }
                return keep_best(texts, passages, [0.0] * len(passages), allowed, told)
            scores = self.scores([text_of(texts, passage) for passage in passages], question)
            return keep_best(texts, passages, scores, allowed, self.told(scores))

        return transform(self.name, example, self.budget, keep)

    def scores(self, passages: list[str], question: str) -> Sequence[float]:
        """Return how well each passage fits the question, the higher the better."""
        raise NotImplementedError

    def told(self, scores: Sequence[float]) -> dict[str, Any]:
        """Return what ``compression`` says of the scores: how many passages share a term with the question."""
        return {"passages_matching": sum(score > 0 for score in scores)}

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {
            **self.budget.fingerprint(),
            **self.cutter.fingerprint(),
            "without_question": self.without_question,
        }

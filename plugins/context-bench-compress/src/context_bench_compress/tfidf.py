"""The passages whose words are most like the question's, by TF-IDF."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from context_bench_compress.searching import PassageSearch
from context_bench_compress.terms import terms_of


class TfidfPassages(PassageSearch):
    r"""Keeps the passages that are most like the question by TF-IDF, in the order of the document.

    The score is the cosine between the question and a passage, both as vectors of ``tf * (ln((1 + N) / (1 + n)) + 1)``
    over the terms of the passages, as scikit-learn's ``TfidfVectorizer`` has it: a term stands ``tf`` times in the text,
    and in ``n`` of the ``N`` passages. Terms, budget and order are those of `BM25Passages`.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        passage_sentences: Sentences of one passage; 3 by default.
        passage_tokens: Tokens of one passage, instead of sentences.
        sublinear: Count ``1 + ln(tf)`` in place of ``tf``.
        language: Code of the language, for finding sentences; an unknown one is treated as English.
        without_question: ``lead`` or ``error``.

    >>> example = {"context": "Rain fell. The code is 42. Time passed.", "question": "What is the code?"}
    >>> TfidfPassages(tokens=5, passage_sentences=1).process(example)["context"]
    'The code is 42.'
    """

    name = "tfidf"

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        passage_sentences: int | None = None,
        passage_tokens: int | None = None,
        sublinear: bool = False,
        language: str = "en",
        without_question: str = "lead",
    ) -> None:
        super().__init__(
            ratio, tokens, passage_sentences, passage_tokens, language, without_question
        )
        if not isinstance(sublinear, bool):
            raise TypeError(f"tfidf: sublinear is {sublinear!r}, and true or false is needed.")
        self.sublinear = sublinear

    def scores(self, passages: list[str], question: str) -> Sequence[float]:
        """Return the cosine between the question and each passage, from 0 to 1."""
        return tfidf_scores(
            [terms_of(passage) for passage in passages], terms_of(question), self.sublinear
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {**super().fingerprint(), "sublinear": self.sublinear}


def tfidf_scores(
    documents: list[list[str]], query: list[str], sublinear: bool = False
) -> list[float]:
    """Return the cosine between the query and each document; terms that no document has count nothing."""
    counts = [Counter(document) for document in documents]
    containing = Counter(term for count in counts for term in count)
    rarity = {term: math.log((1 + len(documents)) / (1 + n)) + 1 for term, n in containing.items()}

    def vector(count: Counter[str]) -> dict[str, float]:
        return {
            term: (1 + math.log(tf) if sublinear else tf) * rarity[term]
            for term, tf in count.items()
            if term in rarity
        }

    wanted = vector(Counter(query))
    length = _length(wanted)
    scores = []
    for count in counts:
        weights = vector(count) if any(term in count for term in wanted) else {}
        product = math.fsum(weight * weights.get(term, 0.0) for term, weight in wanted.items())
        # rounded, so that the last bit of a logarithm decides nothing
        scores.append(round(product / (length * _length(weights)), 9) if product else 0.0)
    return scores


def _length(vector: dict[str, float]) -> float:
    return math.sqrt(math.fsum(weight * weight for weight in vector.values()))

"""The passages that a search engine would return for the question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from context_bench_compress.searching import PassageSearch
from context_bench_compress.terms import terms_of


class BM25Passages(PassageSearch):
    r"""Keeps the passages that fit the question best by BM25, in the order of the document.

    The best passage is taken first, then the next, as long as whole ones fit; passages that fit alike are taken in
    document order, so those without any word of the question come last and from the beginning. A larger budget keeps
    all that a smaller one keeps. Where not even the best one fits, its beginning is kept and ``compression`` says
    ``cut``. Without a question there is nothing to search for: the first passages are kept and ``compression`` says
    ``"fallback": "no question"``, or the row fails, as ``without_question`` tells.

    Scores are those of Lucene's BM25 by bm25s. Terms are lower-cased runs of word characters without stemming or stop
    words; scripts written without spaces (Chinese, Japanese, Thai, ...) are compared by pairs of characters.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        passage_sentences: Sentences of one passage; 3 by default. A sentence of more than 200 tokens is cut into
            windows of 200.
        passage_tokens: Tokens of one passage, instead of sentences.
        k1: How much a repeated term counts; 0 for not at all.
        b: How much long passages are held back, from 0 to 1.
        language: Code of the language, for finding sentences; an unknown one is treated as English.
        without_question: ``lead`` or ``error``.

    >>> example = {"context": "Rain fell. The code is 42. Time passed.", "question": "What is the code?"}
    >>> BM25Passages(tokens=5, passage_sentences=1).process(example)["context"]
    'The code is 42.'
    """

    name = "bm25"

    def __init__(
        self,
        ratio: float | None = None,
        tokens: int | None = None,
        passage_sentences: int | None = None,
        passage_tokens: int | None = None,
        k1: float = 1.5,
        b: float = 0.75,
        language: str = "en",
        without_question: str = "lead",
    ) -> None:
        super().__init__(
            ratio, tokens, passage_sentences, passage_tokens, language, without_question
        )
        self.k1 = _number("k1", k1, math.inf)
        self.b = _number("b", b, 1.0)

    def scores(self, passages: list[str], question: str) -> Sequence[float]:
        """Return the BM25 score of each passage."""
        return bm25_scores(
            [terms_of(passage) for passage in passages], terms_of(question), self.k1, self.b
        )

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {**super().fingerprint(), "k1": self.k1, "b": self.b, "ranker": _ranker_version()}


def bm25_scores(documents: list[list[str]], query: list[str], k1: float, b: float) -> list[float]:
    """Return the BM25 score of each document, by Lucene's formula; 0 for one that shares no term with the query.

    The score of a term is ``ln(1 + (N - n + 0.5) / (n + 0.5)) * f / (f + k1 * (1 - b + b * length / average))``: it
    stands ``f`` times in this document and in ``n`` of the ``N`` documents that have any terms.
    """
    scores = [0.0] * len(documents)
    filled = [index for index, document in enumerate(documents) if document]
    vocabulary: dict[str, int] = {}
    ids = [
        [vocabulary.setdefault(term, len(vocabulary)) for term in documents[index]]
        for index in filled
    ]
    wanted = [vocabulary[term] for term in query if term in vocabulary]
    if not wanted:
        return scores
    for index, score in zip(filled, _library_scores(ids, vocabulary, wanted, k1, b)):
        scores[index] = round(score, 9)  # so that the last bit of a logarithm decides nothing
    return scores


def _library_scores(
    ids: list[list[int]], vocabulary: dict[str, int], wanted: list[int], k1: float, b: float
) -> Iterable[float]:
    import logging

    import bm25s  # type: ignore[import-untyped, import-not-found, unused-ignore]

    logging.getLogger("bm25s").setLevel(
        logging.WARNING
    )  # it asks for a line of DEBUG for every index
    index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    return [float(score) for score in index.get_scores_from_ids(wanted)]


def _number(option: str, value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"bm25: {option} is {value!r}, and a number is needed.")
    if not 0 <= value <= most or value == math.inf:
        limit = "0 or more" if most == math.inf else f"from 0 to {most:g}"
        raise ValueError(f"bm25: {option} is {value}, and it must be {limit}.")
    return float(value)


@cache
def _ranker_version() -> str:
    return f"bm25s {version('bm25s')}"

"""The passages that a search engine would return for the question."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from typing import Any

from context_bench_compress.budget import Budget, whole
from context_bench_compress.passages import Passage, by_sentences, by_tokens, joined
from context_bench_compress.sentences import splitter_version
from context_bench_compress.tokens import head_end
from context_bench_compress.transform import Kept, transform

DEFAULT_SENTENCES = 3


class BM25Passages:
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
        passage_sentences: Sentences of one passage; 3 unless told. A sentence of more than 200 tokens is cut into
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
    reads = ("context", "question")

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
        self.budget = Budget.of(self.name, ratio, tokens)
        if passage_sentences is not None and passage_tokens is not None:
            raise ValueError("bm25: both passage_sentences and passage_tokens are given; give one of them.")
        if passage_tokens is not None:
            self.passage = {"passage_tokens": whole(self.name, "passage_tokens", passage_tokens, least=1)}
        else:
            size = DEFAULT_SENTENCES if passage_sentences is None else passage_sentences
            self.passage = {"passage_sentences": whole(self.name, "passage_sentences", size, least=1)}
        self.k1 = _number("k1", k1, math.inf)
        self.b = _number("b", b, 1.0)
        self.language = language
        if without_question not in ("lead", "error"):
            raise ValueError(f"bm25: without_question is {without_question!r}, and it is 'lead' or 'error'.")
        self.without_question = without_question

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the passages that fit the question best, white space within them as it was.

        Raises:
            ValueError: There is no question, and ``without_question`` is ``error``.
        """
        question = example.get("question")
        terms = terms_of(question) if isinstance(question, str) else []
        if not terms and self.without_question == "error":
            raise ValueError(
                "bm25: the row has no question to search with; choose another compressor for this data set, or set "
                "without_question=lead to keep the first passages."
            )

        def keep(texts: list[str], sizes: list[int], allowed: int) -> Kept:
            return self._keep(texts, allowed, terms)

        return transform(self.name, example, self.budget, keep)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {
            **self.budget.fingerprint(),
            **self.passage,
            "k1": self.k1,
            "b": self.b,
            "language": self.language,
            "without_question": self.without_question,
            "ranker": _ranker_version(),
            "splitter": splitter_version(),
        }

    def _keep(self, texts: list[str], allowed: int, terms: list[str]) -> Kept:
        passages = self._passages(texts)
        scores = bm25_scores([terms_of(_text(texts, passage)) for passage in passages], terms, self.k1, self.b)
        remarks: dict[str, Any] = {"passages": len(passages)}
        if not terms:
            remarks["fallback"] = "no question"
        ranked = sorted(range(len(passages)), key=lambda index: (-scores[index], index))
        chosen = []
        for index in ranked:
            if passages[index].tokens > allowed:
                break
            allowed -= passages[index].tokens
            chosen.append(index)
        if chosen or not ranked:
            kept = joined(texts, (passages[index] for index in sorted(chosen)))
        else:
            best = passages[ranked[0]]
            text = _text(texts, best)
            kept = [part] if (part := text[: head_end(text, allowed, best.tokens)]) else []
            remarks["cut"] = True
        return kept, {**remarks, "passages_kept": len(chosen), "passages_matching": sum(score > 0 for score in scores)}

    def _passages(self, texts: list[str]) -> list[Passage]:
        if "passage_tokens" in self.passage:
            return by_tokens(texts, self.passage["passage_tokens"])
        return by_sentences(texts, self.passage["passage_sentences"], self.language)


# Scripts written without spaces between words: Thai and Lao, Myanmar, Khmer, kana, Han.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_TERM = re.compile(rf"([{_DENSE}]+)|[^\W{_DENSE}]+")


def terms_of(text: str) -> list[str]:
    """Return the search terms of a text.

    >>> terms_of("The code: 北京大学!")
    ['the', 'code', '北京', '京大', '大学']
    """
    terms: list[str] = []
    for match in _TERM.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match[0]
        if match[1] and len(run) > 1:
            terms += [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            terms.append(run)
    return terms


def bm25_scores(documents: list[list[str]], query: list[str], k1: float, b: float) -> list[float]:
    """Return the BM25 score of each document, by Lucene's formula; 0 for one that shares no term with the query.

    The score of a term is ``ln(1 + (N - n + 0.5) / (n + 0.5)) * f / (f + k1 * (1 - b + b * length / average))``: it
    stands ``f`` times in this document and in ``n`` of the ``N`` documents that have any terms.
    """
    scores = [0.0] * len(documents)
    filled = [index for index, document in enumerate(documents) if document]
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in documents[index]] for index in filled]
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

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for a line of DEBUG for every index
    index = bm25s.BM25(k1=k1, b=b, method="lucene", dtype="float64")
    index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
    return [float(score) for score in index.get_scores_from_ids(wanted)]


def _text(texts: list[str], passage: Passage) -> str:
    return texts[passage.text][passage.start : passage.end]


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

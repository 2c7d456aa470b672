"""Extractive summaries by sumy (Apache licence): LSA, LexRank and Luhn, on our sentences and words.

sumy would find sentences with data that NLTK downloads. It is given ours instead, so nothing is downloaded, white space
stays as it was, and the budget holds. Ratings, stop words and stems are sumy's own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from context_bench_compress.budget import Budget
from context_bench_compress.extras import require
from context_bench_compress.passages import by_sentences
from context_bench_compress.ranking import keep_best, text_of
from context_bench_compress.sentences import splitter_version
from context_bench_compress.terms import terms_of
from context_bench_compress.transform import Kept, transform

SECTION = 200
"""Sentences that are rated together: the time of LSA and LexRank grows with the square of them, and more."""


class _Summary:
    name = ""
    reads = ("context",)

    def __init__(
        self, ratio: float | None = None, tokens: int | None = None, language: str = "en"
    ) -> None:
        self._library = require(
            self.name, "sumy", "sumy", "nltk", "numpy", "threadpoolctl"
        ).rpartition(", ")[0]
        self.budget = Budget.of(self.name, ratio, tokens)
        self.language = language

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the sentences that sum the context up, white space between them as it was."""
        return transform(self.name, example, self.budget, self._keep)

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change an output."""
        return {
            **self.budget.fingerprint(),
            "language": self.language,
            "section": SECTION,
            "ranker": self._library,
            "splitter": splitter_version(),
        }

    def _keep(self, texts: list[str], sizes: list[int], allowed: int) -> Kept:
        sentences = by_sentences(texts, 1, self.language)
        ranks = self._ranks([text_of(texts, sentence) for sentence in sentences])
        kept, told = keep_best(texts, sentences, ranks, allowed, {})
        return kept, {
            ("sentences" if key == "passages_kept" else key): told[key]
            for key in told
            if key != "passages"
        }

    def _ranks(self, sentences: Sequence[str]) -> list[float]:
        """Return a rank for each sentence, the higher the better.

        Up to `SECTION` sentences are ranked by their rating. Ratings of two sections cannot be compared, so of a longer
        text every section gives its best sentence, then its second, and so on.
        """
        if len(sentences) <= SECTION:
            return self._ratings(sentences)
        ranks = [0.0] * len(sentences)
        count = math.ceil(len(sentences) / SECTION)
        for section in range(count):
            start, end = (len(sentences) * each // count for each in (section, section + 1))
            ratings = self._ratings(sentences[start:end])
            order = sorted(range(end - start), key=lambda index: (-ratings[index], index))
            for place, index in enumerate(order):
                ranks[start + index] = -float(place)
        return ranks

    def _ratings(self, sentences: Sequence[str]) -> list[float]:
        ratings = rate(self.name, sentences, self.language)
        top = max(map(abs, ratings), default=0.0) or 1.0
        # rounded, so that the last bit of a matrix product decides nothing
        return [round(rating / top, 9) for rating in ratings]


class LSASummary(_Summary):
    r"""Keeps the sentences that sum the context up by latent semantic analysis, in document order.

    Steinberger and Jezek 2004: sentences are rated by their length in the space of the topics that a singular value
    decomposition finds. Ratings are sumy's, stop words and stems those of the language where sumy has them.

    Of more than 200 sentences, sections of at most 200 are rated each for itself and give sentences in turn.

    Args:
        ratio: The share of the tokens (matches of ``\w+|[^\w\s]``) that may stay; half of them unless told.
        tokens: The number of tokens that may stay, instead of a share.
        language: Code of the language, for sentences, stop words and stems.

    Raises:
        ImportError: sumy is not installed.
    """

    name = "lsa"


class LexRankSummary(_Summary):
    r"""Keeps the sentences that sum the context up by LexRank, in document order.

    Erkan and Radev 2004: sentences are rated by their centrality in the graph of those that resemble each other. Arguments,
    budget and sections are those of `LSASummary`.
    """

    name = "lexrank"


class LuhnSummary(_Summary):
    r"""Keeps the sentences that sum the context up by Luhn's rule, in document order.

    Luhn 1958: sentences are rated by how densely frequent words stand in them. Arguments, budget and sections are those
    of `LSASummary`.
    """

    name = "luhn"


def rate(method: str, sentences: Sequence[str], language: str) -> list[float]:
    """Return sumy's ratings of the sentences of one text; 0 for all where it has no words.

    Args:
        method: ``lsa``, ``lexrank`` or ``luhn``.
        sentences: The sentences, in order.
        language: Code of their language.
    """
    from sumy.models.dom import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        ObjectDocumentModel,
        Paragraph,
        Sentence,
    )

    ratings = [0.0] * len(sentences)
    worded = [index for index, sentence in enumerate(sentences) if terms_of(sentence)]
    if not worded:
        return ratings
    document = ObjectDocumentModel(
        [Paragraph([Sentence(sentences[index], _Words) for index in worded])]
    )

    def note(found: Sequence[Any]) -> Sequence[Any]:
        for each in found:
            ratings[worded[each.order]] = float(each.rating)
        return found

    import numpy

    # Where no two sentences resemble each other, LexRank divides by zero. Matrices this small are hundreds of times slower
    # on two threads than on one when the machine is busy.
    with numpy.errstate(all="ignore"), _threads().limit(limits=1, user_api="blas"):
        _summarizer(method, language)(
            document, note
        )  # how many to take may be a function of the rated sentences
    return [rating if math.isfinite(rating) else 0.0 for rating in ratings]


@cache
def _threads() -> Any:
    from threadpoolctl import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        ThreadpoolController,
    )

    return ThreadpoolController()


class _Words:
    """The tokenizer that sumy's sentences ask for their words."""

    @staticmethod
    def to_words(sentence: str) -> tuple[str, ...]:
        return tuple(terms_of(sentence))


def _summarizer(method: str, language: str) -> Callable[..., Any]:
    """Return a summarizer; a new one for each text, since it is not promised that threads may share one."""
    if method == "luhn":
        from sumy.summarizers.luhn import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
            LuhnSummarizer,
        )

        kind = LuhnSummarizer
    else:
        kind = _with_matrices(method)
    stemmer, stop_words = _words_of(language)
    summarizer: Callable[..., Any] = kind(stemmer)
    summarizer.stop_words = stop_words  # type: ignore[attr-defined]
    return summarizer


@cache
def _with_matrices(method: str) -> Any:
    """Return sumy's class with its matrices filled by numpy, many times faster and to the same numbers.

    Its words stand in one order in every process, and it does not warn of texts with fewer words than sentences.
    """
    import numpy
    from sumy.summarizers.lex_rank import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        LexRankSummarizer,
    )
    from sumy.summarizers.lsa import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        LsaSummarizer,
    )

    class LSA(LsaSummarizer):  # type: ignore[misc, unused-ignore]
        def _create_dictionary(self, document: Any) -> dict[str, int]:
            return {
                word: row for row, word in enumerate(sorted(super()._create_dictionary(document)))
            }

        def _create_matrix(self, document: Any, dictionary: dict[str, int]) -> Any:
            matrix = numpy.zeros((len(dictionary), len(document.sentences)))
            for column, sentence in enumerate(document.sentences):
                for word in map(self.stem_word, sentence.words):
                    if word in dictionary:
                        matrix[dictionary[word], column] += 1
            return matrix

        def _compute_term_frequency(self, matrix: Any, smooth: float = 0.4) -> Any:
            most = matrix.max(axis=0)
            return numpy.where(
                most > 0, smooth + (1 - smooth) * matrix / numpy.where(most > 0, most, 1), matrix
            )

    class LexRank(LexRankSummarizer):  # type: ignore[misc, unused-ignore]
        @staticmethod
        def _compute_idf(sentences: Sequence[Sequence[str]]) -> dict[str, float]:
            containing = Counter(term for sentence in sentences for term in set(sentence))
            return {
                term: math.log(len(sentences) / (1 + count)) for term, count in containing.items()
            }

        def _create_matrix(
            self, sentences: Any, threshold: float, tf_metrics: Any, idf_metrics: Any
        ) -> Any:
            rows = {term: row for row, term in enumerate(sorted(idf_metrics))}
            weights = numpy.zeros((len(rows), len(sentences)))
            for column, frequencies in enumerate(tf_metrics):
                for term, frequency in frequencies.items():
                    weights[rows[term], column] = frequency * idf_metrics[term]
            lengths = numpy.sqrt((weights * weights).sum(axis=0))
            directions = weights / numpy.where(lengths > 0, lengths, 1)
            linked = (directions.T @ directions).round(12) > threshold
            return linked / numpy.maximum(linked.sum(axis=1, keepdims=True), 1)

    return {"lsa": LSA, "lexrank": LexRank}[method]


@cache
def _words_of(language: str) -> tuple[Callable[[str], str], frozenset[str]]:
    """Return the stemmer and the stop words of a language, or none where sumy has none."""
    from sumy.nlp.stemmers import (  # type: ignore[import-untyped, import-not-found, unused-ignore]
        Stemmer,
        null_stemmer,
    )
    from sumy.utils import get_stop_words  # type: ignore[import-untyped, import-not-found, unused-ignore]

    try:
        stemmer = Stemmer(language)
    except LookupError:
        stemmer = null_stemmer
    try:
        stop_words = frozenset(get_stop_words(language))
    except LookupError:
        stop_words = frozenset()
    return stemmer, stop_words

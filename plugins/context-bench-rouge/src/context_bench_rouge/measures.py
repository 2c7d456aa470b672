"""Precision, recall and F-measure of ROUGE-N, ROUGE-L and ROUGE-Lsum, as the rouge-score package defines them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from context_bench_rouge.lcs import lcs_length, union_lcs


class Score(NamedTuple):
    """What one measure says of a prediction and a reference; each value from 0 to 1."""

    precision: float
    recall: float
    fmeasure: float


def score_ngrams(prediction: Sequence[str], reference: Sequence[str], n: int) -> Score:
    """ROUGE-N: n-grams in common, each counted as often as it stands in both (Lin 2004, section 2)."""
    predicted, expected = _ngrams(prediction, n), _ngrams(reference, n)
    shared = sum(
        min(count, predicted[ngram]) for ngram, count in expected.items() if ngram in predicted
    )
    return _score(shared, max(len(prediction) - n + 1, 0), max(len(reference) - n + 1, 0))


def score_lcs(prediction: Sequence[str], reference: Sequence[str]) -> Score:
    """ROUGE-L: the longest common subsequence of the whole texts (Lin 2004, section 3.1)."""
    return _score(lcs_length(prediction, reference), len(prediction), len(reference))


def score_summary_lcs(
    prediction: Sequence[Sequence[str]], reference: Sequence[Sequence[str]]
) -> Score:
    """ROUGE-Lsum: for each sentence of the reference, the union of its LCS with each predicted one (section 3.2).

    As in ROUGE-1.5.5, a word is a hit no more often than it stands in either text.
    """
    predicted = Counter(chain.from_iterable(prediction))
    expected = Counter(chain.from_iterable(reference))
    found = Counter(chain.from_iterable(union_lcs(sentence, prediction) for sentence in reference))
    hits = sum(min(count, predicted[word], expected[word]) for word, count in found.items())
    return _score(hits, predicted.total(), expected.total())


def _ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(n))))


def _score(shared: int, of_prediction: int, of_reference: int) -> Score:
    if not shared:
        return Score(0.0, 0.0, 0.0)
    precision, recall = shared / of_prediction, shared / of_reference
    return Score(precision, recall, 2 * precision * recall / (precision + recall))

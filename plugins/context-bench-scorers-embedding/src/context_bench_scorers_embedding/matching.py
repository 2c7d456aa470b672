"""BERTScore's matching: each token with the nearest of the other text.

T. Zhang et al., *BERTScore: Evaluating Text Generation with BERT*, ICLR 2020; without inverse document frequencies and without
rescaling. As in the authors' package, the tokens that begin and end a text do not count, yet others may be nearest to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from context_bench_scorers_embedding.embedders import Embedder, TokenVectors

_PAIRS_AT_ONCE = 512


@frozen
class Match:
    """How well two texts match.

    Attributes:
        precision: Mean over the candidate's tokens of their best cosine.
        recall: The same over the reference's tokens.
    """

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean; 0.0 where both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total > 0 else 0.0


def match_pairs(
    embedder: Embedder, candidates: Sequence[str], references: Sequence[str]
) -> list[Match]:
    """Return how well each candidate matches its reference; every text is embedded once.

    A pair with a text that has no tokens is 0.0.
    """
    found: list[Match] = []
    for start in range(0, len(candidates), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        found += _matches(embedder, candidates[part], references[part])
    return found


def _matches(
    embedder: Embedder, candidates: Sequence[str], references: Sequence[str]
) -> Iterator[Match]:
    texts = list(dict.fromkeys([*candidates, *references]))
    tokens = dict(zip(texts, embedder.embed(texts)))
    return (
        _match(tokens[candidate], tokens[reference])
        for candidate, reference in zip(candidates, references)
    )


def _match(candidate: TokenVectors, reference: TokenVectors) -> Match:
    if not (candidate.counts.any() and reference.counts.any()):
        return Match(0.0, 0.0)
    cosines = np.minimum(candidate.vectors @ reference.vectors.T, 1.0)
    return Match(
        precision=float(np.mean(cosines.max(axis=1)[candidate.counts])),
        recall=float(np.mean(cosines.max(axis=0)[reference.counts])),
    )

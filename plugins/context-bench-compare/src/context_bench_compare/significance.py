"""Paired tests: whether a difference can be chance.

Passes and fails get McNemar's exact test; graded scores get the sign-flip permutation test (Fisher 1935), which flips whole
clusters where rows come in clusters. Many tests at once are corrected by Holm's step-down method (1979).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from context_bench_compare import normal
from context_bench_compare.intervals import Clusters, Floats, _cluster_sums, are_flips

EXACT_UP_TO = 16
"""So many differences that are not zero are flipped in every way; more are sampled."""

NORMAL_FROM = 20_000
"""From so many differences on, the flipped sums are normal to within the error of sampling them, and are not sampled."""


def mcnemar(improved: int, regressed: int) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    >>> mcnemar(1, 8)
    0.0390625

    Args:
        improved: Rows that failed with the baseline and pass now.
        regressed: Rows that passed with the baseline and fail now.
    """
    flips = improved + regressed
    return normal.sign_test(improved, flips) if flips else 1.0


def sign_flip(differences: Floats, clusters: Clusters | None = None, seed: int = 0, draws: int = 20_000) -> float:
    """Return the two-sided p-value of the sign-flip permutation test that the mean difference is zero.

    Args:
        differences: One difference a matched row, shape (rows,).
        clusters: Number of the cluster of each row; whole clusters are flipped then.
        seed: Seed of the sampled flips: equal seeds give equal p-values.
        draws: Flips that are sampled where there are too many to try all.
    """
    sums = np.asarray(_cluster_sums(np.asarray(differences, dtype=float), clusters))
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0
    found = abs(float(sums.sum()))
    limit = found - 1e-12 * max(1.0, float(np.abs(sums).sum()))
    if len(sums) <= EXACT_UP_TO:
        signs = 1 - 2 * ((np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums))) & 1)
        return float((np.abs(signs @ sums) >= limit).mean())
    if len(sums) >= NORMAL_FROM:
        return float(min(1.0, 2 * normal.beyond(found / float(np.sqrt(np.square(sums).sum())))))
    generator = np.random.default_rng(seed)
    extreme, block = 0, max(1, 4_000_000 // len(sums))
    for start in range(0, draws, block):
        flips = generator.integers(0, 2, size=(min(block, draws - start), len(sums)), dtype=np.int8)
        totals = sums.sum() - 2 * (flips @ sums)
        extreme += int((np.abs(totals) >= limit).sum())
    return (extreme + 1) / (draws + 1)


def paired_p_value(differences: Floats, clusters: Clusters | None = None, seed: int = 0) -> tuple[float, str]:
    """Return the p-value of paired differences and the name of the test.

    Passes and fails without clusters get McNemar's test, all else the sign-flip test.
    """
    differences = np.asarray(differences, dtype=float)
    if are_flips(differences, clusters):
        return mcnemar(int((differences > 0).sum()), int((differences < 0).sum())), "McNemar, exact"
    return sign_flip(differences, clusters, seed), "sign-flip permutation"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda number: p_values[number])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected

"""The mean of paired differences: a test with its interval, and a guarantee.

The test says whether two systems that are equal would part so far by chance. It is McNemar's for passes and fails of single
rows, and the sign-flip test of cluster means for all else; see :mod:`~context_bench_compare.paired_passes` and
:mod:`~context_bench_compare.sign_flip`. Its interval holds what the test does not reject. It goes by what was seen: of 30
rows that all gain a little it knows nothing of the one in 50 that loses everything.

The guarantee holds whatever was not seen, and is wider: Gaffke's interval, see :mod:`~context_bench_compare.bounded_means`.

Rows that hang together, by repetition or by cluster, are one value. Both are also taken for the rows alone, and of all the widest
is given: rows that are declared to hang together never make a difference surer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from attrs import frozen

from context_bench_compare.bounded_means import bounded_mean
from context_bench_compare.intervals import (
    Clusters,
    Floats,
    Interval,
    TooFew,
    cluster_count,
    cluster_sizes,
    cluster_sums,
    counted,
    open_ended,
    rows_for_far_off,
    that_matter,
)
from context_bench_compare.paired_passes import mid_p, passes_interval
from context_bench_compare.sign_flip import (
    MINIMUM_UNITS,
    flip_interval,
    flip_p_value,
    units_needed,
)

OF_PASSES = "McNemar, mid-p"
OF_SCORES = "sign-flip"
GUARANTEE = "Gaffke"


@frozen
class DifferenceTest:
    """What the test says of a difference.

    Attributes:
        interval: Of the difference; or why there is none.
        p_value: Two-sided, of a difference of zero; 1.0 where there is no interval.
        test: Name of the test.
    """

    interval: Interval | TooFew
    p_value: float
    test: str


@frozen
class _Part:
    """The test at one level: of rows, of examples or of clusters."""

    p_value: float
    low: float
    high: float


def difference_test(
    differences: Floats,
    clusters: Clusters | None = None,
    confidence: float = 0.95,
    measured: float | None = None,
    examples: Clusters | None = None,
) -> DifferenceTest:
    """Return what the test says of the mean of paired differences.

    Args:
        differences: One difference a matched row, shape (rows,), of passes and fails (-1, 0, 1) or of graded scores.
        clusters: Number of the cluster of each row, shape (rows,); None when every row stands alone.
        confidence: Of the interval.
        measured: Largest value that was measured, where the values are no scores between 0 and 1; None for scores.
        examples: Number of the example of each row, shape (rows,); None when no example was repeated.
    """
    differences = np.asarray(differences, dtype=float)
    levels = _levels(clusters, examples)
    is_of_passes = _count_as_passes(differences, levels[-1], measured)
    name = OF_PASSES if is_of_passes else OF_SCORES
    needed = MINIMUM_UNITS if name == OF_PASSES else units_needed(confidence)
    missing = too_few_units(len(differences), levels[-1], needed)
    if missing is not None:
        return DifferenceTest(missing, 1.0, name)
    parts = [part for level in levels for part in _parts(differences, level, confidence, measured)]
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    p_value = max(part.p_value for part in parts)
    return DifferenceTest(Interval(low, high, name, confidence), p_value, name)


def difference_p_value(
    differences: Floats, clusters: Clusters | None = None, examples: Clusters | None = None
) -> float:
    """Return the p-value of :func:`difference_test` of scores, without its interval, which takes longer."""
    differences = np.asarray(differences, dtype=float)
    levels = _levels(clusters, examples)
    if too_few_units(len(differences), levels[-1]) is not None:
        return 1.0
    found = []
    for level in levels:
        sums = cluster_sums(differences, level)
        is_of_passes = _count_as_passes(differences, level)
        if is_of_passes or np.count_nonzero(sums) < MINIMUM_UNITS:
            found.append(mid_p(int((sums > 0).sum()), int((sums < 0).sum())))
        if not is_of_passes:
            found.append(flip_p_value(sums, are_passes(differences)))
    return max(found)


def guaranteed_difference(
    differences: Floats,
    clusters: Clusters | None = None,
    confidence: float = 0.95,
    measured: float | None = None,
    examples: Clusters | None = None,
    *,
    open_end: str | None = None,
    tested: Interval | TooFew | None = None,
) -> Interval | TooFew:
    """Return the interval of the mean of paired differences that holds whatever was not seen.

    Args:
        differences, clusters, confidence, measured, examples: As for :func:`difference_test`.
        open_end: ``"low"`` or ``"high"``: towards which side few rows of a measure rule out nothing; None for scores.
        tested: The interval of :func:`difference_test` of the same, where it is known already.
    """
    differences = np.asarray(differences, dtype=float)
    if tested is None:
        tested = difference_test(differences, clusters, confidence, measured, examples).interval
    if isinstance(tested, TooFew):
        return tested
    is_score = measured is None and float(np.abs(differences).max()) <= 1
    limit = 1.0 if is_score else _largest(differences, measured)
    low, high = tested.low, tested.high
    for level in _levels(clusters, examples):
        sums, sizes = cluster_sums(differences, level), cluster_sizes(level)
        ends = bounded_mean(sums, sizes, -limit, limit, confidence, is_score)
        low, high = min(low, ends[0]), max(high, ends[1])
    found = Interval(low, high, GUARANTEE, confidence)
    if open_end is None:
        return found
    needed = rows_for_far_off(len(differences), clusters, confidence)
    return open_ended(found, open_end, needed) if needed else found


def rarest_seen(units: int, confidence: float = 0.95) -> int:
    """Return the N of a guarantee: what befalls fewer than one unit in N may not have been seen in so many.

    >>> rarest_seen(100), rarest_seen(1000)
    (27, 271)

    Args:
        units: Rows, or clusters.
        confidence: Two-sided, so that half of its error is left for losses.
    """
    return int(1 / (1 - ((1 - confidence) / 2) ** (1 / units)))


def are_passes(differences: Floats, measured: float | None = None) -> bool:
    """Return whether rows differ by a pass for a fail, or not at all."""
    return measured is None and bool(np.isin(differences, (-1.0, 0.0, 1.0)).all())


def too_few_units(
    rows: int, clusters: Clusters | None, needed: int = MINIMUM_UNITS
) -> TooFew | None:
    """Return why there can be no test, or None when there can be one."""
    if clusters is not None and cluster_count(clusters) < needed:
        return TooFew(f"{counted(cluster_count(clusters), 'cluster')}, {needed} are needed")
    if rows < needed:
        return TooFew(f"{counted(rows, 'row')}, {needed} are needed")
    return None


def _count_as_passes(
    differences: Floats, level: Clusters | None, measured: float | None = None
) -> bool:
    """Return whether each unit differs by a pass for a fail in all of its rows, or not at all, and all have as many rows.

    So a question that was asked three times, with the same answers, counts as one that was asked once.
    """
    if not are_passes(differences, measured):
        return False
    sizes = cluster_sizes(level)
    if sizes is None:
        return True
    sums = cluster_sums(differences, level)
    return bool((sizes == sizes[0]).all() and np.isin(sums, (-sizes[0], 0.0, sizes[0])).all())


def _levels(clusters: Clusters | None, examples: Clusters | None) -> list[Clusters | None]:
    """Return by what rows are put together: not at all, by example, by cluster; the widest last."""
    found: list[Clusters | None] = [None]
    found += [level for level in map(that_matter, (examples, clusters)) if level is not None]
    return found


def _parts(
    differences: Floats, level: Clusters | None, confidence: float, measured: float | None
) -> Iterator[_Part]:
    sums, sizes = cluster_sums(differences, level), cluster_sizes(level)
    if _count_as_passes(differences, level, measured):
        yield _of_signs(sums, 1.0, confidence)
        return
    weights = np.broadcast_to(1.0, len(sums)) if sizes is None else sizes
    is_of_passes = are_passes(differences, measured)
    ends = flip_interval(sums, weights, confidence, is_of_passes)
    yield _Part(flip_p_value(sums, is_of_passes), ends[0], ends[1])
    if np.count_nonzero(sums) < MINIMUM_UNITS:  # so few do not tell by how much units differ
        yield _of_signs(sums, _largest(differences, measured), confidence)


def _largest(differences: Floats, measured: float | None) -> float:
    """Return by how much a row can differ."""
    return max(float(np.abs(differences).max()), 1.0 if measured is None else measured)


def _of_signs(values: Floats, size: float, confidence: float) -> _Part:
    """Return the test of units of which each differs by all, or not at all."""
    improved, regressed = int((values > 0).sum()), int((values < 0).sum())
    p_value = mid_p(improved, regressed)
    low, high = passes_interval(improved, regressed, len(values), p_value, confidence)
    return _Part(p_value, size * low, size * high)

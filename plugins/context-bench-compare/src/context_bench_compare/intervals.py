"""Confidence intervals of rates, means and percentiles, of rows that may share a document.

Rates of rows that stand alone get Wilson's score interval (1927). Means of graded scores, and of rows that come in clusters, get
Gaffke's interval where they decide a gate: see :mod:`~context_bench_compare.bounded_means`; or Student's of cluster means where
they are shown. Differences are in :mod:`~context_bench_compare.differences`, ratios of sums and means of seconds or tokens in
:mod:`~context_bench_compare.ratio_intervals`.

A percentile lies between two of the values, as the beta distribution says which; see :func:`percentile_interval`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from context_bench_compare import normal
from context_bench_compare.bounded_means import bounded_mean

MINIMUM_ROWS = 20
"""Fewer rows than this get no interval."""

MINIMUM_CLUSTERS = 5
"""Fewer clusters than this get no interval: between them there is no variance to speak of."""

MINIMUM_MEAN = 6
"""Fewer rows, or clusters, than this get no interval of a mean by what was seen."""

MINIMUM_DRAWN = 10
"""Fewer clusters than this get no bootstrap: what is drawn of them is too much alike."""

MINIMUM_DISTINCT = 5
"""Graded values of which fewer than so many differ from the most frequent one get no bootstrap."""

FAR_OFF = 0.05
"""Share of rows that may be far off the others, and that a mean without a bound has to have seen."""

_BLOCK = 500_000
_DRAWS = 1000
_MOST_DRAWN = 5000
_PART = 4096
"""Values that are looked at together."""

Floats = NDArray[np.float64]
Clusters = NDArray[np.int64]


@frozen
class Interval:
    """An interval that covers the true value with the stated confidence.

    Attributes:
        low, high: Its ends; infinite where the rows are too few for one of them.
        method: How it was made, such as ``"wilson"``.
        confidence: For example 0.95.
        rows_for_both: From how many rows on both ends are there.
    """

    low: float
    high: float
    method: str
    confidence: float
    rows_for_both: int = 0

    def told(self, unit: str = "", sign: str = "") -> str:
        """Return in words from where to where it goes, ``sign`` being ``"+"`` for a difference."""
        if math.isinf(self.high):
            return f"{self.low:{sign}.4g}{unit} or more"
        low = "" if math.isinf(self.low) else f"{self.low:{sign}.4g} to "
        return f"{low}{self.high:{sign}.4g}{unit}{'' if low else ' or less'}"


@frozen
class TooFew:
    """There is no interval, because the rows are too few to say.

    Attributes:
        reason: What there is too little of, as a phrase: ``"12 rows, 20 are needed"``.
    """

    reason: str

    @property
    def told(self) -> str:
        """Why there is no interval, in words."""
        return f"too few to say: {self.reason}"


@frozen
class Alike(TooFew):
    """There is no interval, because all rows say the same, however many they are."""

    @property
    def told(self) -> str:
        """Why there is no interval, in words."""
        return self.reason


def percent(confidence: float) -> str:
    """Return a confidence as it is told, to two digits of the error that it leaves, so that none reads as certainty.

    >>> percent(0.95), percent(0.975), percent(0.99999)
    ('95%', '97.5%', '99.999%')
    """
    digits = max(1, 1 - math.floor(math.log10(100 * (1 - confidence))))
    return f"{100 * confidence:.{digits}f}".rstrip("0").rstrip(".") + "%"


def too_few(
    rows: int,
    clusters: Clusters | None,
    least_rows: int = MINIMUM_ROWS,
    least_clusters: int = MINIMUM_CLUSTERS,
) -> TooFew | None:
    """Return why there can be no interval for so many rows, or None when there can be one."""
    if rows < least_rows:
        return TooFew(f"{counted(rows, 'row')}, {least_rows} are needed")
    if clusters is not None and (count := cluster_count(clusters)) < least_clusters:
        return TooFew(f"{counted(count, 'cluster')}, {least_clusters} are needed")
    return None


def counted(count: int, what: str) -> str:
    """Return so many of what, in words.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2000 rows')
    """
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def cluster_count(clusters: Clusters) -> int:
    """Return how many clusters there are."""
    return len(np.unique(clusters))


def mean_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the interval of the mean of values between 0 and 1; passes and fails are such values.

    Args:
        values: One value a row, shape (rows,).
        clusters: Number of the cluster of each row, shape (rows,); None when every row stands alone.
        confidence: Share of such intervals that hold the true mean.

    Raises:
        ValueError: A value is no number between 0 and 1.
    """
    values = np.asarray(values, dtype=float)
    if not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError(
            "mean_interval() takes values between 0 and 1; use mean_of_any_interval() for others"
        )
    missing = too_few(len(values), clusters)
    if missing is not None:
        return missing
    clusters = that_matter(clusters)
    if clusters is None and bool(np.all((values == 0) | (values == 1))):
        low, high = wilson(float(values.mean()), float(len(values)), _normal(confidence))
        return Interval(low, high, "wilson", confidence)
    sums, sizes = cluster_sums(values, clusters), cluster_sizes(clusters)
    return Interval(*bounded_mean(sums, sizes, 0.0, 1.0, confidence), "Gaffke", confidence)


def plain_mean_interval(
    values: Floats, clusters: Clusters | None = None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return the interval of the mean of values between 0 and 1 that goes by what was seen.

    Passes and fails get Wilson's interval. All else gets Student's, of cluster means where there are clusters, and never narrower
    than that of the rows alone. Where fewer than :data:`MINIMUM_DISTINCT` units differ from the most frequent value the spread is
    not known, and each unit counts as a pass or a fail.

    Args:
        values, clusters, confidence: As for :func:`mean_interval`.
    """
    sizes = cluster_sizes(clusters)
    return interval_of_units(
        np.asarray(values),
        None if sizes is None else cluster_sums(values, clusters),
        sizes,
        confidence,
    )


def interval_of_units(
    values: NDArray[Any], sums: Floats | None, sizes: Floats | None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return :func:`plain_mean_interval` of rows whose clusters are added up already.

    Args:
        values: One value a row, shape (rows,).
        sums: Sum of the values of each cluster, shape (clusters,); None when every row stands alone.
        sizes: Rows of each cluster, shape (clusters,); None when every row stands alone.
        confidence: As for :func:`mean_interval`.
    """
    if len(values) < MINIMUM_MEAN:
        return TooFew(f"{counted(len(values), 'row')}, {MINIMUM_MEAN} are needed")
    if sums is not None and len(sums) < MINIMUM_MEAN:
        return TooFew(f"{counted(len(sums), 'cluster')}, {MINIMUM_MEAN} are needed")
    mean = float(values.mean())
    is_passes = all(bool(np.all((part == 0) | (part == 1))) for part in _parts_of(values))
    low, high = _ends(values, None, mean, confidence, is_passes)
    stands_alone = sums is None or len(sums) == len(values)
    if sums is not None and not stands_alone:
        ends = _ends(sums, sizes, mean, confidence)
        low, high = min(low, ends[0]), max(high, ends[1])
    method = "wilson" if is_passes and stands_alone else "student"
    return Interval(low, high, method, confidence)


def open_interval_of_units(
    values: Floats, sums: Floats | None, sizes: Floats | None, confidence: float = 0.95
) -> Interval | TooFew:
    """Return Student's interval of a mean of values without an upper limit, such as tokens or turns.

    Args:
        values, sums, sizes, confidence: As for :func:`interval_of_units`.
    """
    units = values if sums is None else sums
    if len(units) < MINIMUM_MEAN:
        unit = "row" if sums is None else "cluster"
        return TooFew(f"{counted(len(units), unit)}, {MINIMUM_MEAN} are needed")
    if not _differ(units if sizes is None else units / sizes):
        return TooFew(f"fewer than {MINIMUM_DISTINCT} differ from the most frequent value")
    mean = float(values.mean())
    half = _half_width(values, None, mean, confidence)
    if sums is not None:
        half = max(half, _half_width(sums, sizes, mean, confidence))
    return Interval(mean - half, mean + half, "student", confidence)


def _ends(
    sums: Floats, sizes: Floats | None, mean: float, confidence: float, is_passes: bool = False
) -> tuple[float, float]:
    """Return the interval of a mean at one level: of rows, or of clusters with their sums and sizes."""
    if is_passes or not _differ(sums if sizes is None else sums / sizes):
        return wilson(mean, float(len(sums)), _normal(confidence))
    half = _half_width(sums, sizes, mean, confidence)
    return max(0.0, mean - half), min(1.0, mean + half)


def _half_width(sums: Floats, sizes: Floats | None, mean: float, confidence: float) -> float:
    """Return half the width of Student's interval of a mean at one level."""
    count = len(sums)
    total = float(count if sizes is None else sizes.sum())
    square = 0.0
    for start in range(0, count, _PART):
        part = sums[start : start + _PART]
        apart = part - mean * (1.0 if sizes is None else sizes[start : start + _PART])
        square += float(apart @ apart)
    error = math.sqrt(square * count / (count - 1)) / total
    return _student(confidence, count - 1) * error


def _differ(values: Floats) -> bool:
    """Return whether enough values differ from the most frequent one to know by how much they differ."""
    if any(_distinct(part) >= MINIMUM_DISTINCT for part in _parts_of(values)):
        return (
            True  # whatever is the most frequent value of all, it is the value of no more of these
        )
    return _distinct(values) >= MINIMUM_DISTINCT


def _parts_of(values: Floats) -> Iterator[Floats]:
    """Yield the values a few thousand at a time, so that a million of them take no further memory."""
    for start in range(0, len(values), _PART):
        yield values[start : start + _PART]


def wilson(rate: float, rows: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's score interval of a rate.

    >>> [round(end, 4) for end in wilson(0.8, 50, 1.959964)]
    [0.6696, 0.8876]

    Args:
        rate: Observed share, 0 to 1.
        rows: Rows, or the effective number of them.
        quantile: Quantile of the normal or Student's distribution, such as 1.96.
    """
    square = quantile * quantile
    centre = (rate + square / (2 * rows)) / (1 + square / rows)
    half = (
        quantile
        * math.sqrt(rate * (1 - rate) / rows + square / (4 * rows * rows))
        / (1 + square / rows)
    )
    return max(0.0, centre - half), min(1.0, centre + half)


def rows_for_far_off(rows: int, clusters: Clusters | None, confidence: float) -> int:
    """Return how many rows show one that is far off the others but for the error of one end; 0 where so many are there.

    Args:
        rows: How many there are.
        clusters: Number of the cluster of each row, of which as many are needed; None when every row stands alone.
        confidence: Of the interval that has the end.
    """
    units, needed = (
        rows if clusters is None else cluster_count(clusters),
        _rows_beyond(FAR_OFF, confidence),
    )
    return 0 if units >= needed else math.ceil(needed * rows / units)


def open_ended(found: Interval, end: str, rows_for_both: int) -> Interval:
    """Return an interval of which few rows leave one end, ``"low"`` or ``"high"``, infinite."""
    low, high = (-math.inf, found.high) if end == "low" else (found.low, math.inf)
    return Interval(low, high, found.method, found.confidence, rows_for_both)


def percentile_interval(
    columns: tuple[Floats, ...],
    share: float,
    clusters: Clusters | None = None,
    confidence: float = 0.95,
) -> Interval | TooFew:
    """Return the interval of a percentile, or of what parts the percentiles of two columns.

    A percentile lies between two of the values, whatever the distribution: the share of all values below the r-th of n has a beta
    distribution, of r and n + 1 - r. Ranks between two rows are interpolated (Hutson 1999), so that the promise is kept and not
    overdone. Of rows that hang together as many count as would leave the share of rows below the percentile as uncertain as it is
    between clusters (Korn and Graubard 1998). What parts two percentiles has the ends of both, put together by how rows that are
    below the one are below the other (MOVER, Zou and Donner 2008), where there are thousands of rows. Of fewer, that interval is
    wider than it need be, and the quantiles of bootstrap samples of the rows, or clusters, that both have are given.

    No values show an end of the interval that lies beyond them. As many rows, or clusters, as put one of them beyond the
    percentile on either side are 72 for the 95th at a confidence of 0.95, and 368 for the 99th. Of fewer rows that stand alone
    one column has one end, the other is infinite; all else has no interval.

    Args:
        columns: One column of the rows, or two of the same rows, each of shape (rows,).
        share: 0.95 for the 95th percentile.
        clusters: Number of the cluster of each row, shape (rows,); None when every row stands alone.
        confidence: Share of such intervals that hold the true value.
    """
    beyond = _rows_beyond(share, confidence)
    stands_alone = clusters is None and len(columns) == 1
    missing = too_few(
        len(columns[0]),
        clusters,
        MINIMUM_ROWS if stands_alone else max(MINIMUM_ROWS, beyond),
        max(MINIMUM_DRAWN, beyond),
    )
    if missing is None and not stands_alone:
        missing = _alike(columns, clusters)
    if missing is not None:
        return missing
    needed = max(MINIMUM_ROWS, beyond) if stands_alone else 0
    ends = [_between_values(column, share, clusters, confidence) for column in columns]
    if len(ends) == 1:
        return Interval(ends[0].low, ends[0].high, "order statistics", confidence, needed)
    if len(columns[0]) > _MOST_DRAWN:
        low, high = ends_apart(*ends)
        return Interval(low, high, "order statistics of both", confidence)
    low, high = _drawn_apart(columns, share, clusters, confidence)
    return Interval(low, high, "bootstrap of both", confidence)


def _drawn_apart(
    columns: tuple[Floats, ...], share: float, clusters: Clusters | None, confidence: float
) -> tuple[float, float]:
    """Return the quantiles of what parts the percentiles of two columns in bootstrap samples of the rows that both have."""
    rows = len(columns[0])
    units = np.arange(rows) if clusters is None else clusters
    _, numbers = np.unique(units, return_inverse=True)
    count = int(numbers.max()) + 1
    draw = np.random.default_rng(0)
    drawn = []
    block = max(1, _BLOCK // rows)
    for start in range(0, _DRAWS, block):
        runs = min(block, _DRAWS - start)
        places = draw.integers(0, count, (runs, count)) + count * np.arange(runs)[:, None]
        times = np.bincount(places.ravel(), minlength=runs * count).reshape(runs, count)
        ours, theirs = (_percentiles_of(column, times[:, numbers], share) for column in columns)
        drawn.append(ours - theirs)
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(drawn), (tail, 1 - tail))
    return float(low), float(high)


def _percentiles_of(values: Floats, times: Clusters, share: float) -> Floats:
    """Return percentiles, shape (samples,), of values that each sample has so many times, shape (samples, values).

    They are median-unbiased, whatever the distribution (Hyndman and Fan 1996).
    """
    order = np.argsort(values)
    ordered = values[order]
    upto = times[:, order].cumsum(axis=1)
    rows = upto[:, -1]
    rank = np.clip(share * (rows + 1 / 3) + 1 / 3, 1, rows)
    below = np.floor(rank)
    low, high = (
        ordered[(upto < each[:, None]).sum(axis=1)] for each in (below, np.minimum(below + 1, rows))
    )
    return np.asarray(low + (rank - below) * (high - low))


def _alike(columns: tuple[Floats, ...], clusters: Clusters | None) -> TooFew | None:
    """Return that too few rows, or clusters, differ from the most frequent value; None where enough do."""
    unit = "row" if clusters is None else "cluster"
    numbers = np.arange(len(columns[0])) if clusters is None else clusters
    distinct = max(len(np.unique(numbers[column != _most_frequent(column)])) for column in columns)
    if distinct >= MINIMUM_DISTINCT:
        return None
    verb = "differs" if distinct == 1 else "differ"
    return TooFew(
        f"{counted(distinct, unit)} {verb} from the most frequent value, {MINIMUM_DISTINCT} are needed"
    )


@frozen(eq=False)
class Estimate:
    """A value that is estimated from rows, with its interval.

    Attributes:
        value: The estimate.
        low, high: Its interval.
        moved: By how much each unit moves the estimate, up to a factor, shape (units,).
    """

    value: float
    low: float
    high: float
    moved: Floats


def ends_apart(ours: Estimate, theirs: Estimate) -> tuple[float, float]:
    """Return the interval of what parts two estimates from the same rows, from the interval of each.

    Each end combines the widths towards it as the standard errors of a difference are combined, less what the two have in common
    (MOVER, Zou and Donner 2008), so that the interval is as skewed as those of the two.
    """
    squares = float(ours.moved @ ours.moved) * float(theirs.moved @ theirs.moved)
    common = float(ours.moved @ theirs.moved) / math.sqrt(squares) if squares > 0 else 0.0
    below = _width_apart(ours.value - ours.low, theirs.high - theirs.value, common)
    above = _width_apart(ours.high - ours.value, theirs.value - theirs.low, common)
    apart = ours.value - theirs.value
    return apart - below, apart + above


def _width_apart(ours: float, theirs: float, common: float) -> float:
    return math.sqrt(max(0.0, ours**2 + theirs**2 - 2 * common * ours * theirs))


def _rows_beyond(share: float, confidence: float) -> int:
    """Return of how many rows some lie on both sides of a percentile, but for the error that each side may have."""
    tail = math.log((1 - confidence) / 2)
    return math.ceil(max(tail / math.log(share), tail / math.log1p(-share)))


def _between_values(
    values: Floats, share: float, clusters: Clusters | None, confidence: float
) -> Estimate:
    """Return a percentile with the values between which it lies; an end that lies beyond all rows is infinite."""
    clusters = that_matter(clusters)
    value = float(np.quantile(values, share))
    below = (values <= value).astype(np.float64)
    moved = cluster_sums(below - below.mean(), clusters)
    count = float(len(values))
    if clusters is not None:
        count = _rows_that_count(moved, count, share, confidence)
    tail = (1 - confidence) / 2
    low = normal.beta_rank(1 - tail, count, share)
    high = count + 1 - normal.beta_rank(1 - tail, count, 1 - share)
    scale = (len(values) + 1) / (count + 1)
    ordered = np.sort(values)
    ends = [_value_at(ordered, scale * rank, clusters is None) for rank in (low, high)]
    return Estimate(value, ends[0], ends[1], moved)


def _rows_that_count(moved: Floats, rows: float, share: float, confidence: float) -> float:
    """Return how many rows that stand alone would leave a share of rows as uncertain as it is between clusters."""
    clusters = len(moved)
    variance = float(moved @ moved) * clusters / (clusters - 1) / rows**2
    if variance <= 0:
        return rows
    few = _student(confidence, rows - 1) / _student(confidence, clusters - 1)
    return min(rows, share * (1 - share) / variance) * few**2


def _value_at(ordered: Floats, rank: float, is_open: bool) -> float:
    """Return the value at a rank from 1 on, between two values in proportion; beyond all of them infinity, or the last."""
    rank = round(rank, 9)  # so that the last row is not missed by an error of rounding
    if is_open and rank < 1:
        return -math.inf
    if is_open and rank > len(ordered):
        return math.inf
    places = np.arange(1, len(ordered) + 1)
    return float(np.interp(rank, places, ordered))


def cluster_sums(values: Floats, clusters: Clusters | None) -> Floats:
    """Return the sums over clusters, shape (clusters,); the values where every row stands alone."""
    if clusters is None:
        return values
    _, numbers = np.unique(clusters, return_inverse=True)
    return np.asarray(np.bincount(numbers, weights=values), dtype=np.float64)


def cluster_sizes(clusters: Clusters | None) -> Floats | None:
    """Return the rows of each cluster, shape (clusters,); None where every row stands alone."""
    return (
        None if clusters is None else np.unique(clusters, return_counts=True)[1].astype(np.float64)
    )


def that_matter(clusters: Clusters | None) -> Clusters | None:
    """Return the clusters; None where each holds one row, as every row stands alone then."""
    return None if clusters is None or cluster_count(clusters) == len(clusters) else clusters


def _distinct(values: Floats) -> int:
    return int((values != _most_frequent(values)).sum())


def _most_frequent(values: Floats) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


@lru_cache(maxsize=1024)
def _student(confidence: float, degrees: float) -> float:
    return normal.student_quantile((1 + confidence) / 2, degrees)


@lru_cache(maxsize=64)
def _normal(confidence: float) -> float:
    return normal.quantile((1 + confidence) / 2)

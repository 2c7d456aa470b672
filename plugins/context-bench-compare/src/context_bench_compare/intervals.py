"""Confidence intervals of rates, means and percentiles, of rows that may share a document.

Rates of rows that stand alone get Wilson's score interval (1927). Means of graded scores, and of rows that come in clusters, get
Gaffke's interval where they decide a gate: see :mod:`~context_bench_compare.bounded_means`; or Student's of cluster means where
they are shown. Differences are in :mod:`~context_bench_compare.differences`, ratios of sums and means of seconds or tokens in
:mod:`~context_bench_compare.ratio_intervals`.

A percentile of rows that stand alone lies between two of the values, as the binomial distribution says which. Percentiles of
clusters or of pairs get the BCa bootstrap (Efron 1987), seeded, whose ends are moved out as Student's quantile is from the normal
one (Hesterberg 2015): what few rows draw is too much alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
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
            "mean_interval() takes values between 0 and 1; use bootstrap_interval() for others"
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


def _ends(
    sums: Floats, sizes: Floats | None, mean: float, confidence: float, is_passes: bool = False
) -> tuple[float, float]:
    """Return the interval of a mean at one level: of rows, or of clusters with their sums and sizes."""
    count = len(sums)
    if is_passes or not _differ(sums if sizes is None else sums / sizes):
        return wilson(mean, float(count), _normal(confidence))
    total = float(count if sizes is None else sizes.sum())
    square = 0.0
    for start in range(0, count, _PART):
        part = sums[start : start + _PART]
        apart = part - mean * (1.0 if sizes is None else sizes[start : start + _PART])
        square += float(apart @ apart)
    error = math.sqrt(square * count / (count - 1)) / total
    half = _student(confidence, count - 1) * error
    return max(0.0, mean - half), min(1.0, mean + half)


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


def bootstrap_interval(
    columns: tuple[Floats, ...],
    statistic: Callable[..., Floats],
    clusters: Clusters | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = 2000,
) -> Interval | TooFew:
    """Return the BCa bootstrap interval of a statistic of rows that are drawn together.

    Args:
        columns: Columns of the rows, each of shape (rows,).
        statistic: Takes the columns with a leading axis for draws, each of shape (draws, rows), and returns shape
            (draws,). Where there are clusters, a column holds sums over clusters, shape (draws, clusters).
        clusters: Number of the cluster of each row; whole clusters are drawn then.
        confidence: Share of such intervals that hold the true value.
        seed: Seed of the draws: equal seeds give equal intervals.
        draws: Bootstrap samples.
    """
    missing = too_few(len(columns[0]), clusters, least_clusters=MINIMUM_DRAWN)
    if missing is not None:
        return missing
    if clusters is not None:
        columns = tuple(cluster_sums(column, clusters) for column in columns)
    distinct = max(_distinct(column) for column in columns)
    if distinct < MINIMUM_DISTINCT:
        return TooFew(_alike(distinct, "row"))
    unit = "rows" if clusters is None else "clusters"
    return _bca_interval(columns, statistic, unit, confidence, seed, draws, len(columns[0]))


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
    seed: int = 0,
    draws: int = 2000,
) -> Interval | TooFew:
    """Return the interval of a percentile, or of what parts the percentiles of two columns.

    Percentiles interpolate linearly. That of one column of rows that stand alone gets the order statistics between which it lies,
    whatever the distribution (David and Nagaraja 2003, section 7.1), all else the BCa bootstrap. Of rows that hang together
    whole clusters are drawn, and each of their rows counts as often as its cluster was drawn.

    No values show an end of the interval that lies beyond them. As many rows, or clusters, as put one of them beyond the
    percentile on either side are 72 for the 95th at a confidence of 0.95, and 368 for the 99th. Of fewer rows that stand alone
    one column has one end, the other is infinite; all else has no interval.

    Args:
        columns: One column of the rows, or two of rows that are drawn together, each of shape (rows,).
        share: 0.95 for the 95th percentile.
        clusters: Number of the cluster of each row, shape (rows,); None when every row stands alone.
        confidence: Share of such intervals that hold the true value.
        seed: Seed of the draws: equal seeds give equal intervals.
        draws: Bootstrap samples.
    """
    beyond = _rows_beyond(share, confidence)
    if clusters is None and len(columns) == 1:
        missing = too_few(len(columns[0]), None)
        return (
            _between_values(columns[0], share, confidence, max(MINIMUM_ROWS, beyond))
            if missing is None
            else missing
        )
    missing = too_few(
        len(columns[0]), clusters, max(MINIMUM_ROWS, beyond), max(MINIMUM_DRAWN, beyond)
    )
    if missing is not None:
        return missing
    if clusters is None:
        return bootstrap_interval(
            columns, _apart(partial(_quantile, share)), None, confidence, seed, draws
        )
    distinct = max(len(np.unique(clusters[column != _most_frequent(column)])) for column in columns)
    if distinct < MINIMUM_DISTINCT:
        return TooFew(_alike(distinct, "cluster"))
    names, numbers = np.unique(clusters, return_inverse=True)
    orders = [np.argsort(column, kind="stable") for column in columns]
    ordered = [(column[order], numbers[order]) for column, order in zip(columns, orders)]

    def statistic(drawn: Clusters) -> Floats:
        times = np.stack([np.bincount(one, minlength=len(names)) for one in drawn])
        found = [_weighted_quantile(values, times[:, own], share) for values, own in ordered]
        return found[0] if len(found) == 1 else found[0] - found[1]

    return _bca_interval(
        (np.arange(len(names)),), statistic, "clusters", confidence, seed, draws, len(clusters)
    )


def _alike(distinct: int, unit: str) -> str:
    verb = "differs" if distinct == 1 else "differ"
    return f"{counted(distinct, unit)} {verb} from the most frequent value, {MINIMUM_DISTINCT} are needed"


def _rows_beyond(share: float, confidence: float) -> int:
    """Return of how many rows some lie on both sides of a percentile, but for the error that each side may have."""
    tail = math.log((1 - confidence) / 2)
    return math.ceil(max(tail / math.log(share), tail / math.log1p(-share)))


def _between_values(values: Floats, share: float, confidence: float, least: int) -> Interval:
    """Return the values between which a percentile lies: so many of the rows are below it as a binomial draw."""
    below = normal.binomial_quantile((1 - confidence) / 2, len(values), share)
    above = normal.binomial_quantile((1 + confidence) / 2, len(values), share)
    ordered = np.concatenate(([-math.inf], np.sort(values), [math.inf]))
    return Interval(
        float(ordered[below]), float(ordered[above + 1]), "order statistics", confidence, least
    )


def _quantile(share: float, values: Floats) -> Floats:
    return np.asarray(np.quantile(values, share, axis=-1))


def _apart(statistic: Callable[[Floats], Floats]) -> Callable[..., Floats]:
    """Return what takes one column or two, and gives the statistic of the one, or the first one's less the second one's."""
    return lambda ours, *theirs: statistic(ours) - sum(map(statistic, theirs))


def _weighted_quantile(values: Floats, times: NDArray[np.int64], share: float) -> Floats:
    """Return the percentile of rising values of which each stands there so many times, shape (draws,).

    Args:
        values: Shape (rows,).
        times: How often each of them counts, shape (draws, rows).
        share: Which percentile, interpolated linearly (Hyndman and Fan's type 7).
    """
    below = np.cumsum(times, axis=-1)
    places = (below[:, -1] - 1) * share
    first = np.floor(places)
    low, high = (
        values[np.minimum((below <= place[:, None]).sum(axis=-1), len(values) - 1)]
        for place in (first, np.ceil(places))
    )
    return np.asarray(low + (high - low) * (places - first))


def _bca_interval(
    columns: tuple[NDArray[Any], ...],
    statistic: Callable[..., Floats],
    unit: str,
    confidence: float,
    seed: int,
    draws: int,
    rows: int,
) -> Interval | TooFew:
    """Return the BCa interval of a statistic of what is drawn: ``unit`` by its name, of so many rows in all."""
    found = statistic(*(column[None, :] for column in columns))[0]
    drawn = _drawn(columns, statistic, np.random.default_rng(seed), draws, rows)
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < draws // 2:
        return TooFew("most bootstrap samples have no value")
    jackknifed = _jackknifed(columns, statistic)
    count = len(columns[0])
    moved_out = math.sqrt(count / (count - 1)) * _student(confidence, count - 1)
    low, high = np.quantile(drawn, _bca_shares(float(found), drawn, jackknifed, moved_out))
    return Interval(float(low), float(high), f"BCa bootstrap of {count} {unit}", confidence)


def _drawn(
    columns: tuple[NDArray[Any], ...],
    statistic: Callable[..., Floats],
    generator: np.random.Generator,
    draws: int,
    width: int,
) -> Floats:
    """Return the statistic of each bootstrap sample, a block of samples of so many rows at a time: memory stays bounded."""
    rows = len(columns[0])
    block = max(1, min(draws, 4_000_000 // max(width, 1)))
    found = []
    for start in range(0, draws, block):
        places = generator.integers(0, rows, size=(min(block, draws - start), rows))
        found.append(statistic(*(column[places] for column in columns)))
    return np.concatenate(found)


def _jackknifed(
    columns: tuple[NDArray[Any], ...], statistic: Callable[..., Floats], most: int = 200
) -> Floats:
    """Return the statistic without each of up to ``most`` groups of rows."""
    rows = len(columns[0])
    groups = np.array_split(np.arange(rows), min(rows, most))
    found = [
        statistic(*(np.delete(column, group)[None, :] for column in columns))[0] for group in groups
    ]
    return np.asarray(found, dtype=float)


def _bca_shares(
    found: float, drawn: Floats, jackknifed: Floats, limit: float
) -> tuple[float, float]:
    below = (float((drawn < found).mean()) + float((drawn <= found).mean())) / 2
    bias = normal.quantile(min(max(below, 1 / (2 * len(drawn))), 1 - 1 / (2 * len(drawn))))
    centred = jackknifed.mean() - jackknifed
    scale = float(np.square(centred).sum()) ** 1.5
    acceleration = float((centred**3).sum()) / (6 * scale) if scale > 0 else 0.0
    ends = []
    for end in (-limit, limit):
        quantile = bias + end
        ends.append(float(normal.below(bias + quantile / (1 - acceleration * quantile))))
    return ends[0], ends[1]


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

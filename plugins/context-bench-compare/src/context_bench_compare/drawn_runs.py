"""Runs that are drawn from one that is there, with a true difference put into it, and what the test says of each.

A difference shows where the rows of the run differ, and in their way:

- rows that differ by a pass for a fail flip: a share of them is drawn anew, with more gains than losses. Rows of a cluster are the
  cluster's own flip with a chance, so that they hang together as much as they were seen to.
- other rows that differ are moved, all by the same; they are drawn in whole clusters, after their mean is taken off.
- rows that do not differ stay as they are.

What is looked for is divided between the two kinds by their parts of the squares of the differences.

Each drawn run is tested as :func:`~context_bench_compare.differences.difference_test` tests one, at the level of rows and at
that of clusters; only the rows of clusters are taken by the normal distribution, as their largest ones are looked at with the
clusters. So that few rows do not pass for more than
they are, each run has a spread, a share of flips and a correlation that are as likely as those that were seen. All draws are
seeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray
from scipy import special

from context_bench_compare import normal
from context_bench_compare.bounded_means import rules_out
from context_bench_compare.intervals import Clusters, Floats, cluster_sizes, cluster_sums
from context_bench_compare.paired_passes import lower_end_is_above
from context_bench_compare.sign_flip import MINIMUM_UNITS, chances_of_more

_LEAST_DEGREES = 4.0

Verdicts = NDArray[np.bool_]


class Level(Protocol):
    """Drawn runs at one level: rows, or clusters."""

    def finds(self, tail: float) -> Verdicts:
        """Return which runs show a gain at a one-sided error of ``tail``, shape (runs,)."""

    def leaves_out(self, margin: float, tail: float) -> Verdicts:
        """Return of which runs the interval lies above ``-margin``, shape (runs,)."""


@frozen(eq=False)
class Passes:
    """Runs whose rows stand alone, and pass or fail.

    Attributes:
        improved, regressed: Rows that flipped, shape (runs,).
        rows: Of each run, shape (runs,).
    """

    improved: NDArray[Any]
    regressed: NDArray[Any]
    rows: Floats

    def each(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the differences and the sizes of the units of each run."""
        for improved, regressed, rows in zip(self.improved, self.regressed, self.rows):
            sums = np.zeros(int(rows))
            sums[: int(improved)] = 1.0
            sums[int(improved) : int(improved + regressed)] = -1.0
            yield sums, np.ones(int(rows))

    def finds(self, tail: float) -> Verdicts:
        """See :class:`Level`."""
        return mid_p_of_more(self.improved, self.regressed) < tail

    def leaves_out(self, margin: float, tail: float) -> Verdicts:
        """See :class:`Level`."""
        return np.array(
            [
                lower_end_is_above(-margin, improved, regressed, rows, 1 - 2 * tail)
                for improved, regressed, rows in zip(
                    self.improved.tolist(), self.regressed.tolist(), self.rows.tolist()
                )
            ]
        )


@frozen(eq=False)
class RowsOfClusters:
    """Runs whose rows differ by a score, taken one by one though they come in clusters.

    Attributes:
        sums, squares: Of the differences of all rows, shape (runs,).
        rows: Of each run, shape (runs,).
    """

    sums: Floats
    squares: Floats
    rows: Floats

    def finds(self, tail: float) -> Verdicts:
        """See :class:`Level`."""
        return self.leaves_out(0.0, tail)

    def leaves_out(self, margin: float, tail: float) -> Verdicts:
        """See :class:`Level`."""
        sums = self.sums + margin * self.rows
        squares = self.squares + 2 * margin * self.sums + margin**2 * self.rows
        return np.asarray(sums > normal.beyond_quantile(tail) * np.sqrt(squares))


@frozen(eq=False)
class Units:
    """Runs of rows that differ by a score, or of clusters.

    Attributes:
        sums: Of the differences of each unit, shape (runs, units).
        sizes: Rows of each unit, of the same shape.
        are_passes: Whether rows differ by a pass for a fail.
    """

    sums: Floats
    sizes: Floats
    are_passes: bool

    def each(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the differences and the sizes of the units of each run."""
        yield from zip(self.sums, self.sizes)

    def finds(self, tail: float) -> Verdicts:
        """See :class:`Level`."""
        chances = chances_of_more(self.sums, are_passes=self.are_passes)
        few = np.count_nonzero(self.sums, axis=1) < MINIMUM_UNITS
        by_signs = mid_p_of_more((self.sums > 0).sum(axis=1), (self.sums < 0).sum(axis=1))
        return np.where(few, np.maximum(chances, by_signs), chances) < tail

    def leaves_out(self, margin: float, tail: float) -> Verdicts:
        """See :class:`Level`."""
        found = chances_of_more(self.sums + margin * self.sizes) < tail
        few = np.count_nonzero(self.sums, axis=1) < MINIMUM_UNITS
        if few.any():
            drawn = self.sums[few]
            counts = np.full(len(drawn), float(drawn.shape[1]))
            signs = Passes((drawn > 0).sum(axis=1), (drawn < 0).sum(axis=1), counts)
            found[few] &= signs.leaves_out(margin, tail)
        return found


@frozen(eq=False)
class Drawn:
    """Drawn runs.

    Attributes:
        units: At the level of rows that stand alone, or of clusters.
        rows: At the level of the rows of clusters; None where every row stands alone.
    """

    units: Passes | Units
    rows: Level | None = None

    def finds(self, tail: float) -> Verdicts:
        """Return which runs show a gain at every level; see :class:`Level`."""
        found = self.units.finds(tail)
        return found if self.rows is None else found & self.rows.finds(tail)

    def leaves_out(self, margin: float, tail: float) -> Verdicts:
        """Return of which runs the interval lies above ``-margin`` at every level; see :class:`Level`."""
        found = self.units.leaves_out(margin, tail)
        return found if self.rows is None else found & self.rows.leaves_out(margin, tail)

    def guaranteed(self, margin: float, largest: float, confidence: float) -> Verdicts:
        """Return of which runs the guarantee lies above ``-margin``.

        Args:
            margin: Above zero.
            largest: By how much a row can differ.
            confidence: Of the guarantee.
        """
        return np.array(
            [
                rules_out(sums, sizes, -margin, -largest, confidence)
                for sums, sizes in self.units.each()
            ]
        )


@frozen(eq=False)
class Differences:
    """What a run holds, in the form from which others are drawn: for each unit, shape (units,), where nothing else is said.

    Attributes:
        sizes: Rows.
        flips: Rows that differ by a pass for a fail.
        net: Their sum.
        moved: Rows that differ otherwise.
        sums, squares: Of these rows.
    """

    sizes: Floats
    flips: Floats
    net: Floats
    moved: Floats
    sums: Floats
    squares: Floats

    @classmethod
    def of(
        cls, differences: Floats, clusters: Clusters | None, measured: float | None
    ) -> Differences:
        """Return the differences of matched rows; ``clusters`` are None where each holds one row."""
        is_flip = (np.abs(differences) == 1.0) & (measured is None)
        flips = _where(is_flip, differences)
        rest = _where(~is_flip & (differences != 0), differences)
        sizes = cluster_sizes(clusters)
        return cls(
            sizes=np.broadcast_to(1.0, len(differences)) if sizes is None else sizes,
            flips=_summed(np.square, flips, clusters),
            net=cluster_sums(flips, clusters),
            moved=_summed(_is_any, rest, clusters),
            sums=cluster_sums(rest, clusters),
            squares=_summed(np.square, rest, clusters),
        )

    @property
    def are_passes(self) -> bool:
        """Whether no row differs by less than a pass for a fail."""
        return not self.moved.any()

    @property
    def is_clustered(self) -> bool:
        """Whether some units hold several rows."""
        return bool((self.sizes != 1).any())

    @property
    def weight(self) -> float:
        """Part of a difference that shows by flips."""
        flips = float(self.flips.sum())
        return 1.0 if self.are_passes else flips / (flips + float(self.squares.sum()))

    def runs(self, difference: float, units: int, count: int) -> Drawn:
        """Return drawn runs at each level that the test looks at.

        Args:
            difference: True difference of the runs.
            units: Of each run.
            count: Runs to draw.
        """
        draw = np.random.default_rng(0)
        if self.are_passes and not self.is_clustered:
            return self._passes(difference, units, count, draw)
        places = draw.integers(0, len(self.sizes), (count, units))
        sizes = self.sizes[places]
        by_flips = difference * self.weight
        improved, regressed = self._flipped(sizes, by_flips, draw)
        if self.are_passes:
            ups, downs = improved.sum(axis=1), regressed.sum(axis=1)
            return Drawn(
                Units(improved - regressed, sizes, are_passes=True),
                Passes(ups.astype(int), downs.astype(int), sizes.sum(axis=1)),
            )
        all_moved = float(self.moved.sum())
        mean = float(self.sums.sum()) / all_moved
        by = (difference - by_flips) * float(self.sizes.sum()) / all_moved
        spread = self._spread(count, draw)
        moved = self.moved[places]
        rest = spread * (self.sums - mean * self.moved)[places]
        sums = rest + by * moved + improved - regressed
        whole = Units(sums, sizes, are_passes=False)
        if not self.is_clustered:
            return Drawn(whole)
        apart = self.squares - 2 * mean * self.sums + mean**2 * self.moved
        squares = spread**2 * apart[places] + 2 * by * rest + by**2 * moved + improved + regressed
        rows = RowsOfClusters(sums.sum(axis=1), squares.sum(axis=1), sizes.sum(axis=1))
        return Drawn(whole, rows)

    def _spread(self, count: int, draw: np.random.Generator) -> Floats:
        """Return by what the spread that was seen is multiplied to give one that is as likely, shape (runs, 1)."""
        units = int(np.count_nonzero(self.moved))
        if units < 2:
            return np.ones((count, 1))
        apart = self.sums - float(self.sums.sum() / self.moved.sum()) * self.moved
        return np.sqrt(_likely(apart, count, draw) * units / (units - 1))

    def _passes(
        self, difference: float, units: int, count: int, draw: np.random.Generator
    ) -> Drawn:
        rows = len(self.sizes)
        share = draw.binomial(rows, float(self.flips.mean()), count) / rows
        share = np.minimum(1.0, np.maximum(share, difference))
        flips = draw.binomial(units, share)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.nan_to_num((1 + difference / share) / 2, nan=0.5)
        improved = draw.binomial(flips, np.minimum(1.0, up))
        return Drawn(Passes(improved, flips - improved, np.full(count, float(units))))

    def _flipped(
        self, sizes: Floats, difference: float, draw: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return how many rows of each unit improve and regress, shape (runs, units) each."""
        seen, together = self._seen()
        by = _likely(self.net, len(sizes), draw)
        if self.is_clustered:
            by = np.sqrt(by)  # one half is the share's, the other that of how rows hang together
        share = np.asarray(np.clip(seen * by, difference, 1.0), dtype=np.float64)
        up, down = (share + difference) / 2, (share - difference) / 2
        joint = draw.random(sizes.shape)
        is_up, is_down = joint < up, joint > 1 - down
        if not self.is_clustered:
            return is_up.astype(np.float64), is_down.astype(np.float64)
        rows = sizes.astype(int)
        alike = draw.binomial(rows, self._chance_of_alike(together * by))
        own_up = draw.binomial(rows - alike, np.minimum(1.0, up))
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.nan_to_num(np.minimum(1.0, down / (1 - up)))
        own_down = draw.binomial(rows - alike - own_up, own)
        ups = np.asarray(own_up + alike * is_up, dtype=np.float64)
        return ups, np.asarray(own_down + alike * is_down, dtype=np.float64)

    def _seen(self) -> tuple[float, float]:
        """Return the share of rows that flip, and by how much more flips vary than those of rows that stand alone."""
        rows, flips = float(self.sizes.sum()), float(self.flips.sum())
        mean = float(self.net.sum()) / rows
        squares = flips - rows * mean**2
        if squares <= 0:  # of rows that do not flip nothing is known: whole clusters do then
            return flips / rows, math.inf
        return flips / rows, float(np.square(self.net - mean * self.sizes).sum()) / squares

    def _chance_of_alike(self, varies: Floats) -> Floats:
        """Return the chance of each row to be what its cluster is, by how much more flips vary for it."""
        size = float(np.square(self.sizes).sum() / self.sizes.sum())
        return np.sqrt(np.clip((varies - 1) / (size - 1), 0.0, 1.0))


def _where(chosen: NDArray[np.bool_], values: Floats) -> Floats:
    """Return the chosen values, which are not 0, and 0 for the others. Nothing is copied where that is not needed."""
    count = np.count_nonzero(chosen)
    if not count:
        return np.broadcast_to(0.0, len(values))
    return values if count == np.count_nonzero(values) else np.where(chosen, values, 0.0)


def _summed(of: Callable[[Floats], Floats], values: Floats, clusters: Clusters | None) -> Floats:
    """Return the sums over clusters of a function of the values that is 0 at 0."""
    is_zero = values.strides == (0,)
    return cluster_sums(values if is_zero else of(values), clusters)


def _is_any(values: Floats) -> Floats:
    return np.asarray(values != 0, dtype=np.float64)


def _likely(units: Floats, count: int, draw: np.random.Generator) -> Floats:
    """Return by what the variance that was seen is multiplied to give others that are as likely, shape (count, 1).

    What was seen is a draw, too: a chi-square variable, of the degrees of freedom that the fourth moment of the units leaves
    (Satterthwaite 1946).
    """
    squares = np.square(units)
    if np.count_nonzero(squares) < 2:
        return np.ones((count, 1))
    fourth = float(squares @ squares) / float(squares.sum()) ** 2
    degrees = max(_LEAST_DEGREES, 2 / max(fourth - 1 / len(units), 2 / len(units)))
    return np.asarray(degrees / draw.chisquare(degrees, (count, 1)))


def mid_p_of_more(improved: NDArray[Any], regressed: NDArray[Any]) -> Floats:
    """Return McNemar's one-sided mid-p-values of improvement, of the shape of the counts."""
    flips = improved + regressed
    tail = special.bdtr(regressed, flips, 0.5)
    before = np.where(regressed > 0, special.bdtr(np.maximum(regressed - 1, 0), flips, 0.5), 0.0)
    return np.asarray((tail + before) / 2)

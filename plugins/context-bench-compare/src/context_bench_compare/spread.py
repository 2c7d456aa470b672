"""How sure a mean is: the interval beside it, and what the samples of a question say.

Nothing that takes long to import: these metrics are in every run. They import numpy where there are enough rows, and scipy for
means of graded scores and of units with several rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from context_bench import EvalRow
from context_bench.metrics import Columns
from context_bench.records import passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95
"""Of the intervals beside means."""

_PART = 4096
"""Rows that are added up at once."""

MINIMUM_UNITS = 6
"""Fewer units than this get no interval; of fewer rows nothing is computed."""


@frozen
class MeanInterval:
    """The interval of the mean score and of the pass rate, and of the mean of every further score, by the rows that were seen.

    Rows that hang together are one unit: the repetitions of an example, and examples with one ``cluster``, one ``session_id``
    or one context. Passes and fails that stand alone have Wilson's interval (1927), all else Student's of the means of units.
    Keys: ``mean_score_low`` and ``mean_score_high``, ``pass_rate_low`` and ``pass_rate_high``, with a confidence of 95 %; those
    of further scores are ``low`` and ``high`` beside the mean, Student's where a score has no limits. There is none below six
    units, none of a primary score with values outside 0 and 1, and none of rows that are not from a run file.

    Attributes:
        threshold: Score that passes.
        score_field: Score key, or ``score`` for each row's primary score.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "mean_interval"

    reads_units = True

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return nothing: the columns are needed."""
        return {}

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the ends of both intervals, from the columns of the rows."""
        for field in columns.further:
            further = values_of(columns, field)
            ends = None if further is None else _further_ends(further, columns.has_worst(field))
            if ends is not None:
                columns.score_ends[field] = ends
        known = values_of(columns, self.score_field)
        if known is None:
            return {}
        found: dict[str, float] = {}
        found |= _named("mean_score", _mean_ends(known))
        better = columns.better(self.score_field)
        if better in ("higher", "lower"):
            passing = known.passing(self.threshold, better)
            found |= _named("pass_rate", _ends(passing, known.units))
        return found

    def notes(
        self, summary: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield what the intervals are."""
        if any("mean_score_low" in values for values in summary.values()):
            yield "95 %: confidence that the interval holds the mean of all such rows; rows of one document, session or question are one unit."


@frozen
class Samples:
    """What several samples of a question say, where each question was asked more than once (``--repeat K``).

    Keys: ``pass_at_k``, the share of questions of which at least one sample passes; ``pass_all_k``, the share of which all
    samples pass (pass^k); ``sample_share``, the share of the variance of the mean that comes from the samples, which more
    samples would remove; the rest is between questions, and only more questions remove it. Questions with fewer samples than
    the others are left out.

    Attributes:
        threshold: Score that passes.
        score_field: Score key, or ``score`` for each row's primary score.
    """

    threshold: float = 0.7
    score_field: str = "score"
    name: str = "samples"

    reads_units = True

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Return nothing: the columns are needed."""
        return {}

    def compute_columns(self, columns: Columns) -> dict[str, float]:
        """Return the values, from the columns of the rows; nothing where no question was asked twice."""
        known = values_of(columns, self.score_field)
        if known is None or known.examples is None:
            return {}
        import numpy as np

        _, order, counts = np.unique(known.examples, return_inverse=True, return_counts=True)
        most = int(counts.max())
        if most < 2:
            return {}
        is_whole = counts == most
        found: dict[str, float] = {"num_samples": float(most)}
        better = columns.better(self.score_field)
        if better in ("higher", "lower"):
            passed = np.bincount(order, weights=known.passing(self.threshold, better))[is_whole]
            found["pass_at_k"] = float((passed > 0).mean())
            found["pass_all_k"] = float((passed == most).mean())
        sums = np.bincount(order, weights=known.values)[is_whole]
        squares = np.bincount(order, weights=known.values**2)[is_whole]
        if len(sums) > 1:
            means = sums / most
            within = float(np.maximum(squares - most * means**2, 0.0).mean()) / (most - 1)
            whole = float(means.var(ddof=1))
            found["sample_share"] = min(1.0, within / most / whole) if whole > 0 else 0.0
        return found

    def notes(
        self, summary: Mapping[str, Mapping[str, Any]], config: Mapping[str, Any]
    ) -> Iterator[str]:
        """Yield what more samples would buy, for each system."""
        for system, values in summary.items():
            if "sample_share" in values:
                share, count = values["sample_share"], values["num_samples"]
                narrower = 1 - (1 - share) ** 0.5
                yield (
                    f"{system}: {count:.0f} samples a question; {share:.0%} of the variance of the mean comes from the samples. "
                    f"Any number of further samples makes its interval at most {narrower:.0%} narrower; for more, ask more questions."
                )


@frozen(eq=False)
class Values:
    """The values of a system's rows, and which of them hang together.

    Attributes:
        values: Shape (rows,).
        examples: Number of the example of each row, shape (rows,); None where no example was repeated.
        units: Number of the unit of each row, shape (rows,); None where every row stands alone.
    """

    values: NDArray[Any]
    examples: NDArray[Any] | None
    units: NDArray[Any] | None

    def passing(self, threshold: float, better: str) -> NDArray[Any]:
        """Return 1 for each row that passes and 0 for the others, shape (rows,)."""
        found: NDArray[Any] = passes(self.values, threshold, better)
        return found.view("int8")


def _named(key: str, ends: tuple[float, float] | None) -> dict[str, float]:
    """Return both ends of an interval under the names of a key; nothing where there is none."""
    return {} if ends is None else {f"{key}_low": ends[0], f"{key}_high": ends[1]}


def _mean_ends(known: Values) -> tuple[float, float] | None:
    """Return the interval of the mean of values between 0 and 1; None for others, and for too few."""
    if float(known.values.min()) < 0 or float(known.values.max()) > 1:
        return None
    return _ends(known.values, known.units)


def _further_ends(known: Values, has_worst: bool) -> tuple[float, float] | None:
    """Return the interval of the mean of any score; None for too few values."""
    is_open = not has_worst or float(known.values.min()) < 0 or float(known.values.max()) > 1
    return _ends(known.values, known.units, is_open)


def _ends(
    values: NDArray[Any], units: NDArray[Any] | None, is_open: bool = False
) -> tuple[float, float] | None:
    """Return both ends of the interval of a mean, of values between 0 and 1 or of any; None where the rows are too few."""
    from context_bench_compare.intervals import Interval, interval_of_units, open_interval_of_units

    sums, sizes = (None, None) if units is None else _added_up(values, units)
    estimate = open_interval_of_units if is_open else interval_of_units
    interval = estimate(values, sums, sizes, CONFIDENCE)
    return (interval.low, interval.high) if isinstance(interval, Interval) else None


def _added_up(values: NDArray[Any], units: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sum of the values and the rows of each unit, each of shape (units,).

    A few thousand rows are added up at once: sorting a million of them would take more memory than the rows themselves.
    """
    import numpy as np

    sums: dict[int, float] = {}
    sizes: dict[int, int] = {}
    for start in range(0, len(units), _PART):
        numbers, order = np.unique(units[start : start + _PART], return_inverse=True)
        totals = np.bincount(order, weights=values[start : start + _PART])
        counts = np.bincount(order)
        for number, total, count in zip(numbers.tolist(), totals.tolist(), counts.tolist()):
            sums[number] = sums.get(number, 0.0) + total
            sizes[number] = sizes.get(number, 0) + count
    return np.array(list(sums.values())), np.array(list(sizes.values()), dtype=np.float64)


def values_of(columns: Columns, field: str) -> Values | None:
    """Return the values of a score with their units; None where there are too few values, or units are not known."""
    values = columns.values(field)
    if not columns.knows_units or len(values) < MINIMUM_UNITS:
        return None
    import numpy as np

    examples, units = columns.examples(field), columns.units(field)
    repeated = None if examples is None else np.asarray(examples, dtype=np.int64)
    shared = None if units is None else np.asarray(units, dtype=np.int64)
    return Values(
        np.asarray(values, dtype=np.float64), repeated, repeated if shared is None else shared
    )

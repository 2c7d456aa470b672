"""Verdicts: two systems on the same rows, and in words which is better.

A verdict is one of five words. ``better`` and ``worse``: the paired test, corrected for the number of comparisons, leaves less
than the stated error, and the interval of the difference lies on one side of zero. ``equivalent``: the whole interval lies
within the margin. ``inconclusive``: neither; the sentence says what this run could have shown, or that no value of this score is
better than another. ``incomparable``: there is nothing to compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import Factory, evolve, frozen
from numpy.typing import NDArray

from context_bench.errors import ConfigurationError
from context_bench.records import passes
from context_bench_compare.intervals import (
    Clusters,
    Floats,
    Interval,
    TooFew,
    cluster_count,
    difference_interval,
    percent,
    rows_for_far_off,
)
from context_bench_compare.power import Reach, reach_of
from context_bench_compare.significance import holm, paired_p_value

BETTER, WORSE, EQUIVALENT, INCONCLUSIVE, INCOMPARABLE = (
    "better",
    "worse",
    "equivalent",
    "inconclusive",
    "incomparable",
)
WORDS = (BETTER, WORSE, EQUIVALENT, INCONCLUSIVE, INCOMPARABLE)


@frozen
class Rules:
    """How a comparison is judged.

    Attributes:
        confidence: Of intervals, and 1 - the error of the tests.
        margin: Difference that does not matter, in units of the score; None when every difference does.
        threshold: Score that passes, for counting flips.
        better: ``"higher"`` or ``"lower"``; ``"neither"`` or ``"mixed"`` where a difference is neither better nor worse.
        seed: Seed of everything that is drawn.
    """

    confidence: float = 0.95
    margin: float | None = None
    threshold: float = 0.7
    better: str = "higher"
    seed: int = 0

    def __attrs_post_init__(self) -> None:
        """Refuse what no comparison can be judged by.

        Raises:
            ConfigurationError: The message says what is wrong.
        """
        require_confidence(self.confidence)
        if self.margin is not None:
            require_above_zero("The margin", self.margin, ": it is what does not matter")
        if not math.isfinite(self.threshold):
            raise ConfigurationError(f"The threshold is {self.threshold!r}, but must be a number.")
        if self.seed < 0:
            raise ConfigurationError(f"The seed is {self.seed!r}, but must not be below zero.")


def require_confidence(confidence: Any) -> None:
    """Refuse what is no confidence of an interval.

    Raises:
        ConfigurationError: It does not lie between 0.5 and 1.
    """
    if not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise ConfigurationError(
            f"The confidence is {confidence!r}, but must lie between 0.5 and 1, such as 0.95."
        )


def require_above_zero(name: str, value: float, why: str = "") -> None:
    """Refuse a number that is zero, below it, infinite or none.

    Raises:
        ConfigurationError: It is such a number.
    """
    if not 0 < value < math.inf:
        raise ConfigurationError(f"{name} is {value!r}, but must be above zero{why}.")


@frozen(eq=False)
class Pairs:
    """The rows that two systems share.

    Attributes:
        ours, theirs: The scores, shape (rows,); a failed row has the worst value.
        keys: What the rows are called, shape (rows,), in canonical order.
        answered: Which rows both systems answered, shape (rows,).
        clusters: Number of the cluster of each row; None when every row stands alone.
        unmatched: Rows that only one of the two has.
        labels: Number of each row's label, shape (rows,); None when nobody asked.
        datasets: Number of each row's dataset in our run, shape (rows,); None when nobody asked.
        is_measure: Whether the values are a measure, such as seconds, and no score.
    """

    ours: Floats
    theirs: Floats
    keys: Sequence[Any] | NDArray[np.int64]
    answered: NDArray[np.bool_]
    clusters: Clusters | None = None
    unmatched: int = 0
    labels: NDArray[np.int32] | None = None
    datasets: NDArray[np.int64] | None = None
    is_measure: bool = False

    @property
    def measured(self) -> float | None:
        """The largest value, where nobody knows how large one can be; None for scores between 0 and 1."""
        values = np.concatenate((self.ours, self.theirs))
        is_score = not self.is_measure and bool(((values >= 0) & (values <= 1)).all())
        return None if is_score or not len(values) else float(np.abs(values).max())

    @property
    def largest(self) -> float:
        """By how much a row can differ: 1.0 for scores between 0 and 1, else the largest difference."""
        if self.measured is None:
            return 1.0
        return float(np.abs(self.ours - self.theirs).max()) or self.measured or 1.0


@frozen
class Comparison:
    """What is known of a difference.

    Attributes:
        rows, clusters: What it rests on; no clusters when every row stands alone.
        unmatched: Rows that only one of the two has, and that are left out.
        mean, baseline_mean, difference: Over the matched rows.
        interval: Of the difference; or why there is none.
        answered_difference: The difference over the rows that both answered, failures left out; None without such rows.
        p_value: Of the paired test, not corrected.
        corrected: The same, corrected for the comparisons made together.
        test: Name of the test.
        improved, regressed: Keys of the rows that flipped at the threshold.
        detectable: Smallest difference that such a run finds four times in five, as many comparisons as were made together;
            infinite where the clusters are too few to find any.
        word: One of :data:`WORDS`.
        sentence: The verdict with its reason.
        reach: What the run could have shown, at any error of the test.
        together: How many comparisons were made together: the p-value is corrected for them, the interval is not.
        rows_to_rule_out: Of a measure such as seconds, how many rows rule out a loss or show an equivalence; 0 where these do.
    """

    rows: int
    clusters: int | None
    unmatched: int
    mean: float
    baseline_mean: float
    difference: float
    interval: Interval | TooFew
    answered_difference: float | None
    p_value: float
    corrected: float
    test: str
    improved: tuple[Any, ...]
    regressed: tuple[Any, ...]
    detectable: float
    word: str = INCONCLUSIVE
    sentence: str = ""
    reach: Reach = Factory(Reach)
    together: int = 1
    rows_to_rule_out: int = 0


_UNDIRECTED = {
    "neither": "neither more nor less of it is better",
    "mixed": "more of it is better on some datasets and less on others: compare each, with --by dataset",
}


def incomparable(why: str, unmatched: int = 0) -> Comparison:
    """Return the comparison of two systems of which nothing can be said."""
    nan = float("nan")
    return Comparison(
        0,
        None,
        unmatched,
        nan,
        nan,
        nan,
        TooFew("0 rows"),
        None,
        1.0,
        1.0,
        "none",
        (),
        (),
        nan,
        INCOMPARABLE,
        why,
    )


def compare(pairs: Pairs, rules: Rules = Rules()) -> Comparison:
    """Return what the matched rows say of the difference, the test not yet corrected for other comparisons."""
    if not len(pairs.ours):
        return incomparable("the two have no row in common", pairs.unmatched)
    differences = pairs.ours - pairs.theirs
    passing, passed = (
        passes(values, rules.threshold, rules.better) for values in (pairs.ours, pairs.theirs)
    )
    is_directed = rules.better not in _UNDIRECTED
    both = differences[pairs.answered]
    p_value, test = paired_p_value(differences, pairs.clusters, pairs.measured)
    clusters = None if pairs.clusters is None else cluster_count(pairs.clusters)
    interval = difference_interval(differences, pairs.clusters, rules.confidence, pairs.measured)
    reach = reach_of(differences, pairs.clusters, interval, pairs.largest, pairs.measured)
    found = Comparison(
        rows=len(differences),
        clusters=clusters,
        unmatched=pairs.unmatched,
        mean=float(pairs.ours.mean()),
        baseline_mean=float(pairs.theirs.mean()),
        difference=float(differences.mean()),
        interval=interval,
        answered_difference=float(both.mean()) if len(both) else None,
        p_value=p_value,
        corrected=p_value,
        test=test,
        improved=tuple(
            pairs.keys[int(place)] for place in np.flatnonzero(passing & ~passed & is_directed)
        ),
        regressed=tuple(
            pairs.keys[int(place)] for place in np.flatnonzero(passed & ~passing & is_directed)
        ),
        detectable=reach.shows(rules.confidence),
        reach=reach,
        rows_to_rule_out=rows_for_far_off(len(differences), pairs.clusters, rules.confidence)
        if pairs.is_measure
        else 0,
    )
    return judged(found, rules)


def corrected(
    comparisons: Sequence[Comparison], rules: Rules | Sequence[Rules]
) -> list[Comparison]:
    """Return comparisons that were made together, their tests corrected by Holm's method and judged again.

    What one of them could have shown is told at the error that Holm's method leaves it beside those that did show something.
    """
    each = [rules] * len(comparisons) if isinstance(rules, Rules) else list(rules)
    tested = [number for number, one in enumerate(comparisons) if one.word != INCOMPARABLE]
    values = holm([comparisons[number].p_value for number in tested])
    found = list(comparisons)
    for number, value in zip(tested, values):
        one, own = comparisons[number], each[number]
        shown = sum(other < 1 - own.confidence for other in values)
        confidence = 1 - (1 - own.confidence) / max(1, len(tested) - shown)
        one = evolve(
            one, corrected=value, detectable=one.reach.shows(confidence), together=len(tested)
        )
        found[number] = judged(one, own)
    return found


def judged(found: Comparison, rules: Rules) -> Comparison:
    """Return a comparison with the word and the sentence that its numbers deserve."""
    if found.word == INCOMPARABLE:
        return found
    if isinstance(found.interval, TooFew):
        return evolve(found, word=INCONCLUSIVE, sentence=found.interval.told)
    low, high = found.interval.low, found.interval.high
    if rules.better == "lower":
        low, high = -high, -low
    bounds = (
        f"{found.interval.low:+.4g} to {found.interval.high:+.4g} at {percent(rules.confidence)}"
    )
    here, test = "", found.test
    if found.together > 1:
        here = f" in this comparison, not in all {found.together} together"
        test += f", corrected for {found.together} comparisons"
    can_rule_out = not found.rows_to_rule_out
    if can_rule_out and rules.margin is not None and -rules.margin <= low and high <= rules.margin:
        return evolve(
            found,
            word=EQUIVALENT,
            sentence=f"within {rules.margin:.4g} of the baseline{here}: {bounds}",
        )
    if rules.better in _UNDIRECTED:
        return evolve(found, word=INCONCLUSIVE, sentence=f"{bounds}; {_UNDIRECTED[rules.better]}")
    if found.corrected < 1 - rules.confidence and (low > 0 or high < 0):
        word = BETTER if low > 0 else WORSE
        return evolve(found, word=word, sentence=f"{bounds}; {_p_value(found.corrected)} ({test})")
    ruled_out = f"a loss of more than {max(0.0, -low):.4g} is ruled out{here}"
    if not can_rule_out:
        ruled_out = f"{found.rows_to_rule_out} rows are needed to rule out a loss"
    if low > 0 or high < 0:  # the exact test asks for more than the interval where few rows flip
        bounds += f", yet {_p_value(found.corrected)} ({test})"
    return evolve(found, word=INCONCLUSIVE, sentence=f"{bounds}; {_shown(found)}; {ruled_out}")


def _p_value(value: float) -> str:
    return f"p = {value:.2g}" if value >= 1e-300 else "p < 1e-300"


def _shown(found: Comparison) -> str:
    """Return what a run that decides nothing could have shown, as a phrase."""
    if not found.reach.differing:
        return "no row differs"
    if math.isinf(found.detectable):
        return f"with {found.clusters} clusters the test can show no difference, however large"
    return f"this run could only show a difference of {found.detectable:.4g}"

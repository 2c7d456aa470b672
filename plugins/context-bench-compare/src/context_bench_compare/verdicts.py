"""Verdicts: two systems on the same rows, and in words which is better.

A verdict is one of five words. ``better`` and ``worse``: the paired test, corrected for its family of comparisons, leaves less
than the stated error. ``equivalent``: the whole interval of the test lies within the margin. ``inconclusive``: neither; the
sentence says what this run could have shown, or that no value of this score is better than another. ``incomparable``: there is
nothing to compare.

Beside the verdict is the guarantee: what is ruled out whatever the rows did not show. It decides gates, and no verdict.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import Factory, evolve, frozen
from numpy.typing import NDArray

from context_bench.errors import ConfigurationError
from context_bench.records import passes
from context_bench_compare.differences import (
    difference_test,
    guaranteed_difference,
    rarest_seen,
)
from context_bench_compare.families import PRIMARY, Member, correct
from context_bench_compare.intervals import (
    Clusters,
    Floats,
    Interval,
    TooFew,
    cluster_count,
    cluster_sizes,
    cluster_sums,
    counted,
    percent,
    rows_for_far_off,
    that_matter,
)
from context_bench_compare.power import Reach, reach_of

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
        examples: Number of the example of each row; None when no example was repeated.
        clustered_by: By what rows hang together, such as ``"cluster"`` or ``"context"``; empty where every row stands alone.
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
    examples: Clusters | None = None
    clustered_by: str = ""

    @property
    def measured(self) -> float | None:
        """The largest value, where nobody knows how large one can be; None for scores between 0 and 1."""
        if not len(self.ours):
            return None
        least = min(float(self.ours.min()), float(self.theirs.min()))
        most = max(float(self.ours.max()), float(self.theirs.max()))
        is_score = not self.is_measure and least >= 0 and most <= 1
        return None if is_score else max(abs(least), abs(most))

    @property
    def largest(self) -> float:
        """By how much a row can differ: 1.0 for scores between 0 and 1, else the largest difference."""
        measured = self.measured
        if measured is None:
            return 1.0
        return float(np.abs(self.ours - self.theirs).max()) or measured or 1.0


@frozen(eq=False)
class Seen:
    """What was compared, from which :class:`Reach` is made when it is asked for: kept for each comparison, it would take six
    times as much memory.

    Attributes:
        differences: Of the matched rows, shape (rows,).
        clusters, measured, largest: As in :class:`Pairs`.
    """

    differences: Floats
    clusters: Clusters | None = None
    measured: float | None = None
    largest: float = 1.0

    def reach(self) -> Reach:
        """Return what the run could have shown, at any error of the test."""
        return reach_of(self.differences, self.clusters, self.measured, self.largest)

    def digest(self) -> bytes:
        """Return what stands for the differences of units, which are rows or clusters, and their sizes."""
        level = that_matter(self.clusters)
        digest = hashlib.blake2b(cluster_sums(self.differences, level).data)
        sizes = cluster_sizes(level)
        if sizes is not None:
            digest.update(sizes.data)
        return digest.digest()


@frozen
class Comparison:
    """What is known of a difference.

    Attributes:
        rows, clusters: What it rests on; no clusters when every row stands alone.
        unmatched: Rows that only one of the two has, and that are left out.
        mean, baseline_mean, difference: Over the matched rows.
        interval: Of the difference, as the test has it; or why there is none.
        guarantee: The interval that holds whatever was not seen; or why there is none.
        answered_difference: The difference over the rows that both answered, failures left out; None without such rows.
        p_value: Of the paired test, not corrected.
        corrected: The same, corrected for the comparisons made together.
        test: Name of the test.
        improved, regressed: Keys of the rows that flipped at the threshold.
        detectable: Smallest difference that such a run finds four times in five, in its family of comparisons; infinite where the
            clusters are too few to find any, nan where the verdict is not ``inconclusive``.
        word: One of :data:`WORDS`.
        sentence: The verdict with its reason.
        seen: What was compared; what the run could have shown follows from it.
        family: Of comparisons that are corrected together.
        together: How many comparisons the family holds: the p-value is corrected for them, the interval is not.
        left: By how many the error of one that shows nothing is divided, beside those that did show something.
        clustered_by: As in :class:`Pairs`.
        better: As in :class:`Rules`.
        differing: Rows whose two values differ.
        rows_to_rule_out: Of a measure such as seconds, how many rows rule out a loss or show an equivalence; 0 where these do.
    """

    rows: int
    clusters: int | None
    unmatched: int
    mean: float
    baseline_mean: float
    difference: float
    interval: Interval | TooFew
    guarantee: Interval | TooFew
    answered_difference: float | None
    p_value: float
    corrected: float
    test: str
    improved: Sequence[Any]
    regressed: Sequence[Any]
    detectable: float
    word: str = INCONCLUSIVE
    sentence: str = ""
    seen: Seen = Factory(lambda: Seen(np.zeros(0)))
    family: str = PRIMARY
    together: int = 1
    left: int = 1
    rows_to_rule_out: int = 0
    clustered_by: str = ""
    better: str = "higher"
    differing: int = 0

    @property
    def units(self) -> int:
        """Rows, or clusters."""
        return self.rows if self.clusters is None else self.clusters


_UNDIRECTED = {
    "neither": "neither more nor less of it is better",
    "mixed": "more of it is better on some datasets and less on others: compare each, with --by dataset",
}


def incomparable(why: str, unmatched: int = 0) -> Comparison:
    """Return the comparison of two systems of which nothing can be said."""
    return Comparison(
        rows=0,
        clusters=None,
        unmatched=unmatched,
        mean=math.nan,
        baseline_mean=math.nan,
        difference=math.nan,
        interval=TooFew("0 rows"),
        guarantee=TooFew("0 rows"),
        answered_difference=None,
        p_value=1.0,
        corrected=1.0,
        test="none",
        improved=(),
        regressed=(),
        detectable=math.nan,
        word=INCOMPARABLE,
        sentence=why,
    )


def compare(pairs: Pairs, rules: Rules = Rules(), family: str = PRIMARY) -> Comparison:
    """Return what the matched rows say of the difference, the test not yet corrected for other comparisons."""
    if not len(pairs.ours):
        return incomparable("the two have no row in common", pairs.unmatched)
    differences = pairs.ours - pairs.theirs
    passing = passes(pairs.ours, rules.threshold, rules.better)
    passed = passes(pairs.theirs, rules.threshold, rules.better)
    is_directed = rules.better not in _UNDIRECTED
    answered = float(differences[pairs.answered].mean()) if pairs.answered.any() else None
    how = (pairs.clusters, rules.confidence, pairs.measured, pairs.examples)
    tested = difference_test(differences, *how)
    needed = 0
    if pairs.is_measure:
        needed = rows_for_far_off(len(differences), pairs.clusters, rules.confidence)
    found = Comparison(
        rows=len(differences),
        clusters=None if pairs.clusters is None else cluster_count(pairs.clusters),
        unmatched=pairs.unmatched,
        mean=float(pairs.ours.mean()),
        baseline_mean=float(pairs.theirs.mean()),
        difference=float(differences.mean()),
        interval=tested.interval,
        guarantee=guaranteed_difference(differences, *how, tested=tested.interval),
        answered_difference=answered,
        p_value=tested.p_value,
        corrected=tested.p_value,
        test=tested.test,
        improved=_keys(pairs, passing & ~passed & is_directed),
        regressed=_keys(pairs, passed & ~passing & is_directed),
        detectable=math.nan,
        seen=Seen(differences, pairs.clusters, pairs.measured, pairs.largest),
        family=family,
        rows_to_rule_out=needed,
        clustered_by=pairs.clustered_by,
        better=rules.better,
        differing=int(np.count_nonzero(differences)),
    )
    return judged(found, rules)


def _keys(pairs: Pairs, chosen: NDArray[np.bool_]) -> Sequence[Any]:
    places = np.flatnonzero(chosen)
    if isinstance(pairs.keys, np.ndarray):
        return array("q", pairs.keys[places].astype(np.int64).tobytes())
    return tuple(pairs.keys[int(place)] for place in places)


def corrected(
    comparisons: Sequence[Comparison], rules: Rules | Sequence[Rules]
) -> list[Comparison]:
    """Return comparisons that were made together, corrected in their families and judged again."""
    each = [rules] * len(comparisons) if isinstance(rules, Rules) else list(rules)
    tested = [number for number, one in enumerate(comparisons) if one.word != INCOMPARABLE]
    members = [_member(comparisons[number], each[number]) for number in tested]
    error = 1 - each[0].confidence if each else 0.05
    found = list(comparisons)
    for number, value in zip(tested, correct(members, error)):
        one = evolve(
            comparisons[number],
            corrected=value.p_value,
            together=value.together,
            left=value.left,
        )
        found[number] = judged(one, each[number])
    return found


def _member(one: Comparison, rules: Rules) -> Member:
    """Return a comparison as its family knows it: those of equal units, judged alike, are one."""
    seen = one.seen
    return Member(one.family, one.p_value, (seen.digest(), one.rows, rules.better, one.test))


def judged(found: Comparison, rules: Rules) -> Comparison:
    """Return a comparison with the word and the sentence that its numbers deserve."""
    if found.word == INCOMPARABLE:
        return found
    if isinstance(found.interval, TooFew):
        return evolve(found, word=INCONCLUSIVE, sentence=found.interval.told)
    low, high = found.interval.low, found.interval.high
    if rules.better == "lower":
        low, high = -high, -low
    confidence = f"with {percent(rules.confidence)} confidence"
    ends = f"between {found.interval.low:+.4g} and {found.interval.high:+.4g}"
    size = f"{found.difference:+.4g}, and {confidence} {ends}"
    if not found.rows_to_rule_out and _is_within(rules.margin, low, high):
        sentence = f"{size}, so within the margin of {rules.margin:.4g}"
        return evolve(found, word=EQUIVALENT, sentence=sentence)
    if rules.better in _UNDIRECTED:
        sentence = f"{size}; {_UNDIRECTED[rules.better]}"
        return evolve(found, word=INCONCLUSIVE, sentence=sentence)
    p_value = _p_value(found)
    if found.corrected < 1 - rules.confidence and (low > 0 or high < 0):
        word = BETTER if low > 0 else WORSE
        return evolve(found, word=word, sentence=f"{size}; {p_value}")
    shows = found.seen.reach().shows(1 - (1 - rules.confidence) / found.left)
    found = evolve(found, detectable=shows)
    if not found.differing:
        sentence = f"No row differs; {confidence} the difference is {ends}"
        return evolve(found, word=INCONCLUSIVE, sentence=sentence)
    sentence = f"{size}, so chance may explain it ({p_value}); {_could_show(found)}"
    return evolve(found, word=INCONCLUSIVE, sentence=sentence)


def guarantee_sentence(found: Comparison) -> str | None:
    """Return what is ruled out whatever the rows did not show, in words; None where nothing is compared."""
    bound = found.guarantee
    if found.word == INCOMPARABLE or isinstance(bound, TooFew):
        return None
    unit = "row" if found.clusters is None else "cluster"
    if found.rows_to_rule_out:
        return (
            f"Guarantee: none. A mean of values without an upper limit needs {found.rows_to_rule_out} rows, as one that is far "
            "off the others may not have shown."
        )
    if found.better in _UNDIRECTED:
        limits = f"the mean difference is between {bound.low:+.4g} and {bound.high:+.4g}"
    else:
        loss = bound.high if found.better == "lower" else -bound.low
        limits = f"the mean loss is at most {loss:.4g}" if loss > 0 else "there is no loss"
    return (
        f"Guarantee ({percent(bound.confidence)}): {limits}, whatever {counted(found.units, unit)} did not show. A loss that "
        f"befalls fewer than one {unit} in {rarest_seen(found.units, bound.confidence)} may not have shown."
    )


def _is_within(margin: float | None, low: float, high: float) -> bool:
    return margin is not None and -margin <= low and high <= margin


def _p_value(found: Comparison) -> str:
    """Return what the test says, as a phrase."""
    value = found.corrected
    shown = f"p = {value:.2g}" if value >= 1e-300 else "p < 1e-300"
    shown += f", {found.test}"
    if found.together > 1:
        shown += f", corrected for {found.together} {found.family}"
    return shown


def _could_show(found: Comparison) -> str:
    """Return what a run that decides nothing could have shown, and what it would take, as a phrase."""
    if math.isinf(found.detectable):
        return f"with {counted(found.units, 'row' if found.clusters is None else 'cluster')} no difference can be shown"
    could = f"this run could only show a difference of {found.detectable:.4g} or more"
    apart = abs(found.difference)
    if apart * 1000 > found.detectable > apart:
        rows = found.rows * (found.detectable / apart) ** 2
        could += f", and one like this takes about {_rounded(rows):,} rows"
    return could


def _rounded(rows: float) -> int:
    """Return a number of rows to two digits: more of them would claim what nobody knows."""
    step = 10 ** max(0, math.floor(math.log10(rows)) - 1)
    return int(math.ceil(rows / step) * step)

"""What an evaluator's scores say about its agreement with the judgements, beside another evaluator and the people themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

from context_bench_validation.judgements import TIE, A, B, Judgements, Preference, Rating
from context_bench_validation.scoring import Scored
from context_bench_validation.statistics import (
    CORRELATION,
    DIFFERENCE,
    SHARE,
    Estimate,
    estimate,
    kappa,
    kendall,
    mean_within,
    spearman,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

VOTES = (A, B, TIE)
MINIMUM_SYSTEMS = 5
"""Fewer systems than this are not ranked."""


@frozen
class Settings:
    """How agreement is computed.

    Attributes:
        confidence: Of the intervals.
        tie_within: Two scores that differ by no more than this are a tie.
        threshold: The score from which an evaluator says yes, for ratings of two values.
        scale: Lowest and highest rating of people, to which a score from 0 to 1 is stretched; None if scores are on it.
    """

    confidence: float = 0.95
    tie_within: float = 0.0
    threshold: float = 0.5
    scale: tuple[int, int] | None = None


@frozen
class Line:
    """One statistic.

    Attributes:
        dimension: What was rated; empty for votes.
        statistic: Its name.
        evaluator: Of the evaluator.
        baseline: Of the simple evaluator; None without one.
        difference: The evaluator less the baseline; None without one.
        people: Of one person with the others; None if the data has one judgement each.
        guess: What always guessing the most frequent judgement gets; None where a guess has no value.
    """

    dimension: str
    statistic: str
    evaluator: Estimate
    baseline: Estimate | None
    difference: Estimate | None
    people: Estimate | None
    guess: float | None


@frozen
class Worst:
    """A response, or two, on which the evaluator and the people are furthest apart.

    Attributes:
        dimension: What was rated; empty for votes.
        label: What identifies the row.
        judged: What the people said.
        scored: What the evaluator said.
        texts: The responses.
    """

    dimension: str
    label: str
    judged: str
    scored: str
    texts: tuple[str, ...]


@frozen
class Validation:
    """What is known about an evaluator.

    Attributes:
        lines: The statistics.
        worst: The rows of the strongest disagreement, by dimension.
        notes: What a reader must know besides.
    """

    lines: tuple[Line, ...]
    worst: tuple[Worst, ...]
    notes: tuple[str, ...]


Two = Callable[["NDArray[Any]", "NDArray[Any]"], float]


@frozen(eq=False)
class _Compared:
    """Judgements with the scores of both evaluators, as arrays of one length.

    Attributes:
        judged: What people said.
        scored: What the evaluator said.
        base: What the baseline said; None without one.
        units: Number of the item of each row.
        settings: How agreement is computed.
    """

    judged: NDArray[Any]
    scored: NDArray[Any]
    base: NDArray[Any] | None
    units: NDArray[np.int64]
    settings: Settings

    def line(
        self,
        dimension: str,
        name: str,
        statistic: Two,
        bounds: tuple[float, float],
        *,
        people: Estimate | None = None,
        guess: float | None = None,
    ) -> Line:
        """Return the statistic of both evaluators, and of their difference."""
        judged = self.judged
        scored = self.scored
        base = self.base
        confidence = self.settings.confidence

        def of(scores: NDArray[Any]) -> Estimate:
            return estimate(
                lambda rows: statistic(judged[rows], scores[rows]), self.units, bounds, confidence
            )

        baseline = difference = None
        if base is not None:
            baseline = of(base)
            difference = estimate(
                lambda rows: (
                    statistic(judged[rows], scored[rows]) - statistic(judged[rows], base[rows])
                ),
                self.units,
                DIFFERENCE,
                confidence,
            )
        return Line(dimension, name, of(scored), baseline, difference, people, guess)


def validate_ratings(
    judgements: Judgements,
    scored: Scored,
    base: Scored | None,
    settings: Settings,
    worst: int,
) -> Validation:
    """Return the agreement with ratings, for each dimension.

    Args:
        judgements: The ratings.
        scored: The scores of the evaluator, one for each response.
        base: Those of the baseline; None without one.
        settings: How agreement is computed.
        worst: Rows to show of each dimension.
    """
    lines: list[Line] = []
    furthest: list[Worst] = []
    notes: list[str] = []
    for dimension in judgements.dimensions:
        places = [
            place
            for place, rating in enumerate(judgements.ratings)
            if dimension in rating.ratings and _has_score(place, scored, base)
        ]
        if not places:
            notes.append(f"{dimension}: no response has a rating and a score.")
            continue
        ratings = [judgements.ratings[place] for place in places]
        compared = _Compared(
            judged=np.array([float(np.mean(rating.ratings[dimension])) for rating in ratings]),
            scored=_taken(scored, places),
            base=None if base is None else _taken(base, places),
            units=_numbered([rating.item for rating in ratings]),
            settings=settings,
        )
        lines += _rating_lines(dimension, ratings, compared, notes)
        furthest += _worst_ratings(dimension, ratings, compared, worst)
    return Validation(tuple(lines), tuple(furthest), tuple(notes))


def _rating_lines(
    dimension: str, ratings: Sequence[Rating], compared: _Compared, notes: list[str]
) -> list[Line]:
    settings = compared.settings
    raters = _raters(ratings, dimension)
    lines = []
    for name, statistic in (("Spearman", spearman), ("Kendall tau-b", kendall)):
        people = _people(raters, compared.units, statistic, settings.confidence)
        lines.append(compared.line(dimension, name, statistic, CORRELATION, people=people))
    lines += _within_items(dimension, compared, notes)
    lines += _of_systems(dimension, ratings, compared)
    values = sorted(set(compared.judged.tolist()))
    if len(values) == 2:
        lines += _of_two_values(dimension, compared, values)
    elif settings.scale is not None:
        lines.append(_on_scale(dimension, compared, settings.scale))
    return lines


def _within_items(dimension: str, compared: _Compared, notes: list[str]) -> list[Line]:
    """Return the mean rank correlation within an item, where an item has several responses: how well responses to one input are
    told apart."""
    if len(np.unique(compared.units)) in (1, len(compared.units)):
        return []

    def of(scores: NDArray[Any]) -> tuple[Estimate, int]:
        within, undefined = mean_within(spearman, compared.judged, scores, compared.units)
        numbers = np.arange(len(within))
        confidence = compared.settings.confidence
        found = estimate(lambda rows: float(within[rows].mean()), numbers, CORRELATION, confidence)
        return evolve(found, rows=len(scores)), undefined

    evaluator, undefined = of(compared.scored)
    if undefined:
        notes.append(
            f"{dimension}, Spearman within an item: {undefined} of the items have one response or one value only, and are left out."
        )
    baseline = None if compared.base is None else of(compared.base)[0]
    return [Line(dimension, "Spearman within an item", evaluator, baseline, None, None, None)]


def _of_systems(dimension: str, ratings: Sequence[Rating], compared: _Compared) -> list[Line]:
    """Return the rank correlation of the systems' means, where there are enough systems."""
    names = sorted({rating.system for rating in ratings if rating.system is not None})
    if len(names) < MINIMUM_SYSTEMS or any(rating.system is None for rating in ratings):
        return []
    systems = np.array([names.index(str(rating.system)) for rating in ratings])
    count = len(names)

    def means(values: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
        sizes = np.bincount(systems[rows], minlength=count)
        sums = np.bincount(systems[rows], weights=values[rows], minlength=count)
        return sums[sizes > 0] / sizes[sizes > 0]

    def of(scores: NDArray[Any]) -> Estimate:
        return estimate(
            lambda rows: kendall(means(compared.judged, rows), means(scores, rows)),
            compared.units,
            CORRELATION,
            compared.settings.confidence,
        )

    baseline = None if compared.base is None else of(compared.base)
    name = f"Kendall tau-b of {count} systems"
    return [Line(dimension, name, of(compared.scored), baseline, None, None, None)]


def _of_two_values(dimension: str, compared: _Compared, values: Sequence[float]) -> list[Line]:
    """Return accuracy and kappa for ratings that are yes or no."""
    threshold = compared.settings.threshold
    decided = _Compared(
        judged=(compared.judged == values[1]).astype(int),
        scored=(compared.scored >= threshold).astype(int),
        base=None if compared.base is None else (compared.base >= threshold).astype(int),
        units=compared.units,
        settings=compared.settings,
    )
    share = float(decided.judged.mean())
    return [
        decided.line(dimension, "accuracy", _accuracy, SHARE, guess=max(share, 1 - share)),
        decided.line(dimension, "Cohen's kappa", _kappa_of(2), CORRELATION, guess=0.0),
    ]


def _on_scale(dimension: str, compared: _Compared, scale: tuple[int, int]) -> Line:
    """Return the weighted kappa of scores from 0 to 1 that are stretched to the scale of the people."""
    low, high = scale

    def category(values: NDArray[Any]) -> NDArray[np.int64]:
        return np.clip(np.floor(values - low + 0.5), 0, high - low).astype(np.int64)

    def stretched(values: NDArray[Any]) -> NDArray[np.int64]:
        return category(low + values * (high - low))

    rounded = _Compared(
        judged=category(compared.judged),
        scored=stretched(compared.scored),
        base=None if compared.base is None else stretched(compared.base),
        units=compared.units,
        settings=compared.settings,
    )
    statistic = _kappa_of(high - low + 1, "quadratic")
    return rounded.line(dimension, "weighted kappa", statistic, CORRELATION, guess=0.0)


def _worst_ratings(
    dimension: str, ratings: Sequence[Rating], compared: _Compared, count: int
) -> list[Worst]:
    """Return the responses whose rank by the evaluator is furthest from their rank by the people."""
    from scipy.stats import rankdata

    rows = len(ratings)
    judged = rankdata(compared.judged) / rows
    scored = rankdata(compared.scored) / rows
    order = np.argsort(-np.abs(judged - scored), kind="stable")[:count]
    return [
        Worst(
            dimension=dimension,
            label=ratings[place].label,
            judged=f"{compared.judged[place]:.4g}, rank {judged[place]:.0%}",
            scored=f"{compared.scored[place]:.4g}, rank {scored[place]:.0%}",
            texts=(ratings[place].answer.response,),
        )
        for place in order.tolist()
    ]


def _raters(ratings: Sequence[Rating], dimension: str) -> NDArray[np.float64] | None:
    """Return the ratings, shape (responses, raters); None if some response has one rater only."""
    count = min(len(rating.ratings[dimension]) for rating in ratings)
    if count < 2:
        return None
    return np.array([rating.ratings[dimension][:count] for rating in ratings])


def _people(
    raters: NDArray[np.float64] | None, units: NDArray[np.int64], statistic: Two, confidence: float
) -> Estimate | None:
    """Return how one rater agrees with the mean of the others, on average over the raters."""
    if raters is None:
        return None
    count = raters.shape[1]
    others = (raters.sum(axis=1, keepdims=True) - raters) / (count - 1)

    def of(rows: NDArray[np.int64]) -> float:
        found = [statistic(raters[rows, one], others[rows, one]) for one in range(count)]
        return float(np.mean(found))

    return estimate(of, units, CORRELATION, confidence)


@frozen(eq=False)
class PairScores:
    """The scores of two responses of each vote.

    Attributes:
        first: Of the first response.
        second: Of the second; None if the evaluator compared both, and its score of the first says which is better.
    """

    first: Scored
    second: Scored | None

    def margin(self, place: int) -> float | None:
        """Return how far the first response is ahead; None if there is no score."""
        first = self.first.values[place]
        second = 0.5 if self.second is None else self.second.values[place]
        if first is None or second is None:
            return None
        return first - second


def validate_preferences(
    judgements: Judgements,
    scored: PairScores,
    base: PairScores | None,
    settings: Settings,
    worst: int,
) -> Validation:
    """Return the agreement with votes on two responses.

    Args:
        judgements: The votes.
        scored: The scores of the evaluator.
        base: Those of the baseline; None without one.
        settings: How agreement is computed.
        worst: Rows to show.
    """
    places = [
        place
        for place in range(len(judgements.preferences))
        if scored.margin(place) is not None and (base is None or base.margin(place) is not None)
    ]
    votes = [judgements.preferences[place] for place in places]
    margins = np.array([scored.margin(place) for place in places], dtype=float)
    compared = _Compared(
        judged=np.array([VOTES.index(vote.vote) for vote in votes], dtype=int),
        scored=_decided(margins, settings),
        base=None
        if base is None
        else _decided(np.array([base.margin(place) for place in places], dtype=float), settings),
        units=_numbered([vote.item for vote in votes]),
        settings=settings,
    )
    people = _pairs_of_votes(votes, compared)
    lines = _vote_lines(compared, people)
    return Validation(tuple(lines), tuple(_worst_votes(votes, margins, compared, worst)), ())


def _vote_lines(compared: _Compared, people: _Compared | None) -> list[Line]:
    is_decided = compared.judged != VOTES.index(TIE)
    without_ties = _rows_of(compared, is_decided)
    lines = []
    if is_decided.any():
        agreed = None
        if people is not None:
            both = (people.judged != VOTES.index(TIE)) & (people.scored != VOTES.index(TIE))
            agreed = _agreement(_rows_of(people, both), _accuracy, SHARE) if both.any() else None
        name = "accuracy" if is_decided.all() else "accuracy, votes without ties"
        lines.append(
            without_ties.line(
                "",
                name,
                _half_for_ties,
                SHARE,
                people=agreed,
                guess=_most_frequent(without_ties.judged),
            )
        )
    if not is_decided.all():
        agreed = None if people is None else _agreement(people, _accuracy, SHARE)
        guess = _most_frequent(compared.judged)
        lines.append(
            compared.line("", "accuracy, ties count", _accuracy, SHARE, people=agreed, guess=guess)
        )
    statistic = _kappa_of(len(VOTES))
    agreed = None if people is None else _agreement(people, statistic, CORRELATION)
    lines.append(
        compared.line("", "Cohen's kappa", statistic, CORRELATION, people=agreed, guess=0.0)
    )
    return lines


def _pairs_of_votes(votes: Sequence[Preference], compared: _Compared) -> _Compared | None:
    """Return each two votes on the same responses, in both orders; None if no responses have several votes."""
    groups: dict[str, list[int]] = {}
    for place, vote in enumerate(votes):
        groups.setdefault(vote.label, []).append(place)
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    if not pairs:
        return None
    first = np.array([pair[0] for pair in pairs])
    second = np.array([pair[1] for pair in pairs])
    return _Compared(
        judged=compared.judged[np.concatenate([first, second])],
        scored=compared.judged[np.concatenate([second, first])],
        base=None,
        units=compared.units[np.concatenate([first, first])],
        settings=compared.settings,
    )


def _agreement(people: _Compared, statistic: Two, bounds: tuple[float, float]) -> Estimate:
    return people.line("", "", statistic, bounds).evaluator


def _worst_votes(
    votes: Sequence[Preference], margins: NDArray[Any], compared: _Compared, count: int
) -> list[Worst]:
    """Return the votes against which the evaluator is most decided."""
    wrong = np.flatnonzero(compared.judged != compared.scored)
    order = wrong[np.argsort(-np.abs(margins[wrong]), kind="stable")][:count]
    return [
        Worst(
            dimension="",
            label=votes[place].label,
            judged=votes[place].vote,
            scored=f"{VOTES[compared.scored[place]]}, by {abs(margins[place]):.4g}",
            texts=(votes[place].first.response, votes[place].second.response),
        )
        for place in order.tolist()
    ]


def _accuracy(judged: NDArray[Any], scored: NDArray[Any]) -> float:
    return float((judged == scored).mean()) if len(judged) else float("nan")


def _half_for_ties(judged: NDArray[Any], scored: NDArray[Any]) -> float:
    """Return the accuracy where a tie of the evaluator counts as half: what a coin would get."""
    if not len(judged):
        return float("nan")
    return float(((judged == scored) + 0.5 * (scored == VOTES.index(TIE))).mean())


def _kappa_of(categories: int, weights: str = "none") -> Two:
    return lambda judged, scored: kappa(judged, scored, categories=categories, weights=weights)


def _most_frequent(judged: NDArray[Any]) -> float:
    return float(np.bincount(judged).max() / len(judged))


def _decided(margins: NDArray[Any], settings: Settings) -> NDArray[np.int64]:
    decided = np.where(margins > 0, VOTES.index(A), VOTES.index(B))
    return np.where(np.abs(margins) <= settings.tie_within, VOTES.index(TIE), decided)


def _rows_of(compared: _Compared, rows: NDArray[np.bool_]) -> _Compared:
    return _Compared(
        judged=compared.judged[rows],
        scored=compared.scored[rows],
        base=None if compared.base is None else compared.base[rows],
        units=compared.units[rows],
        settings=compared.settings,
    )


def _has_score(place: int, scored: Scored, base: Scored | None) -> bool:
    return scored.values[place] is not None and (base is None or base.values[place] is not None)


def _taken(scored: Scored, places: Sequence[int]) -> NDArray[np.float64]:
    return np.array([scored.values[place] for place in places], dtype=float)


def _numbered(names: Sequence[str]) -> NDArray[np.int64]:
    numbers: Mapping[str, int] = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)

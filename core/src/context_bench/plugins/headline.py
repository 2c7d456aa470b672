"""Keys and headline of a dataset: whose value a shared key holds, and which key speaks for the row."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from context_bench.errors import WiringError
from context_bench.plugins.plan import Choice, DatasetFacts, DatasetPlan, Decision

FALLBACK_HEADLINE = "f1"
"""Headline of rows whose dataset and evaluators name none: AnswerQuality's token F1."""


def settle_keys(decisions: Sequence[Decision], dataset: DatasetFacts, warnings: list[str]) -> list[Decision]:
    """Return the decisions with the keys that each yields to a more specific one.

    Raises:
        WiringError: Two evaluators of one rank give the same key.
    """
    claims: dict[str, list[Decision]] = {}
    for decision in decisions:
        if decision.wired:
            for key in decision.keys:
                claims.setdefault(key, []).append(decision)
    yields: dict[str, list[str]] = {}
    for key, claimants in claims.items():
        winner, *others = sorted(claimants, key=lambda decision: -decision.rank)
        for loser in others:
            if loser.rank == winner.rank:
                raise WiringError(
                    f"{winner.evaluator} and {loser.evaluator} both give the score {key!r} to rows of "
                    f"{dataset.label or 'this dataset'} (rules: {winner.reason}; {loser.reason}). Leave one out with "
                    f"--without {loser.evaluator}, or give it a prefix: --prefix {loser.evaluator}=other_."
                )
            yields.setdefault(loser.evaluator, []).append(key)
            warnings.append(
                f"{loser.evaluator} leaves the score {key!r} to {winner.evaluator} ({winner.reason}); its own value is "
                f"stored under its id."
            )
    return [evolve(decision, yields=tuple(yields.get(decision.evaluator, ()))) for decision in decisions]


def find_headline(dataset: DatasetFacts, decisions: Sequence[Decision]) -> str | None:
    """Return the key that speaks for a row, or None when no evaluator promises any.

    It is the dataset's own; else that of the evaluator whose rules name the dataset or, less closely, one of its tags;
    else AnswerQuality's ``f1``; else the first evaluator's, those that the user chose before the others.
    """
    wired = [decision for decision in decisions if decision.wired]
    keys = {key for decision in wired for key in decision.keys}
    if dataset.primary is not None:
        prefixed = [d.prefix + dataset.primary for d in wired if d.facts and dataset.primary in d.facts.scores]
        if dataset.primary in keys or prefixed:
            return dataset.primary if dataset.primary in keys else prefixed[0]
    with_primary = [decision for decision in wired if decision.primary is not None]
    fitting = sorted((d for d in with_primary if d.fit), key=lambda d: (-d.fit, d.evaluator))
    if fitting:
        return fitting[0].primary
    if FALLBACK_HEADLINE in keys:
        return FALLBACK_HEADLINE
    others = sorted(with_primary, key=lambda d: (-d.rank, d.evaluator))
    return others[0].primary if others else None


def check_headline(plan: DatasetPlan, choice: Choice) -> list[str]:
    """Return a warning when a dataset's own headline gives way to another, which the user did not ask for.

    Raises:
        WiringError: Its evaluator is installed and only lacks the user's consent.
    """
    primary = plan.dataset.primary
    if primary is None or any(d.facts and primary in d.facts.scores for d in plan.wired):
        return []
    able = [decision for decision in plan.decisions if decision.facts and primary in decision.facts.scores]
    for decision in able:
        if decision.consent:
            raise WiringError(
                f"The headline score {primary!r} of {plan.dataset.label} comes from {decision.evaluator}, but "
                f"{decision.reason}. Allow it, or leave it out with --without {decision.evaluator}."
            )
    if choice.exact is not None or any(d.component and d.component.names & choice.without for d in able):
        return []
    why = "; ".join(f"{d.evaluator} is left out: {d.reason}" for d in able) or "no installed evaluator gives it"
    instead = f"the headline is {plan.headline!r} instead" if plan.headline else "there is no headline"
    return [f"The headline score of {plan.dataset.label} is {primary!r}, but {why}; {instead}."]

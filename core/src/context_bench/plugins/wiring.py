"""Wiring: which evaluators score the rows of which dataset, and why.

A plan is made for each dataset label, before the first of its rows is given to a system. It names
every evaluator that is installed, with the rule that chose it or why it was left out, and it is an
artefact: printed by ``run --dry-run``, stored with the run, and lockable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, evolve, field, frozen

from context_bench.errors import ConfigurationError, UnknownNameError, WiringError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import BLOCKED, OK, Component, edition_of
from context_bench.plugins.manifest import ALWAYS, CAPABILITIES, Score, WireRule


@frozen
class Choice:
    """What the user said about evaluators.

    Attributes:
        exact: Names of the only evaluators to use; None wires them from the datasets.
        also: Names added to the automatic ones.
        without: Names left out.
        given: Flags that were given, without dashes, such as ``judge-url``; rules can ask for them.
        allowed: Capabilities that auto-wired evaluators may use, such as ``executes-model-code``.
        prefixes: Prefix for the keys of an evaluator, by its short name or id.
    """

    exact: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    prefixes: Mapping[str, str] = Factory(dict)


@frozen
class DatasetFacts:
    """What wiring needs to know of a dataset.

    Attributes:
        label: Its label in this run; empty for rows without one.
        names: Names that it answers to: its label, and the loader that it came from.
        tags: Its tags.
        primary: Key of the primary score that it asks for.
    """

    label: str
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    primary: str | None = None


@frozen
class Decision:
    """What was decided about one evaluator for one dataset.

    Attributes:
        component: The evaluator.
        wired: Whether it scores the rows.
        reason: The rule that chose it, or why it was left out.
        explicit: Whether the user named it.
        fit: How closely its own rules name the dataset, also when the user chose it: 2 by name, 1
            by tag, 0 not.
        prefix: What its keys begin with.
        yields: Keys that it leaves to another evaluator in the row's scores.
        consent: Capability that it must not use unless it proves to be isolated.
    """

    component: Component = field(repr=False)
    wired: bool
    reason: str
    explicit: bool = False
    fit: int = 0
    prefix: str = ""
    yields: tuple[str, ...] = ()
    consent: str | None = None

    @property
    def evaluator(self) -> str:
        """Canonical id."""
        return self.component.id

    @property
    def rank(self) -> int:
        """How specific the rule is: 3 chosen, 2 by name, tag or option, 1 always, 0 left out."""
        if not self.wired:
            return 0
        by_rule = 1 if self.reason == ALWAYS else 2
        return 3 if self.explicit else by_rule

    @property
    def needs_isolation(self) -> bool:
        """Whether it scores only where it proves to be isolated."""
        return self.wired and self.consent == "executes-model-code"

    @property
    def scores(self) -> Mapping[str, Score]:
        """What its manifest says about its keys, without the prefix."""
        return self.component.evaluator.scores

    @property
    def keys(self) -> list[str]:
        """The keys that the manifest promises, with the prefix."""
        return [self.prefix + key for key in self.scores]

    @property
    def primary(self) -> str | None:
        """The evaluator's own primary score, with the prefix."""
        primary = self.component.evaluator.primary
        return self.prefix + primary if primary else None


@frozen
class DatasetPlan:
    """The wiring of one dataset.

    Attributes:
        dataset: The dataset.
        decisions: One for each installed evaluator, by canonical id.
        primary: Key of the primary score; None when nothing gives one.
        warnings: What the user should know, a line each.
        error: Why a run would stop, where the plan is only told; None where it would not.
    """

    dataset: DatasetFacts
    decisions: tuple[Decision, ...]
    primary: str | None
    warnings: tuple[str, ...] = ()
    error: str | None = None

    @property
    def ranked(self) -> list[Decision]:
        """The decisions, the most specific ones first."""
        return sorted(self.decisions, key=lambda decision: (-decision.rank, decision.evaluator))

    @property
    def wired(self) -> tuple[Decision, ...]:
        """The decisions that wire an evaluator."""
        return tuple(decision for decision in self.decisions if decision.wired)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-like values: what ``lock`` writes and ``--locked`` compares."""
        return {
            "names": list(self.dataset.names),
            "tags": list(self.dataset.tags),
            "dataset_primary": self.dataset.primary,
            "primary": self.primary,
            "evaluators": {
                decision.evaluator: {
                    "rule": decision.reason,
                    "distribution": decision.component.distribution.name,
                    **edition_of(decision.component),
                    "keys": decision.keys,
                    "prefix": decision.prefix,
                    "yields": list(decision.yields),
                }
                for decision in self.wired
            },
        }


def changes_of_plan(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what rows that were scored by a plan and rows that are scored by a later one do not
    have in common."""
    for name, facts in earlier["evaluators"].items():
        current = now["evaluators"].get(name)
        if current is None:
            yield f"{name} is gone"
        elif current.get("version") != facts.get("version"):
            version = current.get("version")
            yield f"{name} has version {version} instead of {facts.get('version')}"
    if earlier["primary"] not in (None, now["primary"]):
        yield f"the primary score is {now['primary']!r} instead of {earlier['primary']!r}"


def plan_dataset(catalog: Catalog, dataset: DatasetFacts, choice: Choice) -> DatasetPlan:
    """Decide which evaluators score the rows of ``dataset``.

    Raises:
        UnknownNameError: The choice names an evaluator that is not installed.
        PluginError: An evaluator that is chosen, by the user or by its rules, cannot be used.
        WiringError: Two evaluators would give the same key to the same row, or the primary score
            needs consent.
    """
    check_choice(catalog, choice)
    decisions = decide_dataset(catalog, dataset, choice)
    for decision in decisions:
        if decision.wired:
            decision.component.require_ok()
    warnings = [
        f"{decision.evaluator} would score {dataset.label or 'these rows'} but is left out: "
        f"{decision.reason}."
        for decision in decisions
        if decision.consent and not decision.wired
    ]
    decisions = settle_keys(decisions, dataset, warnings)
    plan = DatasetPlan(dataset, tuple(decisions), find_primary(dataset, decisions))
    warnings += check_primary(plan, choice)
    return evolve(plan, warnings=tuple(warnings))


def decide_dataset(catalog: Catalog, dataset: DatasetFacts, choice: Choice) -> list[Decision]:
    """Decide about each evaluator by itself, in whatever state it is; conflicts between them stay.

    Raises:
        UnknownNameError: The choice names an evaluator that is not installed.
        PluginError: It names one by a contested short name.
    """
    explicit: dict[str, Component] = {}
    for name in [*(choice.exact or ()), *choice.also]:
        component = catalog.find("evaluators", name)
        explicit[component.id] = component
    decisions = [
        _decide(explicit.get(component.id, component), dataset, choice, component.id in explicit)
        for component in catalog.of_kind("evaluators")
    ]
    return _leave_to_closer(decisions, dataset, choice)


def check_choice(catalog: Catalog, choice: Choice) -> None:
    """Refuse a choice that could not work for any dataset.

    Raises:
        UnknownNameError: It names an evaluator or capability that is not there.
        PluginError: It names an evaluator that cannot be used.
        ConfigurationError: It contradicts itself.
    """
    for name in (*(choice.exact or ()), *choice.also):
        component = catalog.find("evaluators", name)
        if component.names & choice.without:
            raise ConfigurationError(
                f"The evaluator {name!r} is both chosen and left out. Decide for one of them."
            )
        component.require_ok()
    for name in choice.without:
        if not any(name in component.names for component in catalog):
            raise catalog.unknown("evaluators", name)
    for name in choice.prefixes:
        if not catalog.named("evaluators", name):
            raise catalog.unknown("evaluators", name)
    for name in choice.allowed:
        if name not in CAPABILITIES:
            raise UnknownNameError("capability", name, CAPABILITIES)


def _decide(
    component: Component, dataset: DatasetFacts, choice: Choice, is_explicit: bool
) -> Decision:
    prefix = choice.prefixes.get(component.id, choice.prefixes.get(component.name, ""))
    fit = _fit(component.evaluator.wire, dataset)
    undecided = Decision(component=component, wired=False, reason="", fit=fit, prefix=prefix)
    if component.names & choice.without:
        return evolve(undecided, reason="left out by the user")
    if is_explicit:
        reason = "chosen with --evaluators"
        if choice.exact is None:
            reason = "added with --add-evaluator"
        return evolve(undecided, wired=True, reason=reason, explicit=True)
    refusal = _why_never(component, choice)
    if refusal is not None:
        return evolve(undecided, reason=refusal)
    return _decide_by_rules(undecided, dataset, choice)


def _why_never(component: Component, choice: Choice) -> str | None:
    """Return why the rules of an evaluator do not count, whatever the dataset is; None where they
    do."""
    if choice.exact is not None:
        return "not among the evaluators that were chosen"
    if component.state == BLOCKED or (not component.is_described and component.state != OK):
        return f"{component.state}: {component.reason}"
    if not component.is_described and component.distribution.manifest_path is None:
        return "it has no manifest, so it is used only when asked for by name"
    if not component.is_described:
        return "its manifest does not describe it, so it is used only when asked for by name"
    if not component.evaluator.wire:
        return "it has no wiring rule; add it with --add-evaluator"
    return None


def _decide_by_rules(undecided: Decision, dataset: DatasetFacts, choice: Choice) -> Decision:
    component = undecided.component
    reasons = [reason for _, reason in _matching_rules(component, dataset, choice)]
    if not reasons:
        wiring = "; ".join(map(str, component.evaluator.wire))
        return evolve(undecided, reason=f"no rule matches; it is wired to {wiring}")
    reason = min(reasons, key=lambda match: match == ALWAYS)
    if component.overridden_by is not None:
        addition = f"add this one with --add-evaluator {component.id}"
        return evolve(
            undecided, reason=f"the project prefers {component.overridden_by}; {addition}"
        )
    capabilities = frozenset(component.capabilities) - choice.allowed
    if "network" in capabilities and not reason.startswith("option "):
        refusal = f"it calls a network service; allow it with --allow network (rule: {reason})"
        return evolve(undecided, reason=refusal, consent="network")
    consent = "executes-model-code" if "executes-model-code" in capabilities else None
    return evolve(undecided, wired=True, reason=reason, consent=consent)


def _matching_rules(
    component: Component, dataset: DatasetFacts, choice: Choice
) -> Iterator[tuple[WireRule, str]]:
    """Yield the rules that choose an evaluator for a dataset, each with the reason in words."""
    options = component.manifest.options.values()
    flags = {option.flag.removeprefix("--") for option in options if option.flag}
    given_flags = choice.given & flags  # an evaluator is not wired by a flag of another component
    for rule in component.evaluator.wire:
        reason = rule.match(dataset.names, dataset.tags, given_flags)
        if reason is not None:
            yield rule, reason


def _leave_to_closer(
    decisions: Sequence[Decision], dataset: DatasetFacts, choice: Choice
) -> list[Decision]:
    """Return the decisions without the evaluators that a flag wires to every dataset, where it also
    wires one to this dataset: the user asked for one judgement of a row, and pays for each."""
    closer: dict[str, str] = {}
    for decision in decisions:
        if not decision.wired:
            continue
        for rule, reason in _matching_rules(decision.component, dataset, choice):
            if rule.option is not None and (rule.datasets or rule.tags):
                closer.setdefault(rule.option, f"{decision.evaluator} here ({reason})")
    return [
        _left_to(decision, closer, [*_matching_rules(decision.component, dataset, choice)])
        for decision in decisions
    ]


def _left_to(
    decision: Decision, closer: Mapping[str, str], matches: Sequence[tuple[WireRule, str]]
) -> Decision:
    """Return a decision; left out where only flags wire it, and each wires a closer evaluator."""
    if not decision.wired or decision.explicit:
        return decision
    for rule, _ in matches:
        if rule.option not in closer or rule.datasets or rule.tags:
            return decision
    option = matches[0][0].option
    addition = f"add this one with --add-evaluator {decision.evaluator}"
    reason = f"--{option} is for {closer[str(option)]}; {addition}"
    return evolve(decision, wired=False, reason=reason, consent=None)


def _fit(rules: Iterable[WireRule], dataset: DatasetFacts) -> int:
    """Return how closely rules name a dataset: 2 by its name, 1 by a tag, 0 not at all."""
    fit = 0
    for rule in rules:
        if not set(dataset.names).isdisjoint(rule.datasets):
            return 2
        if not set(dataset.tags).isdisjoint(rule.tags):
            fit = 1
    return fit


FALLBACK_PRIMARY = "f1"
"""Primary of rows whose dataset and evaluators name none: AnswerQuality's token F1."""


def settle_keys(
    decisions: Sequence[Decision], dataset: DatasetFacts, warnings: list[str]
) -> list[Decision]:
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
                    f"{winner.evaluator} and {loser.evaluator} both give the score {key!r} to rows "
                    f"of {dataset.label or 'this dataset'} (rules: {winner.reason}; "
                    f"{loser.reason}). "
                    f"Leave one out with --exclude {loser.evaluator}, or give it a prefix: "
                    "--score-prefix "
                    f"{loser.evaluator}=other_."
                )
            yields.setdefault(loser.evaluator, []).append(key)
            warnings.append(
                f"{loser.evaluator} leaves the score {key!r} to {winner.evaluator} "
                f"({winner.reason}); its own value is stored under its id."
            )
    return [
        evolve(decision, yields=tuple(yields.get(decision.evaluator, ()))) for decision in decisions
    ]


def find_primary(dataset: DatasetFacts, decisions: Sequence[Decision]) -> str | None:
    """Return the key that speaks for a row, or None when no evaluator promises any.

    It is the dataset's own; else that of the evaluator whose rules name the dataset or, less
    closely, one of its tags; else AnswerQuality's ``f1``; else the first evaluator's, those that
    the user chose before the others.
    """
    wired = [decision for decision in decisions if decision.wired]
    key = _own_key(dataset, wired)
    if key is not None:
        return key
    candidates = [decision for decision in wired if decision.primary is not None]
    fitting = [decision for decision in candidates if decision.fit]
    if fitting:
        closest = min(fitting, key=lambda decision: (-decision.fit, decision.evaluator))
        return closest.primary
    if any(FALLBACK_PRIMARY in decision.keys for decision in wired):
        return FALLBACK_PRIMARY
    if candidates:
        first = min(candidates, key=lambda decision: (-decision.rank, decision.evaluator))
        return first.primary
    return None


def _own_key(dataset: DatasetFacts, wired: Sequence[Decision]) -> str | None:
    """Return the primary score of a dataset as an evaluator gives it, with its prefix; None where
    none does."""
    if dataset.primary is None or any(dataset.primary in decision.keys for decision in wired):
        return dataset.primary
    for decision in wired:
        if dataset.primary in decision.scores:
            return decision.prefix + dataset.primary
    return None


def with_primary(plan: DatasetPlan) -> DatasetPlan:
    """Return a plan whose primary score is one that its evaluators give."""
    if plan.primary is None or any(plan.primary in decision.keys for decision in plan.wired):
        return plan
    return evolve(plan, primary=find_primary(plan.dataset, plan.decisions))


def check_primary(plan: DatasetPlan, choice: Choice) -> list[str]:
    """Return a warning when a dataset's own primary score gives way to another, which the user did
    not ask for.

    Raises:
        WiringError: Its evaluator is installed and only lacks the user's consent.
    """
    primary = plan.dataset.primary
    if primary is None or any(primary in decision.scores for decision in plan.wired):
        return []
    label = plan.dataset.label
    able = [decision for decision in plan.decisions if primary in decision.scores]
    for decision in able:
        if decision.consent:
            raise WiringError(
                f"The primary score {primary!r} of {label} comes from {decision.evaluator}, but "
                f"{decision.reason}. Allow it, or leave it out with --exclude {decision.evaluator}."
            )
    is_chosen = choice.exact is not None
    if is_chosen or any(decision.component.names & choice.without for decision in able):
        return []
    reasons = [f"{decision.evaluator} is left out: {decision.reason}" for decision in able]
    why = "; ".join(reasons) or "no installed evaluator gives it"
    instead = "there is no primary score"
    if plan.primary:
        instead = f"the primary score is {plan.primary!r} instead"
    return [f"The primary score of {label} is {primary!r}, but {why}; {instead}."]

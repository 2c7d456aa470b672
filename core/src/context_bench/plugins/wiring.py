"""Wiring: which evaluators score the rows of which dataset, and why.

A plan is made for each dataset label, before the first of its rows is given to a system. It names every evaluator that is
installed, with the rule that chose it or why it was left out, and it is an artefact: printed by ``run --dry-run``,
stored with the run, and lockable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import Factory, evolve, field, frozen

from context_bench.console import style, wrap_text
from context_bench.errors import ConfigurationError, UnknownNameError, WiringError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import BLOCKED, OK, Component, edition_of, stated
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
        primary: Key of the headline score that it asks for.
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
        fit: How closely its own rules name the dataset, also when the user chose it: 2 by name, 1 by tag, 0 not.
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
        """The evaluator's own headline, with the prefix."""
        primary = self.component.evaluator.primary
        return self.prefix + primary if primary else None


@frozen
class DatasetPlan:
    """The wiring of one dataset.

    Attributes:
        dataset: The dataset.
        decisions: One for each installed evaluator, by canonical id.
        headline: Key of the headline score; None when nothing gives one.
        warnings: What the user should know, a line each.
        error: Why a run would stop, where the plan is only told; None where it would not.
    """

    dataset: DatasetFacts
    decisions: tuple[Decision, ...]
    headline: str | None
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
            "primary": self.dataset.primary,
            "headline": self.headline,
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


def changes_of_plan(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what rows that were scored by a plan and rows that are scored by a later one do not have in common."""
    for name, facts in before["evaluators"].items():
        found = now["evaluators"].get(name)
        if found is None:
            yield f"{name} is gone"
        elif found.get("version") != facts.get("version"):
            yield f"{name} has version {found.get('version')} in place of {facts.get('version')}"
    if before["headline"] not in (None, now["headline"]):
        yield f"the headline is {now['headline']!r} in place of {before['headline']!r}"


@frozen
class Explanation:
    """What a run would use: the wiring of its datasets, every evaluator with its reason, and its extensions.

    Attributes:
        plans: The wiring of each dataset.
        extensions: What is known of the active extensions, by id.
    """

    plans: tuple[DatasetPlan, ...]
    extensions: Mapping[str, Mapping[str, Any]]

    def lines(self) -> Iterator[str]:
        """Yield it as the lines of a text for a person; the warnings of the plans are not in it."""
        for plan in self.plans:
            yield from _lines_of(plan)
        for name, extension in self.extensions.items():
            yield f"extension {style(name, bold=True)} {_facts_of_extension(extension)}"


def _facts_of_extension(extension: Mapping[str, Any]) -> str:
    hooks = ", ".join(extension["implements"]) or "hooks that no manifest declares"
    facts = [f"{extension['distribution_version']}: {hooks}"]
    if extension["options"]:
        options = ", ".join(f"{name}={value}" for name, value in extension["options"].items())
        facts.append(f"({options})")
    if extension["capabilities"]:
        facts.append(f"with {', '.join(extension['capabilities'])}")
    facts.append(f"(manifest {extension['manifest_sha256'][:12] or 'none'})")
    return " ".join(facts)


def _lines_of(plan: DatasetPlan) -> Iterator[str]:
    label = style(plan.dataset.label or "rows without a label", bold=True)
    if plan.error:
        yield f"{label}: {style('a run would stop', color='red')}"
        yield wrap_text("", plan.error, 2, 0)
    else:
        yield f"{label}: headline {plan.headline or 'none'}"
    for decision in plan.ranked:
        component = decision.component
        state = "" if component.state == OK else style(f" [{component.state}]", color="red")
        yield f"  {style('+', color='green') if decision.wired else '-'} {decision.evaluator}{state}"
        yield wrap_text("", decision.reason, 6, 0)
        if component.reason and component.reason not in decision.reason:
            yield wrap_text("why", component.reason, 6, 8)
        if component.remedy:
            yield wrap_text("remedy", component.remedy, 6, 8)
        if decision.wired and decision.keys:
            yield wrap_text("scores", ", ".join(decision.keys), 6, 8)
        if decision.needs_isolation:
            yield wrap_text(
                "only", "in an isolating sandbox, or with --allow executes-model-code", 6, 8
            )
    yield ""


def plan_dataset(catalog: Catalog, dataset: DatasetFacts, choice: Choice) -> DatasetPlan:
    """Decide which evaluators score the rows of ``dataset``.

    Raises:
        UnknownNameError: The choice names an evaluator that is not installed.
        PluginError: An evaluator that is chosen, by the user or by its rules, cannot be used.
        WiringError: Two evaluators would give the same key to the same row, or the headline needs consent.
    """
    check_choice(catalog, choice)
    decisions = decide_dataset(catalog, dataset, choice)
    for decision in decisions:
        if decision.wired:
            decision.component.require_ok()
    warnings = [
        f"{decision.evaluator} would score {dataset.label or 'these rows'} but is left out: {decision.reason}."
        for decision in decisions
        if decision.consent and not decision.wired
    ]
    decisions = settle_keys(decisions, dataset, warnings)
    plan = DatasetPlan(dataset, tuple(decisions), find_headline(dataset, decisions))
    warnings += check_headline(plan, choice)
    return evolve(plan, warnings=tuple(warnings))


def decide_dataset(catalog: Catalog, dataset: DatasetFacts, choice: Choice) -> list[Decision]:
    """Decide about each evaluator by itself, in whatever state it is; conflicts between them are not resolve_baselines.

    Raises:
        UnknownNameError: The choice names an evaluator that is not installed.
        PluginError: It names one by a contested short name.
    """
    names = choice.also if choice.exact is None else (*choice.exact, *choice.also)
    found = [catalog.find("evaluators", name) for name in names]
    explicit = {component.id: component for component in found}
    return [
        _decide(explicit.get(component.id, component), dataset, choice, component.id in explicit)
        for component in catalog.of_kind("evaluators")
    ]


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


def broken_plugins(catalog: Catalog) -> list[str]:
    """Return a line for each distribution with components that cannot be used, and for each contested name.

    What somebody switched off or resolve_baselines by a preference, and what waits for an optional extra, is not worth a line.
    """
    broken: dict[str, list[Component]] = {}
    contests: dict[tuple[str, str], str] = {}
    for component in catalog:
        if component.conflicts_with:
            if component.overridden_by is None:
                contests.setdefault(
                    (component.kind, component.name), f"{component.reason}. {component.remedy_text}"
                )
        elif component.state not in (OK, BLOCKED) and not component.lacks_extra:
            broken.setdefault(component.distribution.name, []).append(component)
    return [
        *map(_broken_line, broken.values()),
        *(f"{line[:1].upper()}{line[1:]}" for line in contests.values()),
    ]


def _broken_line(components: list[Component]) -> str:
    first = components[0]
    others = (
        f" (and {len(components) - 1} more of {first.distribution.name})"
        if len(components) > 1
        else ""
    )
    return (
        f"{first.id}{others} {stated(first.state)} and unused: {first.reason}. {first.remedy_text}"
    )


def _decide(
    component: Component, dataset: DatasetFacts, choice: Choice, explicit: bool
) -> Decision:
    rules = component.evaluator.wire
    fit = _fit(rules, dataset)
    prefix = choice.prefixes.get(component.id, choice.prefixes.get(component.name, ""))

    def out(reason: str, consent: str | None = None) -> Decision:
        return Decision(component, False, reason, False, fit, prefix, consent=consent)

    if component.names & choice.without:
        return out("left out by the user")
    if explicit:
        reason = (
            "added with --add-evaluator" if choice.exact is None else "chosen with --evaluators"
        )
        return Decision(component, True, reason, True, fit, prefix)
    if choice.exact is not None:
        return out("not among the evaluators that were chosen")
    if component.state == BLOCKED or (not component.is_described and component.state != OK):
        return out(f"{component.state}: {component.reason}")
    if not component.is_described:
        has_manifest = component.distribution.manifest_path is not None
        undescribed = "its manifest does not describe it" if has_manifest else "it has no manifest"
        return out(f"{undescribed}, so it is used only when asked for by name")
    if not rules:
        return out("it has no wiring rule; add it with --add-evaluator")
    flags = {
        option.flag.removeprefix("--")
        for option in component.manifest.options.values()
        if option.flag
    }
    given = choice.given & flags  # nobody is wired by another's flag
    matches = filter(None, (rule.match(dataset.names, dataset.tags, given) for rule in rules))
    matched = min(matches, key=lambda match: match == ALWAYS, default=None)
    if matched is None:
        return out(f"no rule matches; it is wired to {'; '.join(map(str, rules))}")
    if component.overridden_by is not None:
        return out(
            f"the project prefers {component.overridden_by}; add this one with --add-evaluator {component.id}"
        )
    needed = frozenset(component.capabilities) - choice.allowed
    if "network" in needed and not matched.startswith("option "):
        return out(
            f"it calls a network service; allow it with --allow network (rule: {matched})",
            "network",
        )
    consent = "executes-model-code" if "executes-model-code" in needed else None
    return Decision(component, True, matched, False, fit, prefix, consent=consent)


def _fit(rules: Iterable[WireRule], dataset: DatasetFacts) -> int:
    by_name = any(name in rule.datasets for rule in rules for name in dataset.names)
    by_tag = any(tag in rule.tags for rule in rules for tag in dataset.tags)
    return 2 if by_name else int(by_tag)


FALLBACK_HEADLINE = "f1"
"""Headline of rows whose dataset and evaluators name none: AnswerQuality's token F1."""


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
                    f"{winner.evaluator} and {loser.evaluator} both give the score {key!r} to rows of "
                    f"{dataset.label or 'this dataset'} (rules: {winner.reason}; {loser.reason}). Leave one out with "
                    f"--exclude {loser.evaluator}, or give it a prefix: --score-prefix {loser.evaluator}=other_."
                )
            yields.setdefault(loser.evaluator, []).append(key)
            warnings.append(
                f"{loser.evaluator} leaves the score {key!r} to {winner.evaluator} ({winner.reason}); its own value is "
                f"stored under its id."
            )
    return [
        evolve(decision, yields=tuple(yields.get(decision.evaluator, ()))) for decision in decisions
    ]


def find_headline(dataset: DatasetFacts, decisions: Sequence[Decision]) -> str | None:
    """Return the key that speaks for a row, or None when no evaluator promises any.

    It is the dataset's own; else that of the evaluator whose rules name the dataset or, less closely, one of its tags;
    else AnswerQuality's ``f1``; else the first evaluator's, those that the user chose before the others.
    """
    wired = [decision for decision in decisions if decision.wired]
    keys = {key for decision in wired for key in decision.keys}
    if dataset.primary is not None:
        prefixed = [d.prefix + dataset.primary for d in wired if dataset.primary in d.scores]
        if dataset.primary in keys or prefixed:
            return dataset.primary if dataset.primary in keys else prefixed[0]
    with_primary = [decision for decision in wired if decision.primary is not None]
    fitting = min(with_primary, key=lambda d: (-d.fit, d.evaluator), default=None)
    if fitting is not None and fitting.fit:
        return fitting.primary
    if FALLBACK_HEADLINE in keys:
        return FALLBACK_HEADLINE
    first = min(with_primary, key=lambda d: (-d.rank, d.evaluator), default=None)
    return first.primary if first is not None else None


def with_headline(plan: DatasetPlan) -> DatasetPlan:
    """Return a plan whose headline is one that its evaluators give."""
    if plan.headline is None or any(plan.headline in decision.keys for decision in plan.wired):
        return plan
    return evolve(plan, headline=find_headline(plan.dataset, plan.decisions))


def check_headline(plan: DatasetPlan, choice: Choice) -> list[str]:
    """Return a warning when a dataset's own headline gives way to another, which the user did not ask for.

    Raises:
        WiringError: Its evaluator is installed and only lacks the user's consent.
    """
    primary = plan.dataset.primary
    if primary is None or any(primary in d.scores for d in plan.wired):
        return []
    able = [decision for decision in plan.decisions if primary in decision.scores]
    for decision in able:
        if decision.consent:
            raise WiringError(
                f"The headline score {primary!r} of {plan.dataset.label} comes from {decision.evaluator}, but "
                f"{decision.reason}. Allow it, or leave it out with --exclude {decision.evaluator}."
            )
    if choice.exact is not None or any(d.component.names & choice.without for d in able):
        return []
    why = (
        "; ".join(f"{d.evaluator} is left out: {d.reason}" for d in able)
        or "no installed evaluator gives it"
    )
    instead = (
        f"the headline is {plan.headline!r} instead" if plan.headline else "there is no headline"
    )
    return [f"The headline score of {plan.dataset.label} is {primary!r}, but {why}; {instead}."]

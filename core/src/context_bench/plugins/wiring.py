"""Wiring: which evaluators score the rows of which dataset, and why.

A plan is made for each dataset label, before the first of its rows is given to a system. It names every evaluator that is
installed, with the rule that chose it or why it was left out, and it is an artefact: printed by ``run --dry-run``,
stored with the run, and lockable.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from context_bench.errors import ConfigurationError, UnknownNameError
from context_bench.plugins.catalog import BLOCKED, OK, PACKAGE_HINT, Catalog, Component
from context_bench.plugins.component_metadata import CAPABILITIES, WireRule
from context_bench.plugins.headline import check_headline, find_headline, settle_keys
from context_bench.plugins.plan import Choice, DatasetFacts, DatasetPlan, Decision

__all__ = [
    "Choice",
    "DatasetFacts",
    "DatasetPlan",
    "Decision",
    "broken_plugins",
    "check_choice",
    "decide_dataset",
    "plan_dataset",
]

_CHOSEN, _SPECIFIC, _ALWAYS = 3, 2, 1


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
        if decision.wired and decision.component is not None:
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
    """Decide about each evaluator by itself, in whatever state it is; conflicts between them are not settled.

    Raises:
        UnknownNameError: The choice names an evaluator that is not installed.
        PluginError: It names one by a contested short name.
    """
    names = choice.also if choice.exact is None else (*choice.exact, *choice.also)
    found = [catalog.find("evaluators", name) for name in names]
    explicit = {component.id: component for component in found}
    return [
        evolve(
            _decide(explicit.get(component.id, component), dataset, choice, component.id in explicit),
            prefix=choice.prefixes.get(component.id, choice.prefixes.get(component.name, "")),
        )
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
            raise ConfigurationError(f"The evaluator {name!r} is both chosen and left out. Decide for one of them.")
        component.require_ok()
    known = [component.name for component in catalog.of_kind("evaluators")]
    for name in choice.without:
        if not any(name in component.names for component in catalog):
            raise UnknownNameError("evaluator", name, known, PACKAGE_HINT)
    for name in choice.prefixes:
        if not catalog.named("evaluators", name):
            raise UnknownNameError("evaluator", name, known, PACKAGE_HINT)
    for name in choice.allowed:
        if name not in CAPABILITIES:
            raise UnknownNameError("capability", name, CAPABILITIES)


def broken_plugins(catalog: Catalog) -> list[str]:
    """Return a line for each distribution with components that cannot be used, and for each contested name.

    What somebody switched off or settled by a preference, and what waits for an optional extra, is not worth a line.
    """
    broken: dict[str, list[Component]] = {}
    contests: dict[tuple[str, str], str] = {}
    for component in catalog:
        if component.rivals:
            if component.outranked_by is None:
                contests.setdefault((component.kind, component.name), f"{component.reason}. {component.cure}")
        elif component.state not in (OK, BLOCKED) and not component.lacks_extra:
            broken.setdefault(component.distribution.name, []).append(component)
    return [*map(_broken_line, broken.values()), *(f"{line[:1].upper()}{line[1:]}" for line in contests.values())]


def _broken_line(components: list[Component]) -> str:
    first = components[0]
    others = f" (and {len(components) - 1} more of {first.distribution.name})" if len(components) > 1 else ""
    return f"{first.id}{others} is {first.state} and unused: {first.reason}. {first.cure}"


def _decide(component: Component, dataset: DatasetFacts, choice: Choice, explicit: bool) -> Decision:
    def out(reason: str, consent: str | None = None) -> Decision:
        return Decision(component.id, False, reason, component=component, consent=consent)

    rules = component.facts.wire if component.facts else ()
    fit = _fit(rules, dataset)
    if component.names & choice.without:
        return out("left out by the user")
    if explicit:
        reason = "added with --also" if choice.exact is None else "chosen with --evaluators"
        return Decision(component.id, True, reason, explicit=True, rank=_CHOSEN, fit=fit, component=component)
    if choice.exact is not None:
        return out("not among the evaluators that were chosen")
    if component.state == BLOCKED or (component.facts is None and component.state != OK):
        return out(f"{component.state}: {component.reason}")
    if component.facts is None:
        return out(f"{_undescribed(component)}, so it is used only when asked for by name")
    if not rules:
        return out("it has no wiring rule; add it with --also")
    rank, matched = _best_match(rules, dataset, choice.given & _own_flags(component))
    if matched is None:
        return out(f"no rule matches; it is wired to {'; '.join(map(str, rules))}")
    if component.outranked_by is not None:
        return out(f"the project prefers {component.outranked_by}; add this one with --also {component.id}")
    needed = frozenset(component.capabilities) - choice.allowed
    if "network" in needed and not matched.startswith("option "):
        return out(f"it calls a network service; allow it with --allow network (rule: {matched})", "network")
    consent = "executes-model-code" if "executes-model-code" in needed else None
    return Decision(component.id, True, matched, rank=rank, fit=fit, component=component, consent=consent)


def _undescribed(component: Component) -> str:
    return "it has no manifest" if component.distribution.manifest_path is None else "its manifest does not describe it"


def _own_flags(component: Component) -> frozenset[str]:
    """Return the flags that a component declares or shares, without dashes: nobody is wired by another's flag."""
    options = component.facts.options.values() if component.facts else ()
    return frozenset(option.flag.removeprefix("--") for option in options if option.flag)


def _best_match(rules: Iterable[WireRule], dataset: DatasetFacts, given: frozenset[str]) -> tuple[int, str | None]:
    matches = [rule.match(dataset.names, dataset.tags, given) for rule in rules]
    best: tuple[int, str | None] = (0, None)
    for matched in filter(None, matches):
        rank = _ALWAYS if matched == "always" else _SPECIFIC
        best = max(best, (rank, matched), key=lambda pair: pair[0])
    return best


def _fit(rules: Iterable[WireRule], dataset: DatasetFacts) -> int:
    by_name = any(name in rule.datasets for rule in rules for name in dataset.names)
    by_tag = any(tag in rule.tags for rule in rules for tag in dataset.tags)
    return 2 if by_name else int(by_tag)

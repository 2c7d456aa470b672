"""The wiring plan: what was decided about every evaluator for a dataset, as values that can be shown, stored and locked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, field, frozen

from context_bench.plugins.catalog import Component
from context_bench.plugins.component_metadata import Facts, Score


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
        loader: Where its rows come from; None where only the label is known.
    """

    label: str
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    primary: str | None = None
    loader: Component | None = field(default=None, eq=False, repr=False)


@frozen
class Decision:
    """What was decided about one evaluator for one dataset.

    Attributes:
        evaluator: Canonical id.
        wired: Whether it scores the rows.
        reason: The rule that chose it, or why it was left out.
        explicit: Whether the user named it.
        rank: How specific the rule is: 3 chosen, 2 by name, tag or option, 1 always, 0 left out.
        fit: How closely its own rules name the dataset, also when the user chose it: 2 by name, 1 by tag, 0 not.
        prefix: What its keys begin with.
        yields: Keys that it leaves to another evaluator in the row's scores.
        component: The evaluator's component; None for an object of the user's.
        consent: Capability that it must not use unless it proves to be isolated.
    """

    evaluator: str
    wired: bool
    reason: str
    explicit: bool = False
    rank: int = 0
    fit: int = 0
    prefix: str = ""
    yields: tuple[str, ...] = ()
    component: Component | None = field(default=None, eq=False, repr=False)
    consent: str | None = None

    @property
    def facts(self) -> Facts | None:
        """What the evaluator's manifest says."""
        return self.component.facts if self.component else None

    @property
    def keys(self) -> list[str]:
        """The keys that the manifest promises, with the prefix."""
        return [self.prefix + key for key in (self.facts.scores if self.facts else ())]

    @property
    def primary(self) -> str | None:
        """The evaluator's own headline, with the prefix."""
        return self.prefix + self.facts.primary if self.facts and self.facts.primary else None


@frozen
class DatasetPlan:
    """The wiring of one dataset.

    Attributes:
        dataset: The dataset.
        decisions: One for each installed evaluator, by canonical id.
        headline: Key of the headline score; None when nothing gives one.
        warnings: What the user should know, a line each.
    """

    dataset: DatasetFacts
    decisions: tuple[Decision, ...]
    headline: str | None
    warnings: tuple[str, ...] = ()

    @property
    def wired(self) -> tuple[Decision, ...]:
        """The decisions that wire an evaluator."""
        return tuple(decision for decision in self.decisions if decision.wired)

    def score(self, key: str) -> Score | None:
        """Return what the manifests say about a key of these rows."""
        for decision in self.wired:
            if decision.facts and key.startswith(decision.prefix) and key not in decision.yields:
                found = decision.facts.scores.get(key[len(decision.prefix) :])
                if found:
                    return found
        return None

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
                    **_origin(decision.component),
                    "keys": decision.keys,
                    "prefix": decision.prefix,
                    "yields": list(decision.yields),
                }
                for decision in self.wired
            },
        }


def _origin(component: Component | None) -> dict[str, str]:
    return {"version": ""} if component is None else {"distribution": component.distribution.name, **component.edition}

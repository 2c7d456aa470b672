"""Plans of labels: which evaluators score the rows of a label, and why. No evaluator is loaded for
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from context_bench.errors import misfit
from context_bench.plan.extensions import ActiveExtension, load_extensions
from context_bench.plan.locked import lock_of
from context_bench.plan.run_config import RunConfig, without_aliases
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.hooks import Hooks
from context_bench.plugins.wiring import (
    DatasetFacts,
    DatasetPlan,
    check_choice,
    decide_dataset,
    plan_dataset,
    with_primary,
)
from context_bench.protocols import Evaluator
from context_bench.records import ANY_KEY
from context_bench.store.rows import Label


class WiringHooks:
    """The hooks of extensions that can change a plan.

    Args:
        hooks: The hooks of a run.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks

    @property
    def adjusts_wiring(self) -> bool:
        """Whether an extension can change which evaluators score a row."""
        return bool(self._hooks["adjust_wiring"])

    def adjust_wiring(self, plan: DatasetPlan) -> DatasetPlan:
        """Return the plan of a dataset as the extensions change it.

        Raises:
            PluginError: What an extension returned is not a plan of this dataset.
        """
        for implementation in self._hooks["adjust_wiring"]:
            adjusted = implementation(plan=plan)
            if adjusted is None:
                continue
            fault = _fault_of_plan(plan, adjusted)
            if fault is not None:
                raise implementation.failure(f"it returned {fault}")
            plan = with_primary(adjusted)
        return plan


def load_wiring_hooks(
    extensions: Iterable[ActiveExtension], warn: Callable[[str], None] | None = None
) -> WiringHooks:
    """Return the hooks of the extensions that may change a plan; no other extension is loaded.

    Raises:
        ContextBenchError: An extension cannot be imported or built.
    """
    may_adjust = [extension for extension in extensions if extension.may_adjust_wiring]
    return WiringHooks(load_extensions(may_adjust, warn))


class WiringPlanner:
    """Makes the plan of each label of a run.

    Args:
        catalog: What is installed.
        request: The configuration of the run; evaluators that are objects score every row.
        hooks: May adjust a plan.
        on_warning: Receives what the user should know.
        is_locked: Whether each plan must equal that of the lock file of the configuration, if it
            names one.
        plans: Plans that are made already, by label.
        flags: Flags of evaluators that count as given, in addition to their options.

    Attributes:
        catalog: As above.
        request: As above, with the names of evaluators instead of their aliases.
        objects: The evaluators that are objects.
        prefixes: Prefixes of the keys of evaluators, by name.
        plans: The plans made so far, by label.
        may_adjust: Whether an extension can change a plan.

    Raises:
        ContextBenchError: An evaluator is unknown, or an object is not an evaluator.
    """

    def __init__(
        self,
        catalog: Catalog,
        request: RunConfig,
        hooks: WiringHooks | None = None,
        on_warning: Callable[[str], None] | None = None,
        *,
        is_locked: bool = False,
        plans: Mapping[str, DatasetPlan] | None = None,
        flags: Iterable[str] = (),
    ) -> None:
        self.catalog = catalog
        request = without_aliases(catalog, request)
        self.request = request
        self.objects = _objects_in(request)
        self.plans: dict[str, DatasetPlan] = dict(plans or {})
        self.warn = on_warning or (lambda line: None)
        self.may_adjust = hooks is not None and hooks.adjusts_wiring
        self._hooks = hooks
        self._lock = lock_of(request) if is_locked else None
        self._facts: dict[str, DatasetFacts] = {}
        self._warned: set[str] = set()
        choice = request.choice(catalog)
        choice = evolve(choice, given=choice.given | {flag.removeprefix("--") for flag in flags})
        self.prefixes = choice.prefixes
        names = {evaluator.name for evaluator in self.objects}
        prefixes = {name: prefix for name, prefix in choice.prefixes.items() if name not in names}
        self._choice = evolve(choice, prefixes=prefixes)
        check_choice(catalog, self._choice)
        for name in request.options:
            if not catalog.named("evaluators", name):
                raise catalog.unknown("evaluators", name)

    def know(self, facts: DatasetFacts) -> None:
        """Add a dataset before the plan of its label is made."""
        self._facts[facts.label] = facts

    def know_stored(self, labels: Iterable[Label]) -> None:
        """Add the labels of a run file."""
        for label in labels:
            plan = label.plan
            self.know(
                DatasetFacts(
                    label=label.dataset,
                    names=tuple(plan["names"]),
                    tags=tuple(plan["tags"]),
                    primary=plan.get("dataset_primary"),
                )
            )

    def plan(self, label: str) -> DatasetPlan:
        """Return the plan of a label.

        Raises:
            ContextBenchError: The evaluators do not fit, one of them cannot be used, or the lock
                file has another plan.
        """
        if label in self.plans:
            return self.plans[label]
        plan = plan_dataset(self.catalog, self._dataset(label), self._choice)
        if self._hooks is not None:
            plan = self._hooks.adjust_wiring(plan)
        if self._lock is not None:
            from context_bench.plugins.lock import check_lock

            check_lock(self._lock, {label: plan.to_dict()})
        for warning in plan.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self.warn(warning)
        self.plans[label] = plan
        return plan

    def undecided_plan(self, facts: DatasetFacts) -> DatasetPlan:
        """Return the decisions about a dataset whose plan has a fault."""
        return DatasetPlan(facts, tuple(decide_dataset(self.catalog, facts, self._choice)), None)

    def possible_keys(self) -> Iterator[str]:
        """Yield the score keys that rows of any label can have; ``*`` where they cannot be
        known."""
        if self.may_adjust:
            yield ANY_KEY
        for evaluator in self.objects:
            component = component_of(self.catalog, "evaluators", evaluator)
            if component is None or not component.evaluator.scores:
                yield ANY_KEY
                continue
            prefix = self.prefixes.get(evaluator.name, "")
            for key in component.evaluator.scores:
                yield prefix + key
        for decision in decide_dataset(self.catalog, DatasetFacts(""), self._choice):
            if decision.wired or (self._choice.exact is None and decision.component.evaluator.wire):
                yield from decision.keys or [ANY_KEY]

    def _dataset(self, label: str) -> DatasetFacts:
        if label in self._facts:
            return self._facts[label]
        described = [
            component.dataset
            for component in self.catalog.named("datasets", label)
            if component.is_described
        ]
        names = (label,) if label else ()
        if len(described) == 1:
            return DatasetFacts(label, names, described[0].tags, described[0].primary)
        return DatasetFacts(label, names)


def _objects_in(request: RunConfig) -> list[Evaluator]:
    """Return the evaluators of a configuration that are objects.

    Raises:
        ConfigurationError: One of them is not an evaluator.
    """
    objects = [item for item in request.evaluators or () if not isinstance(item, str)]
    for item in objects:
        if isinstance(item, type) or not isinstance(item, Evaluator):
            raise misfit(item, "evaluator", "it has no name, which is a text, and score()")
    return objects


def _fault_of_plan(plan: DatasetPlan, adjusted: Any) -> str | None:
    """Return why a plan cannot replace another plan; None where it can."""
    if type(adjusted) is not type(plan):
        return f"{type(adjusted).__name__}, not a plan"
    evaluators = [getattr(decision, "evaluator", None) for decision in adjusted.decisions or ()]
    expected = sorted(decision.evaluator for decision in plan.decisions)
    if adjusted.dataset != plan.dataset or sorted(map(str, evaluators)) != expected:
        return "a plan of another dataset or of other evaluators"
    keys = [key for decision in adjusted.wired for key in decision.keys]
    if adjusted.primary not in (None, plan.primary, *keys):
        score = adjusted.primary
        return f"a plan with the primary score {score!r}, which none of its evaluators gives"
    return None

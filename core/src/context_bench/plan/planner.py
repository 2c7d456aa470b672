"""The wiring of labels: which evaluators score the rows of a label, each set up once, and which metrics are computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from attrs import evolve

from context_bench.errors import (
    ConfigurationError,
    UnstorableError,
    WiringError,
    message_of,
    misfit,
)
from context_bench.plan.builders import fingerprint_of
from context_bench.plan.extensions import ActiveExtension, active_extensions, describe_extensions
from context_bench.plan.run_config import RunConfig
from context_bench.plan.run_hooks import RunHooks
from context_bench.plugins.catalog import Catalog, Component, component_of, edition, singular
from context_bench.plugins.component_metadata import Facts
from context_bench.plugins.loading import unfit
from context_bench.plugins.wiring import (
    DatasetFacts,
    DatasetPlan,
    Decision,
    check_choice,
    decide_dataset,
    plan_dataset,
)
from context_bench.protocols import Evaluator
from context_bench.records import ANY_KEY, KeyMeaning
from context_bench.results.registry import RunMetric, active_metrics, metrics_for
from context_bench.run.model import Effort, LabelWiring, Scorer
from context_bench.store.keys import digest, evaluator_key
from context_bench.store.rows import Label
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.second_pass import Reference

OBJECT_RULE = "given as an object"
"""What stands in place of a wiring rule where ``evaluate()`` was given the evaluator itself."""


def known_extensions(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None] | None = None
) -> list[ActiveExtension]:
    """Return the active extensions of a request that its lock file names, where it has one; nothing is imported.

    Args:
        catalog: What is installed.
        request: The request.
        warn: Receives a line for each extension that is left out because it is not locked.

    Raises:
        ContextBenchError: A requested extension cannot be used or is not locked, or a locked extension has changed.
    """
    active = active_extensions(catalog, request)
    requested = [extension.component.id for extension in active if extension.is_requested]
    left_out = _unlocked(request, "extensions", describe_extensions(active), requested, warn)
    return [extension for extension in active if extension.component.id not in left_out]


def known_metrics(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None] | None = None
) -> tuple[RunConfig, dict[str, dict[str, Any]]]:
    """Return a request without the metrics that its lock does not name, and what is recorded of the others of packages.

    Raises:
        ContextBenchError: A metric is unknown; or it is asked for by name, and not locked.
    """
    active, named = active_metrics(catalog, request.metrics, request.add_metrics, request.exclude)
    told = {one.id: one.version_info for one in active}
    strange = _unlocked(request, "metrics", told, named, warn)
    kept = {name: one for name, one in told.items() if name not in strange}
    return evolve(request, exclude=(*request.exclude, *strange)), kept


def metrics_of(
    catalog: Catalog, request: RunConfig, warn: Callable[[str], None]
) -> list[RunMetric]:
    """Return the metrics of a run, without those that its lock does not name.

    Raises:
        ContextBenchError: One is unknown, cannot be used, is not locked, or has an option that does not fit.
    """
    request, _ = known_metrics(catalog, request, warn)
    names = request.metrics, request.add_metrics, request.exclude
    return metrics_for(catalog, *names, request.score_field, request.threshold)


def _unlocked(
    request: RunConfig,
    kind: str,
    active: Mapping[str, Mapping[str, Any]],
    named: Collection[str],
    warn: Callable[[str], None] | None,
) -> list[str]:
    """Return the ids of active extensions or metrics that the lock file does not name, and warn of each."""
    if request.locked is None:
        return []
    from context_bench.plugins.lock import unlocked

    strange = unlocked(Path(request.locked), kind, active, named)
    for name in strange:
        if warn is not None:
            warn(
                f"The {singular(kind)} {name} is not in {request.locked}, so this locked run does not load it."
            )
    return strange


class Planner:
    """Makes the wiring of each label of a run.

    Args:
        catalog: What is installed.
        request: What the user said about evaluators; those that are objects score every row.
        hooks: May adjust a plan.
        on_warning: Is told what the user should know.
        store: Run file of a run that is resumed: what has a number there keeps it.
        is_locked: Whether each plan must be what the request's lock file says, if it has one.
        reference: Whose responses stand in for gold answers; None without one, or until it is known.
        plans: Plans that are made already, by label.

    Attributes:
        plans: The plans made so far, by label.
        wirings: The wirings made so far, by label.
    """

    def __init__(
        self,
        catalog: Catalog,
        request: RunConfig,
        hooks: RunHooks | None = None,
        on_warning: Callable[[str], None] | None = None,
        store: RunFile | None = None,
        is_locked: bool = False,
        reference: Reference | None = None,
        plans: Mapping[str, DatasetPlan] | None = None,
    ) -> None:
        self._lock = Path(request.locked) if is_locked and request.locked is not None else None
        self._catalog = catalog
        choice = request.choice(catalog)
        self._objects = _objects_in(request)
        own = {evaluator.name for evaluator in self._objects}
        self._choice = evolve(
            choice, prefixes={k: v for k, v in choice.prefixes.items() if k not in own}
        )
        self._object_prefixes = choice.prefixes
        self._request = request
        self._hooks = hooks
        self._may_adjust = hooks is not None and hooks.adjusts_wiring
        self.warn = on_warning or (lambda line: None)
        self.reference = reference
        self._facts: dict[str, DatasetFacts] = {}
        self._ready: dict[str, Scorer] = {}
        self.wirings: dict[str, LabelWiring] = {}
        self.plans: dict[str, DatasetPlan] = dict(plans or {})
        self._warned: set[str] = set()
        self._store = store
        self._evaluator_numbers = (
            {entry["id"]: entry["number"] for entry in store.evaluators()} if store else {}
        )
        self._label_numbers = (
            {label.label: label.number for label in store.labels()} if store else {}
        )
        check_choice(catalog, self._choice)
        for name in request.options:
            if not catalog.named("evaluators", name):
                raise catalog.unknown("evaluators", name)

    @property
    def controllers(self) -> list[tuple[str, Any]]:
        """The evaluators in use that want to know the end of the run, as controllers do, behind what they are called."""
        wanting = [
            one
            for one in self._ready.values()
            if callable(getattr(one.evaluator, "finished", None))
        ]
        return [(f"The evaluator {one.id}", one.evaluator) for one in wanting]

    def possible_keys(self) -> Iterator[str]:
        """Yield the score keys that rows of whatever label can have; ``*`` if nobody can tell."""
        if (
            self._may_adjust or self._store is not None
        ):  # an extension may wire anything, an earlier session has scored
            yield ANY_KEY
        for evaluator in self._objects:
            component, prefix = (
                component_of(self._catalog, "evaluators", evaluator),
                self._object_prefixes,
            )
            scores = component.manifest.scores if component else ()
            yield from [prefix.get(evaluator.name, "") + key for key in scores] or [ANY_KEY]
        for decision in decide_dataset(self._catalog, DatasetFacts(""), self._choice):
            if decision.wired or (self._choice.exact is None and decision.component.manifest.wire):
                yield from decision.keys or [ANY_KEY]

    def know(self, facts: DatasetFacts) -> None:
        """Tell the planner about a dataset before its label is met."""
        self._facts[facts.label] = facts

    def know_stored(self, labels: Iterable[Label]) -> None:
        """Tell the planner about the labels of a run file."""
        for label in labels:
            plan = label.plan
            self.know(
                DatasetFacts(
                    label.dataset, tuple(plan["names"]), tuple(plan["tags"]), plan.get("primary")
                )
            )

    def attach(self, store: RunFile) -> None:
        """Record the wirings made so far, and those still to come, in a run file."""
        self._store = store
        for wiring in self.wirings.values():
            self._record(wiring)

    def plan(self, label: str) -> DatasetPlan:
        """Return the plan of a label; no evaluator is loaded for it.

        Raises:
            ContextBenchError: The evaluators do not fit, or one of them cannot be used.
        """
        if label not in self.plans:
            plan = plan_dataset(self._catalog, self._dataset(label), self._choice)
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
        return self.plans[label]

    def wire(self, label: str) -> LabelWiring:
        """Return the wiring of a label with its evaluators set up, and record it in the run file.

        Raises:
            ContextBenchError: The evaluators do not fit, or one of them cannot be used.
        """
        if label in self.wirings:
            return self.wirings[label]
        if self.reference is not None and (base := self.reference.dataset_of(label)) is not None:
            return self._wired(
                self.reference.agreeing(self.wire(base), _number(self._label_numbers, label))
            )
        plan = self.plan(label)
        scorers = [self._scorer(decision) for decision in plan.wired]
        scorers += [self._object_scorer(evaluator) for evaluator in self._objects]
        owners: dict[str, list[str]] = {}
        for scorer in scorers:
            for key in scorer.keys:
                owners.setdefault(key, []).append(scorer.id)
        for key, names in owners.items():
            if len(names) > 1:
                raise WiringError(
                    f"{' and '.join(names)} both give the score {key!r}. Leave one of them out, or give one a prefix "
                    f"(--score-prefix {names[-1]}=other_)."
                )
        headline = _emitted_headline(self._headline(plan, scorers), plan, scorers)
        record = plan.to_dict() | {"headline": headline}
        for scorer in scorers:
            record["evaluators"].setdefault(scorer.id, dict(scorer.provenance))
        return self._wired(
            LabelWiring(
                _number(self._label_numbers, label), label, tuple(scorers), headline, record
            )
        )

    def _wired(self, wiring: LabelWiring) -> LabelWiring:
        self.wirings[wiring.label] = wiring
        self._record(wiring)
        return wiring

    def _record(self, wiring: LabelWiring) -> None:
        if self._store is None:
            return
        for scorer in wiring.scorers:
            self._store.add_evaluator(scorer.number, scorer.id, scorer.key, scorer.provenance)
        self._store.add_label(
            Label(wiring.number, wiring.label, wiring.headline, wiring.keys, wiring.plan)
        )

    def _dataset(self, label: str) -> DatasetFacts:
        if label in self._facts:
            return self._facts[label]
        found = [
            component for component in self._catalog.named("datasets", label) if component.facts
        ]
        if len(found) == 1 and found[0].facts:
            return DatasetFacts(label, (label,), found[0].facts.tags, found[0].facts.primary)
        return DatasetFacts(label, (label,) if label else ())

    def _scorer(self, decision: Decision) -> Scorer:
        component = decision.component
        if component.id not in self._ready:
            evaluator = component.build(self._request.options_of(component))
            if not isinstance(evaluator, Evaluator):
                raise unfit(component, f"{type(evaluator).__name__} has no name or no score()")
            if decision.consent == "executes-model-code":
                _require_isolation(component, evaluator)
            self._set_up(component.id, evaluator, component)
        return _prefixed(self._ready[component.id], decision.prefix, decision.yields)

    def _object_scorer(self, evaluator: Evaluator) -> Scorer:
        component = component_of(self._catalog, "evaluators", evaluator)
        name = (
            component.id
            if component
            else f"{type(evaluator).__module__}.{type(evaluator).__qualname__}"
        )
        taken = [ready.id for ready in self._ready.values() if ready.evaluator is not evaluator]
        if name in taken:
            name = f"{name}#{evaluator.name}"
            if name in taken:
                raise ConfigurationError(
                    f"Two evaluators are called {name}. Give them different names."
                )
        if name not in self._ready:
            self._set_up(name, evaluator, component)
        return _prefixed(
            self._ready[name], self._object_prefixes.get(evaluator.name, ""), rule=OBJECT_RULE
        )

    def _set_up(self, name: str, evaluator: Evaluator, component: Component | None) -> None:
        facts = component.manifest if component else Facts("evaluators", name)
        version = (
            component.manifest.version if component else str(getattr(evaluator, "version", ""))
        )
        given = getattr(evaluator, "score_keys", None)  # those that it gives with its options
        named = (
            given if isinstance(given, Sequence) and not isinstance(given, str) else facts.scores
        )
        self._ready[name] = Scorer(
            number=_number(self._evaluator_numbers, name),
            id=name,
            evaluator=evaluator,
            key=evaluator_key(name, version, _parameters_of(evaluator, name)),
            needs=facts.needs,
            reads=facts.reads,
            deterministic=facts.deterministic,
            cpu_bound=facts.cpu_bound
            if component
            else bool(getattr(evaluator, "cpu_bound", False)),
            keys={
                key: KeyMeaning(name, score.worst, score.better)
                for key, score in facts.scores.items()
                if key in named
            },
            ranges={key: score.range for key, score in facts.scores.items()},
            provenance={
                "evaluator": name,
                "distribution": component.distribution.name if component else "",
                **(component.version_info if component else edition("")),
            },
        )

    def _headline(self, plan: DatasetPlan, scorers: Sequence[Scorer]) -> str | None:
        if plan.headline is not None or not self._objects:
            return plan.headline
        declared = [key for scorer in scorers for key in scorer.keys]
        if plan.dataset.primary in declared:
            return plan.dataset.primary
        component = component_of(self._catalog, "evaluators", self._objects[0])
        return (
            component.manifest.primary if component else None
        )  # else it is known once it has scored


def _objects_in(request: RunConfig) -> list[Evaluator]:
    """Return the evaluators of a request that are objects.

    Raises:
        ConfigurationError: One of them is no evaluator.
    """
    objects = [one for one in request.evaluators or () if not isinstance(one, str)]
    for one in objects:
        if isinstance(one, type) or not isinstance(one, Evaluator):
            raise misfit(one, "evaluator", "it has no name, which is a text, and score()")
    return objects


def _prefixed(scorer: Scorer, prefix: str, yields: Sequence[str] = (), **told: str) -> Scorer:
    """Return a scorer whose keys begin with a prefix, and which leaves some of them to another one."""
    scorer = scorer.prefixed(prefix)
    return evolve(
        scorer,
        yields=frozenset(yields),
        keys={key: meaning for key, meaning in scorer.keys.items() if key not in yields},
        provenance={**scorer.provenance, **told},
        effort=Effort(),
    )


def _emitted_headline(
    headline: str | None, plan: DatasetPlan, scorers: Sequence[Scorer]
) -> str | None:
    """Return the headline that evaluators with their options give: one of them may state its own in ``primary``.

    Raises:
        WiringError: None of them gives the headline, and the one that should states no other.
    """
    for scorer in scorers:
        if headline is None or headline not in scorer.ranges or headline in scorer.yields:
            continue
        stated = getattr(scorer.evaluator, "primary", None)
        stated = f"{scorer.prefix}{stated}" if isinstance(stated, str) else None
        if stated in scorer.keys and headline != plan.dataset.primary:
            return stated
        if headline not in scorer.keys:
            keys = ", ".join(scorer.keys)
            raise WiringError(
                f"The headline score {headline!r} of {plan.dataset.label or 'this dataset'} is one that {scorer.id} does not "
                f"give with its options: they make it give {keys}. Change the options, or choose other evaluators."
            )
        return headline
    return headline


def _number(numbers: dict[str, int], name: str) -> int:
    return numbers.setdefault(name, max(numbers.values(), default=-1) + 1)


def _require_isolation(component: Component, evaluator: object) -> None:
    isolation = getattr(evaluator, "isolation", None)
    try:
        tier = isolation() if callable(isolation) else None
    except RuntimeError as error:
        raise WiringError(f"{component.id}: {message_of(error)}") from error
    if not tier:
        raise WiringError(
            f"{component.id} would run code that a model wrote, and no isolating sandbox was found here. Allow it with "
            f"--allow executes-model-code, or leave it out with --exclude {component.name}."
        )


def _parameters_of(evaluator: Any, name: str) -> dict[str, Any]:
    """Return every parameter of an evaluator that can change a score.

    Its ``fingerprint()``, else its public attributes. When neither has a written form, a value that never repeats, so
    that its scores are always computed anew.
    """
    parameters = fingerprint_of(evaluator, f"evaluator {name}")
    if parameters is None:
        parameters = {
            k: v for k, v in getattr(evaluator, "__dict__", {}).items() if not k.startswith("_")
        }
    try:
        digest(parameters)
    except (UnstorableError, RecursionError):
        return {"unrepeatable": uuid4().hex}
    return dict(parameters)

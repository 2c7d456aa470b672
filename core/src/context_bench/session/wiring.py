"""The evaluators of a run: each set up once, and wired to the labels whose rows they score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from attrs import evolve

from context_bench.errors import ConfigurationError, UnstorableError, WiringError, message_of
from context_bench.plan.wiring import WiringPlanner
from context_bench.plugins.catalog import component_of
from context_bench.plugins.component import Component, edition_of
from context_bench.plugins.loading import unfit
from context_bench.plugins.manifest import EvaluatorManifest
from context_bench.plugins.wiring import DatasetPlan, Decision
from context_bench.protocols import Evaluator
from context_bench.records import ANY_KEY, KeyMeaning
from context_bench.run.jobs import CpuCost, LabelWiring, Scorer
from context_bench.session.identity import fingerprint_of
from context_bench.store.keys import digest, evaluator_key
from context_bench.store.rows import Label
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.second_pass import Reference


OBJECT_RULE = "given as an object"
"""The rule of evaluators that ``evaluate()`` received as objects."""


class Wiring:
    """The evaluators of a run, wired to its labels.

    Args:
        planner: Makes the plan of each label.
        store: Run file of a run that is resumed: evaluators and labels keep the numbers that they
            have there.
        reference: The system whose responses replace missing gold answers; None without one, or
            until it is known.

    Attributes:
        planner: As above.
        reference: As above.
        by_label: The wirings made so far, by label.
        check_label: Called when a label is wired that was not known before the run: it raises where
            a metric does not fit the scores.
    """

    def __init__(
        self,
        planner: WiringPlanner,
        store: RunFile | None = None,
        reference: Reference | None = None,
    ) -> None:
        self.planner = planner
        self.reference = reference
        self.by_label: dict[str, LabelWiring] = {}
        self._store = store
        self._ready: dict[str, Scorer] = {}
        self._evaluator_numbers: dict[str, int] = {}
        self._label_numbers: dict[str, int] = {}
        self.check_label: Callable[[], None] | None = None
        if store is not None:
            self._evaluator_numbers = {entry["id"]: entry["number"] for entry in store.evaluators()}
            self._label_numbers = {label.label: label.number for label in store.labels()}

    @property
    def finishing(self) -> list[tuple[str, Any]]:
        """The evaluators in use that have a method ``finished``, each with the name that errors
        use."""
        return [
            (f"The evaluator {scorer.id}", scorer.evaluator)
            for scorer in self._ready.values()
            if callable(getattr(scorer.evaluator, "finished", None))
        ]

    def possible_keys(self) -> Iterator[str]:
        """Yield the score keys that rows of any label can have; ``*`` where they cannot be
        known."""
        if self._store is not None:  # an earlier session may have stored any key
            yield ANY_KEY
        yield from self.planner.possible_keys()

    def attach(self, store: RunFile) -> None:
        """Record the wirings made so far, and those still to come, in a run file."""
        self._store = store
        for wiring in self.by_label.values():
            self._record(wiring)

    def wire(self, label: str) -> LabelWiring:
        """Return the wiring of a label with its evaluators set up, and record it in the run file.

        Raises:
            ContextBenchError: The evaluators do not fit, or one of them cannot be used.
        """
        if label in self.by_label:
            return self.by_label[label]
        base = None if self.reference is None else self.reference.dataset_of(label)
        if self.reference is not None and base is not None:
            wiring = self.wire(base)
            number = _number(self._label_numbers, label)
            return self._wired(self.reference.agreeing(wiring, number))
        plan = self.planner.plan(label)
        scorers = [self._scorer(decision) for decision in plan.wired]
        scorers += [self._object_scorer(evaluator) for evaluator in self.planner.objects]
        owners: dict[str, list[str]] = {}
        for scorer in scorers:
            for key in scorer.keys:
                owners.setdefault(key, []).append(scorer.id)
        for key, names in owners.items():
            if len(names) > 1:
                raise WiringError(
                    f"{' and '.join(names)} both give the score {key!r}. Leave one of them out, or "
                    f"give one a prefix (--score-prefix {names[-1]}=other_)."
                )
        primary = _emitted_primary(self._primary(plan, scorers), plan, scorers)
        record = plan.to_dict() | {"primary": primary}
        for scorer in scorers:
            record["evaluators"].setdefault(scorer.id, dict(scorer.provenance))
        wiring = LabelWiring(
            number=_number(self._label_numbers, label),
            label=label,
            scorers=tuple(scorers),
            primary=primary,
            plan=record,
        )
        return self._wired(wiring)

    def _wired(self, wiring: LabelWiring) -> LabelWiring:
        self.by_label[wiring.label] = wiring
        if self.check_label is not None:
            self.check_label()
        self._record(wiring)
        return wiring

    def _record(self, wiring: LabelWiring) -> None:
        if self._store is None:
            return
        for scorer in wiring.scorers:
            self._store.add_evaluator(scorer.number, scorer.id, scorer.key, scorer.provenance)
        label = Label(
            number=wiring.number,
            label=wiring.label,
            primary=wiring.primary,
            keys=wiring.keys,
            plan=wiring.plan,
        )
        self._store.add_label(label)

    def _scorer(self, decision: Decision) -> Scorer:
        component = decision.component
        if component.id not in self._ready:
            options = self.planner.request.options_of(component)
            evaluator = component.build(options)
            if not isinstance(evaluator, Evaluator):
                raise unfit(component, f"{type(evaluator).__name__} has no name or no score()")
            if decision.consent == "executes-model-code":
                _require_isolation(component, evaluator)
            self._set_up(component.id, evaluator, component, options)
        return _prefixed(self._ready[component.id], decision.prefix, decision.yields)

    def _object_scorer(self, evaluator: Evaluator) -> Scorer:
        component = component_of(self.planner.catalog, "evaluators", evaluator)
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
            self._ready[name], self.planner.prefixes.get(evaluator.name, ""), rule=OBJECT_RULE
        )

    def _set_up(
        self,
        name: str,
        evaluator: Evaluator,
        component: Component | None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        facts = component.evaluator if component else EvaluatorManifest(name=name)
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
            key=evaluator_key(name, version, _parameters_of(evaluator, name, options)),
            needs=facts.needs.by_side,
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
                **edition_of(component),
            },
        )

    def _primary(self, plan: DatasetPlan, scorers: Sequence[Scorer]) -> str | None:
        if plan.primary is not None or not self.planner.objects:
            return plan.primary
        declared = [key for scorer in scorers for key in scorer.keys]
        if plan.dataset.primary in declared:
            return plan.dataset.primary
        component = component_of(self.planner.catalog, "evaluators", self.planner.objects[0])
        return (
            component.evaluator.primary if component else None
        )  # else it is known once it has scored


def _prefixed(scorer: Scorer, prefix: str, yields: Sequence[str] = (), **facts: str) -> Scorer:
    """Return a scorer whose keys begin with a prefix, and which leaves some of them to another
    one."""
    scorer = scorer.prefixed(prefix)
    return evolve(
        scorer,
        yields=frozenset(yields),
        keys={key: meaning for key, meaning in scorer.keys.items() if key not in yields},
        provenance={**scorer.provenance, **facts},
        cost=CpuCost(),
    )


def _emitted_primary(
    primary: str | None, plan: DatasetPlan, scorers: Sequence[Scorer]
) -> str | None:
    """Return the primary score that evaluators with their options give: one of them may state its
    own in ``primary``.

    Raises:
        WiringError: None of them gives the primary score, and the one that should states no other.
    """
    for scorer in scorers:
        if primary is None or primary not in scorer.ranges or primary in scorer.yields:
            continue
        stated = getattr(scorer.evaluator, "primary", None)
        stated = f"{scorer.prefix}{stated}" if isinstance(stated, str) else None
        if stated in scorer.keys and primary != plan.dataset.primary:
            return stated
        if primary not in scorer.keys:
            keys = ", ".join(scorer.keys)
            raise WiringError(
                f"The primary score {primary!r} of {plan.dataset.label or 'this dataset'} is one "
                f"that {scorer.id} does not give with its options: they make it give {keys}. "
                "Change the options, or choose other evaluators."
            )
        return primary
    return primary


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
            f"{component.id} would run code that a model wrote, and no isolating sandbox was found "
            "here. Allow it with --allow executes-model-code, or leave it out with --exclude "
            f"{component.name}."
        )


def _parameters_of(evaluator: Any, name: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return every parameter of an evaluator that can change a score.

    Its ``fingerprint()``; else the options that it was built with, and its attributes: the public
    ones of an evaluator with options, all that have a written form of an object. When a public one
    has no written form, a value that never repeats, so that its scores are always computed anew.
    """
    parameters = fingerprint_of(evaluator, f"evaluator {name}")
    if parameters is None:
        attributes = _attributes(evaluator)
        parameters = {k: v for k, v in attributes.items() if not k.startswith("_")}
        if options is None:
            hidden = {k: v for k, v in attributes.items() if k.startswith("_")}
            parameters |= {k: v for k, v in hidden.items() if _has_written_form(v)}
        else:
            parameters["options"] = dict(options)
    if not _has_written_form(parameters):
        return {"unrepeatable": uuid4().hex}
    return dict(parameters)


def _attributes(thing: object) -> dict[str, Any]:
    """Return the attributes of an object, whether it keeps them in a dictionary or in slots."""
    attributes = dict(getattr(thing, "__dict__", {}))
    for cls in type(thing).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(thing, name):
                attributes[name] = getattr(thing, name)
    return attributes


def _has_written_form(value: object) -> bool:
    try:
        digest(value)
    except (UnstorableError, RecursionError):
        return False
    return True

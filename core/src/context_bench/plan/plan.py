"""The plan of a run: what a configuration means with what is installed.

A plan is made in five steps, each a function of its arguments: :func:`plan_systems`,
:func:`plan_datasets`, :func:`plan_wiring`, :func:`plan_metrics` and :func:`plan_keys`. No system,
dataset, evaluator or metric is imported for it; an extension is, where it may change which
evaluators score a row. ``--dry-run``, ``lock`` and a run itself make the same plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from attrs import frozen

from context_bench.errors import ConfigurationError, NothingToCompressError, PluginError
from context_bench.plan.datasets import describe_dataset, find_dataset, has_contexts, without_label
from context_bench.plan.extensions import ActiveExtension, describe_extensions
from context_bench.plan.lock_record import drift_of, lock_record
from context_bench.plan.locked import known_extensions, known_metrics, lock_of
from context_bench.plan.run_config import RunConfig, without_aliases
from context_bench.plan.specs import DatasetSpec, Examples, SystemSpec, specs_in
from context_bench.plan.systems import baseline_of, labels_of, require_labels, with_reader
from context_bench.plan.wiring import WiringHooks, WiringPlanner, load_wiring_hooks
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component
from context_bench.plugins.manifest import TRANSFORMER
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts, DatasetPlan
from context_bench.records import ANY_KEY


@frozen(eq=False)
class PlannedSystem:
    """A system of a run.

    Attributes:
        label: Its label in the run.
        source: Its spec, or the object that ``evaluate()`` received.
        components: The component of each of its steps; none for an object.
        is_baseline: Whether the other systems are compared with it.
    """

    label: str
    source: SystemSpec | object
    components: tuple[Component, ...] = ()
    is_baseline: bool = False


@frozen(eq=False)
class PlannedDataset:
    """A dataset of a run.

    Attributes:
        source: Its spec, or the examples that ``evaluate()`` received.
        component: Its component; None for examples.
        facts: What wiring needs to know of it; None for examples.
        has_one_label: Whether all of its rows have its label; else each row names its dataset.
    """

    source: DatasetSpec | Examples
    component: Component | None = None
    facts: DatasetFacts | None = None
    has_one_label: bool = False


@frozen(eq=False)
class Plan:
    """What a run does.

    Attributes:
        config: The configuration, which is expanded.
        systems: The systems in their order.
        datasets: The datasets in their order.
        extensions: The extensions that are active, in the order of their calls.
        wiring: Which evaluators score the rows of a label, by label.
        metrics: What is recorded of the metrics of packages, by id.
        keys: The score keys that rows of a label can have, by label; ``*`` where an evaluator
            declares none.
        warnings: What the user should know.
    """

    config: RunConfig
    systems: tuple[PlannedSystem, ...]
    datasets: tuple[PlannedDataset, ...]
    extensions: tuple[ActiveExtension, ...]
    wiring: Mapping[str, DatasetPlan]
    metrics: Mapping[str, Mapping[str, Any]]
    keys: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()

    def describe_extensions(self) -> dict[str, dict[str, Any]]:
        """Return what plan, lock file and run file hold of the extensions, by id."""
        return describe_extensions(self.extensions)

    @property
    def is_open(self) -> bool:
        """Whether rows can name a dataset that is not planned, and so wire further evaluators."""
        closed = all(dataset.has_one_label or dataset.facts is None for dataset in self.datasets)
        return self.config.evaluators is None and not closed

    def components(self) -> set[tuple[str, str]]:
        """Return kind and id of the components that the run uses, metrics left out."""
        wired = [decision.component for plan in self.wiring.values() for decision in plan.wired]
        loaders = [dataset.component for dataset in self.datasets if dataset.component is not None]
        used = {(component.kind, component.id) for component in (*wired, *loaders)}
        return used | {("hooks", extension.component.id) for extension in self.extensions}

    def certain_wiring(self) -> dict[str, DatasetPlan]:
        """Return the wiring of the datasets all of whose rows have one label, by label."""
        labels = [
            dataset.facts.label
            for dataset in self.datasets
            if dataset.facts is not None and dataset.has_one_label
        ]
        return {label: self.wiring[label] for label in labels}

    def wiring_record(self) -> dict[str, dict[str, Any]]:
        """Return the wiring as JSON-like values, by label, as a lock file holds it."""
        return {label: plan.to_dict() for label, plan in self.wiring.items()}


def make_plan(catalog: Catalog, config: RunConfig, labels: Sequence[str] = ()) -> Plan:
    """Return the plan of a configuration.

    Args:
        catalog: What is installed.
        config: What the user asked for, expanded.
        labels: Labels beyond those of the datasets, for rows that name their dataset.

    Raises:
        ContextBenchError: A name is unknown, an option does not fit, or evaluators and rows do not
            fit together.
    """
    warnings: list[str] = []
    config = without_aliases(catalog, config)
    extensions = tuple(known_extensions(catalog, config, warnings.append))
    hooks = load_wiring_hooks(extensions, warnings.append)
    systems = plan_systems(catalog, config)
    datasets = plan_datasets(catalog, config.datasets)
    require_contexts(config, systems, datasets)
    wiring = plan_wiring(catalog, config, datasets, labels, hooks=hooks, warn=warnings.append)
    require_modules(datasets, wiring)
    metrics = plan_metrics(catalog, config)
    return Plan(
        config=config,
        systems=systems,
        datasets=datasets,
        extensions=extensions,
        wiring=wiring,
        metrics=metrics,
        keys=plan_keys(wiring),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def plan_systems(catalog: Catalog, config: RunConfig) -> tuple[PlannedSystem, ...]:
    """Return the systems of a configuration, each context transformer followed by the reader.

    Raises:
        ContextBenchError: A name, an option, the baseline or the reference is unknown, a component
            cannot be used, or two systems have one label.
    """
    sources = with_reader(catalog, config.systems, config.reader)
    components = [_components_of(catalog, source) for source in sources]
    labels = labels_of(catalog, sources)
    require_labels(labels, config.baseline, config.reference)
    baseline = baseline_of(labels, config.baseline)
    return tuple(
        PlannedSystem(label, source, steps, is_baseline=label == baseline)
        for label, source, steps in zip(labels, sources, components, strict=True)
    )


def _components_of(catalog: Catalog, source: Any) -> tuple[Component, ...]:
    """Return the component of each step of a system, whose options are checked."""
    components = []
    for step in specs_in(source):
        component = catalog.find("systems", step.name).require_ok()
        components.append(component)
        if component.is_described:
            read_options(
                component.manifest.options,
                step.options,
                f"system {step.name}",
                os.environ,
                accepts_any=component.manifest.extra_options,
            )
    return tuple(components)


def plan_datasets(
    catalog: Catalog, sources: Iterable[DatasetSpec | Examples]
) -> tuple[PlannedDataset, ...]:
    """Return the datasets of specs and examples; no loader is imported.

    Raises:
        ContextBenchError: A name, configuration or split is unknown, a component cannot be used, or
            a dataset is given twice, whose rows would count as independent ones.
    """
    datasets: list[PlannedDataset] = []
    labels: list[str] = []
    specs: list[DatasetSpec] = []
    for source in sources:
        if isinstance(source, DatasetSpec):
            component, spec = find_dataset(catalog, source)
            unlabelled = without_label(spec)
            if unlabelled in specs:
                raise ConfigurationError(
                    f"The dataset {source.name} is given twice. To answer each example several "
                    "times, use --repeat."
                )
            specs.append(unlabelled)
            facts, has_one_label = describe_dataset(component.require_ok(), spec, labels)
            datasets.append(PlannedDataset(spec, component, facts, has_one_label))
            labels.append(facts.label)
        else:
            datasets.append(PlannedDataset(source))
            labels.append(getattr(source, "label", None) or "")
    return tuple(datasets)


def require_contexts(
    config: RunConfig, systems: Iterable[PlannedSystem], datasets: Iterable[PlannedDataset]
) -> None:
    """Check that each context transformer has contexts to change, as far as cards tell.

    Raises:
        NothingToCompressError: The examples of a dataset have no context.
    """
    compressors = [
        system.label
        for system in systems
        if system.components and system.components[0].system.system_kind == TRANSFORMER
    ]
    if not compressors:
        return
    for dataset in datasets:
        spec = dataset.source
        if dataset.component is None or not isinstance(spec, DatasetSpec):
            continue
        if not has_contexts(dataset.component, spec, config):
            raise NothingToCompressError(compressors[0], f"dataset {spec.name!r}")


def plan_wiring(
    catalog: Catalog,
    config: RunConfig,
    datasets: Iterable[PlannedDataset],
    labels: Iterable[str] = (),
    *,
    hooks: WiringHooks | None = None,
    warn: Callable[[str], None] | None = None,
) -> dict[str, DatasetPlan]:
    """Return which evaluators score the rows of each dataset that has a spec, and of further
    labels, by label.

    Raises:
        ContextBenchError: The evaluators do not fit together, or one that is needed cannot be used.
    """
    planner = WiringPlanner(catalog, config, hooks, warn)
    for dataset in datasets:
        if dataset.facts is not None:
            planner.know(dataset.facts)
            planner.plan(dataset.facts.label)
    for label in labels:
        planner.plan(label)
    return planner.plans


def require_modules(datasets: Iterable[PlannedDataset], wiring: Mapping[str, DatasetPlan]) -> None:
    """Check that what a card needs is installed where its own package scores the rows.

    Raises:
        PluginError: A module is missing.
    """
    for dataset in datasets:
        component = dataset.component
        if (
            component is None
            or dataset.facts is None
            or not isinstance(dataset.source, DatasetSpec)
        ):
            continue
        module = component.dataset.of_config("needs_module", dataset.source.config)
        plan = wiring.get(dataset.facts.label)
        if not module or plan is None or find_spec(module) is not None:
            continue
        own = [
            decision.evaluator
            for decision in plan.wired
            if decision.component.distribution.name == component.distribution.name
        ]
        if own:
            raise PluginError(
                f"The evaluator {own[0]!r} needs the module {module!r} for dataset "
                f"{dataset.facts.label!r}: pip install {module}. Or leave the evaluator out: "
                f"--exclude {own[0]}."
            )


def plan_metrics(catalog: Catalog, config: RunConfig) -> dict[str, dict[str, Any]]:
    """Return what is recorded of the metrics of packages that a configuration computes, by id.

    Raises:
        ContextBenchError: A metric is unknown; or it is asked for by name, and not locked.
    """
    return known_metrics(catalog, config)[1]


def plan_keys(wiring: Mapping[str, DatasetPlan]) -> dict[str, tuple[str, ...]]:
    """Return the score keys that rows can have, by label; ``*`` where an evaluator declares
    none."""
    keys = {}
    for label, plan in wiring.items():
        declared = [key for decision in plan.wired for key in decision.keys or (ANY_KEY,)]
        keys[label] = tuple(dict.fromkeys(declared))
    return keys


def check_plan(plan: Plan) -> None:
    """Compare a plan with the lock file that its configuration names, where it names one.

    Labels that rows of a file name are compared when a row has one.

    Raises:
        LockDriftError: They differ.
    """
    lock = lock_of(plan.config)
    if lock is not None:
        from context_bench.plugins.lock import check_lock

        wiring = {label: decided.to_dict() for label, decided in plan.certain_wiring().items()}
        check_lock(lock, wiring, lambda locked: drift_of(locked, lock_record(plan)))

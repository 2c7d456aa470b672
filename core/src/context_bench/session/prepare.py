"""Prepare a planned run: build its systems, open its datasets, set up its evaluators and metrics.
No system is called.

:func:`prepare` does this in named steps, each a function of its arguments: :func:`prepare_config`,
:func:`build_systems`, :func:`find_reference`, :func:`open_datasets` and :func:`check_metrics`. No
step writes the run file, so a run with a fault leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from attrs import frozen

from context_bench.errors import ConfigurationError, MetricError, MissingValueError
from context_bench.plan.extensions import names_conversations
from context_bench.plan.locked import lock_of, metrics_of
from context_bench.plan.plan import Plan, check_plan
from context_bench.plan.run_config import RunConfig
from context_bench.plan.secrets import redact_errors, redactor_of
from context_bench.plan.specs import specs_in
from context_bench.plan.systems import (
    baseline_of,
    labels_of,
    needs_threads,
    require_labels,
    with_reader,
)
from context_bench.plan.wiring import WiringPlanner
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.lock import check_revisions
from context_bench.protocols import SystemSummary, Tokenizer
from context_bench.records import AGREEMENT, ANY_KEY
from context_bench.redaction import Redactor, is_redacted
from context_bench.results.registry import RunMetric
from context_bench.results.summary import check_score_field
from context_bench.run.datasets import RunDataset, gold_among
from context_bench.run.examples import bounded
from context_bench.run.systems import RunSystem, can_converse, endpoint_of, usual_workers
from context_bench.session.datasets import open_dataset
from context_bench.session.hooks import RunHooks, summary_of
from context_bench.session.location import RunLocation, find_earlier
from context_bench.session.systems import build_derived, build_requested
from context_bench.session.tokenizers import tokenizer_of
from context_bench.session.warnings import Warnings
from context_bench.session.wiring import Wiring
from context_bench.store.keys import require_room
from context_bench.store.queries import EarlierResponses
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.second_pass import Reference


@frozen(eq=False)
class PreparedRun:
    """A run that can start: everything that can be wrong before the first example has been checked.

    Attributes:
        run_id: Id of the run.
        config: The configuration, with the systems that extensions make of
            its own.
        recorded: The configuration as the run file stores it.
        systems: The systems in their order, derived ones last.
        datasets: The datasets in their order.
        wiring: The evaluators by label; a label that appears in a stream is added while the run
            goes on.
        metrics: The metrics.
        hooks: The hooks of the run.
        repeat: How often each system is called with each example.
        tokenizer: Counts tokens where an endpoint reports none.
        redactor: Takes the secrets of the run out of texts.
        baseline: Label of the baseline; None without one.
        reference: The system whose responses replace missing gold answers; None without one.
        earlier: Responses of earlier runs that may be reused; None for none.
        max_workers: Calls in flight.
        rows_per_system: Rows of each system; None where the number is not known before the end.
        plans: The plans of labels that the run file of a resumed run contains, by label.
        score_keys: Keys that scores of the run can have; None where they cannot be known.
    """

    run_id: str
    config: RunConfig
    recorded: Mapping[str, Any]
    systems: tuple[RunSystem, ...]
    datasets: tuple[RunDataset, ...]
    wiring: Wiring
    metrics: tuple[RunMetric, ...]
    hooks: RunHooks
    repeat: int
    tokenizer: Tokenizer
    redactor: Redactor
    baseline: str | None
    reference: Reference | None
    earlier: EarlierResponses | None
    max_workers: int
    rows_per_system: int | None
    plans: Mapping[str, Mapping[str, Any]]
    score_keys: Sequence[str] | None

    @property
    def expected_rows(self) -> int | None:
        """The rows of all systems; None where the number is not known before the end."""
        return None if self.rows_per_system is None else self.rows_per_system * len(self.systems)

    @property
    def called_systems(self) -> list[RunSystem]:
        """The systems that are called with examples; the rows of the others are derived."""
        return [system for system in self.systems if system.source is None]

    @property
    def endpoints(self) -> dict[int, str | None]:
        """The endpoint of each system, by its number."""
        return {system.number: endpoint_of(system.system) for system in self.systems}

    def summaries(self) -> list[SystemSummary]:
        """Return what hooks receive of the systems."""
        return [summary_of(system, self.baseline) for system in self.systems]


def prepare(catalog: Catalog, plan: Plan, location: RunLocation, warnings: Warnings) -> PreparedRun:
    """Return a run that can start; its run file is not written yet.

    Args:
        catalog: What is installed.
        plan: The plan.
        location: Where the run is stored.
        warnings: Receives what the user should know.

    Raises:
        ContextBenchError: The configuration has a fault, or something that it needs cannot be used.
    """
    with redact_errors(catalog, plan.config):
        return _prepare(catalog, plan, location, warnings)


def _prepare(
    catalog: Catalog, plan: Plan, location: RunLocation, warnings: Warnings
) -> PreparedRun:
    earlier = find_earlier(plan.config)
    check_plan(plan)
    hooks = RunHooks(catalog, plan.extensions, warnings.warn_from_anywhere)
    config = prepare_config(catalog, plan.config, hooks)
    redactor = redactor_of(catalog, config)
    warnings.redact = redactor.of
    for line in plan.warnings:
        warnings.warn(line)
    plans = _stored_plans(location.store)  # before wiring records new plans
    planner = WiringPlanner(
        catalog,
        config,
        hooks.wiring,
        warnings.warn,
        is_locked=True,
        plans=plan.certain_wiring(),
    )
    wiring = Wiring(planner, location.store)
    run_id = uuid4().hex if location.store is None else str(location.store.run()["id"])
    systems = build_systems(catalog, config, hooks, run_id=run_id, warn=warnings.warn)
    labels = [system.label for system in systems]
    tokenizer = tokenizer_of(catalog, config.tokenizer)
    if location.store is not None:
        require_same_run(location.store, labels, tokenizer)
    reference = find_reference(config, hooks, labels)
    if reference is not None:
        wiring.reference = reference
        systems = reference.described(systems)
        notice = reference.part.notice(reference.label, reference.samples, config.size())
        if location.store is None and notice:
            warnings.warn(notice)
    if names_conversations(catalog, config):
        _check_conversations(hooks, systems)
    datasets = open_datasets(catalog, config, wiring, warnings.warn)
    metrics = metrics_of(catalog, config, warnings.warn)
    score_keys = known_score_keys(wiring, datasets)
    check_metrics(metrics, wiring, score_keys)
    return PreparedRun(
        run_id=run_id,
        config=config,
        recorded=_recorded_config(catalog, plan.config, config, hooks),
        systems=tuple(systems),
        datasets=tuple(datasets),
        wiring=wiring,
        metrics=tuple(metrics),
        hooks=hooks,
        repeat=config.repeat,
        tokenizer=tokenizer,
        redactor=redactor,
        baseline=baseline_of(labels, config.baseline),
        reference=reference,
        earlier=earlier,
        max_workers=_workers(catalog, config, systems),
        rows_per_system=bounded(config.size, config.patience, "the dataset"),
        plans=plans,
        score_keys=score_keys,
    )


def prepare_config(catalog: Catalog, config: RunConfig, hooks: RunHooks) -> RunConfig:
    """Return the configuration with the systems that extensions make of its own.

    Raises:
        ConfigurationError: A dataset is missing, the baseline or the reference is no label of the
            systems, or a secret is missing that was removed when the configuration was stored.
    """
    if hooks.changes_systems:
        config = hooks.prepare_systems(config)
        labels = labels_of(catalog, config.systems, config.reader)
        require_labels(labels, config.baseline, config.reference)
    require_complete(config)
    return config


def require_complete(config: RunConfig) -> None:
    """Check that a configuration has a dataset, and all secrets that are not stored with it.

    Raises:
        MissingValueError: It has no dataset.
        ConfigurationError: A secret is missing.
    """
    if not config.datasets:
        raise MissingValueError(
            "dataset",
            "Pass --dataset NAME (see 'context-bench datasets list'), or give evaluate() an "
            "iterable of examples.",
        )
    sources = (*config.systems, config.reader, *config.datasets)
    options_by_name = [
        (spec.label or spec.name, spec.options) for source in sources for spec in specs_in(source)
    ]
    options_by_name += config.options.items()
    for name, options in options_by_name:
        for key, value in options.items():
            if is_redacted(value):
                raise ConfigurationError(
                    f"The {key} of {name} was given on the command line and is not stored. Set its "
                    "environment variable and run again: run files never contain secrets."
                )


def build_systems(
    catalog: Catalog,
    config: RunConfig,
    hooks: RunHooks,
    run_id: str,
    warn: Callable[[str], None],
) -> list[RunSystem]:
    """Return the systems of a run, those that extensions derive from them last.

    Raises:
        ContextBenchError: A system cannot be built, or there are more than a run can have.
    """
    sources = with_reader(catalog, config.systems, config.reader)
    replace = hooks.replace_systems(warn)
    systems = build_requested(
        catalog, sources, run_id=run_id, baseline=config.baseline, replace=replace
    )
    systems += build_derived(catalog, config, hooks, systems)
    require_room(0, len(systems))
    baseline = baseline_of([system.label for system in systems], config.baseline)
    return hooks.describe_systems(systems, baseline)


def find_reference(config: RunConfig, hooks: RunHooks, labels: Sequence[str]) -> Reference | None:
    """Return the system whose responses replace missing gold answers; None without one.

    Raises:
        ContextBenchError: No extension provides it.
    """
    if config.reference is None:
        return None
    from context_bench.run.second_pass import Reference

    number = labels.index(config.reference)
    return Reference(hooks.answer_source(), config.reference, number, config.repeat)


def open_datasets(
    catalog: Catalog, config: RunConfig, wiring: Wiring, warn: Callable[[str], None]
) -> list[RunDataset]:
    """Return the datasets of a run, and wire those whose rows all have one label.

    Raises:
        ContextBenchError: A dataset cannot be opened, or its evaluators do not fit.
    """
    datasets: list[RunDataset] = []
    for number, source in enumerate(config.datasets):
        used_labels = [dataset.label or dataset.fallback for dataset in datasets]
        dataset, facts = open_dataset(
            catalog, source, number=number, config=config, used_labels=used_labels
        )
        if facts is not None:
            wiring.planner.know(facts)
        for name in gold_among(dataset):
            label = dataset.label or dataset.fallback or "the dataset"
            warn(f"--input {name} shows systems nothing: {name} holds the gold answers of {label}.")
        if dataset.label is not None:
            wiring.wire(dataset.label)
        datasets.append(dataset)
    lock = lock_of(config)
    if lock is not None:
        check_revisions(
            lock,
            {
                dataset.label or dataset.fallback: dataset.description.get("revision")
                for dataset in datasets
            },
        )
    return datasets


def require_same_run(store: RunFile, labels: Sequence[str], tokenizer: Tokenizer) -> None:
    """Check that a run file contains a run of the same systems, whose tokens were counted in the
    same way.

    Raises:
        ConfigurationError: It does not.
    """
    stored_labels = [entry["label"] for entry in store.systems()]
    if stored_labels and stored_labels != labels:
        raise ConfigurationError(
            f"The run file {store.path} holds a run of {', '.join(stored_labels)}, not of "
            f"{', '.join(labels)}. Name another file."
        )
    stored_tokenizer = store.run()["config"].get("tokenizer", tokenizer.name)
    if stored_tokenizer != tokenizer.name:
        raise ConfigurationError(
            f"The run file {store.path} counts tokens with {stored_tokenizer}, not with "
            f"{tokenizer.name}. Name another file."
        )


def known_score_keys(wiring: Wiring, datasets: Sequence[RunDataset]) -> Sequence[str] | None:
    """Return the keys that scores of a run can have; None where they cannot be known before the
    first example."""
    known = [key for label in wiring.by_label.values() for key in label.keys]
    if any(dataset.label is None for dataset in datasets):
        known += wiring.possible_keys()
    if wiring.reference is not None:
        known += [AGREEMENT + key for key in known]
    return None if ANY_KEY in known else tuple(dict.fromkeys(known))


def check_metrics(
    metrics: Sequence[RunMetric], wiring: Wiring, score_keys: Sequence[str] | None
) -> None:
    """Find a misspelt score before the first example, where every key is known by then.

    Raises:
        MetricError: A metric asks for a score that nothing of the run gives, or has a threshold
            that its score cannot have.
    """
    check_thresholds(metrics, wiring)
    wiring.check_label = partial(check_thresholds, metrics, wiring)
    if score_keys is None:
        return
    for metric in metrics:
        check_score_field(metric.metric, (), score_keys)


def check_thresholds(metrics: Sequence[RunMetric], wiring: Wiring) -> None:
    """Refuse a threshold outside the range of the scores that are known so far.

    Raises:
        MetricError: It is outside of each range in which the score is declared.
    """
    for metric in metrics:
        _check_threshold(metric.metric, wiring)


def _check_threshold(metric: Any, wiring: Wiring) -> None:
    """Refuse a threshold outside the range of the score that it is for.

    Raises:
        MetricError: It is outside of each range in which the score is declared.
    """
    threshold = getattr(metric, "threshold", None)
    field = getattr(metric, "score_field", None)
    if not isinstance(threshold, int | float) or field is None:
        return
    declared = {one.id: one for one in wiring.planner.catalog.of_kind("evaluators")}
    outside: set[str] = set()
    for label in wiring.by_label.values():
        key = label.primary if field == "score" else str(field)
        meaning = label.keys.get(key or "")
        component = declared.get(meaning.evaluator) if meaning is not None else None
        scores = component.evaluator.scores if component is not None else {}
        range_ = next((one.range for name, one in scores.items() if str(key).endswith(name)), None)
        low, high = range_ or (None, None)
        if (low is None or low <= threshold) and (high is None or threshold <= high):
            return
        outside.add(f"{key} is from {_end(low)} to {_end(high)}")
    if outside:
        raise MetricError(f"--threshold is {threshold:g}, but {' and '.join(sorted(outside))}.")


def _end(value: float | None) -> str:
    return "any value" if value is None else f"{value:g}"


def _check_conversations(hooks: RunHooks, systems: Sequence[RunSystem]) -> None:
    """Load the extension for conversations, if one of the systems can hold them: a fault is found
    before the first row."""
    for system in systems:
        if can_converse(system.system):
            hooks.drive_conversation(system.system)
            return


def _recorded_config(
    catalog: Catalog, requested: RunConfig, config: RunConfig, hooks: RunHooks
) -> dict[str, Any]:
    """Return the configuration for the run file: extensions will change the systems again when the
    run is resumed."""
    recorded = requested if hooks.changes_systems else config
    return recorded.to_dict(catalog)


def _workers(catalog: Catalog, config: RunConfig, systems: Sequence[RunSystem]) -> int:
    if config.max_workers is not None:
        return config.max_workers
    sources = with_reader(catalog, config.systems, config.reader)
    return usual_workers(systems, needs_threads(catalog, sources))


def _stored_plans(store: RunFile | None) -> dict[str, Mapping[str, Any]]:
    return {} if store is None else {label.label: label.plan for label in store.labels()}

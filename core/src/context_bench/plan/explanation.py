"""Why evaluators score the rows of a dataset or not, for any dataset, file or label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from context_bench.errors import ContextBenchError, PluginError, UnknownNameError, did_you_mean
from context_bench.plan.datasets import describe_dataset, find_dataset
from context_bench.plan.extensions import describe_extensions
from context_bench.plan.locked import known_extensions
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import parse_dataset
from context_bench.plan.wiring import WiringPlanner, load_wiring_hooks
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.wiring import DatasetFacts, DatasetPlan
from context_bench.plugins.wiring_text import Explanation


def explain(
    catalog: Catalog,
    config: RunConfig,
    datasets: Iterable[str],
    tags: Sequence[str] = (),
    flags: Iterable[str] = (),
) -> Explanation:
    """Return which evaluators would score the rows of datasets, and why the others would not.

    The plans are those that :func:`~context_bench.plan.plan.make_plan` makes. A fault that would
    stop a run is part of a plan.

    Args:
        catalog: What is installed.
        config: The configuration.
        datasets: Dataset specs, files, or any labels that rows may have.
        tags: Tags in addition to those of the datasets.
        flags: Flags that would be given in addition to the options of evaluators, such as
            ``judge-url``.

    Raises:
        ContextBenchError: A dataset is not a spec, or a requested component cannot be used.
    """
    extensions = known_extensions(catalog, config)
    planner = WiringPlanner(catalog, config, load_wiring_hooks(extensions), flags=flags)
    plans = tuple(_explain_dataset(planner, dataset, tags) for dataset in datasets)
    return Explanation(plans, describe_extensions(extensions))


def _explain_dataset(planner: WiringPlanner, dataset: str, tags: Sequence[str]) -> DatasetPlan:
    """Return the plan of a dataset, with the first error that would stop a run."""
    facts, warnings, error = _facts_of(planner.catalog, dataset)
    facts = evolve(facts, tags=tuple(dict.fromkeys((*facts.tags, *tags))))
    planner.know(facts)
    try:
        plan = planner.plan(facts.label)
    except ContextBenchError as fault:
        plan = planner.undecided_plan(facts)
        error = error or fault
    return evolve(
        plan,
        error=None if error is None else str(error),
        warnings=(*warnings, *plan.warnings),
    )


def _facts_of(
    catalog: Catalog, dataset: str
) -> tuple[DatasetFacts, list[str], ContextBenchError | None]:
    """Return what wiring needs to know of a dataset, warnings, and why a run could not use the
    dataset."""
    spec = parse_dataset(dataset)
    facts = DatasetFacts(dataset, (dataset,))
    try:
        component, spec = find_dataset(catalog, spec)
        facts, _ = describe_dataset(component, spec, ())
        component.require_ok()
    except PluginError as error:
        return facts, [], error
    except UnknownNameError as error:
        if error.kind != "dataset":
            raise
        warning = f"Unknown dataset {dataset!r}, so it is taken for a label that rows carry."
        hint = did_you_mean(dataset, error.known)
        if hint.startswith("Did"):
            warning += f" {hint}"
        return facts, [warning.rstrip()], None
    return facts, [], None

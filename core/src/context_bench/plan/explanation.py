"""Why evaluators score the rows of a dataset or not, for any dataset, file or label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import evolve

from context_bench.errors import (
    ContextBenchError,
    PluginError,
    UnknownNameError,
    did_you_mean,
)
from context_bench.plan.datasets import describe_dataset, find_dataset
from context_bench.plan.specs import (
    parse_dataset,
)
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.wiring import (
    Choice,
    DatasetFacts,
    DatasetPlan,
    decide_dataset,
    plan_dataset,
)

if TYPE_CHECKING:
    pass


def explained(catalog: Catalog, dataset: str, tags: Iterable[str], choice: Choice) -> DatasetPlan:
    """Return the wiring of a dataset, a file, or any label that rows may carry, whether or not a run could go on.

    Args:
        catalog: What is installed.
        dataset: The dataset.
        tags: Tags beyond its own.
        choice: What the user says about evaluators.

    Raises:
        ContextBenchError: The dataset is no spec, or the choice names what is not installed.
    """
    spec, facts = parse_dataset(dataset), DatasetFacts(dataset, (dataset,))
    warnings, stop = list[str](), list[ContextBenchError]()
    try:
        component, spec = find_dataset(catalog, spec)
        facts, _ = describe_dataset(component, spec, ())
        component.require_ok()
    except PluginError as error:
        stop.append(error)
    except UnknownNameError as error:
        if error.kind != "dataset":
            raise
        hint = did_you_mean(dataset, error.known)
        told = f"Unknown dataset {dataset!r}, so it is taken for a label that rows carry. "
        warnings.append(f"{told}{hint if hint.startswith('Did') else ''}".rstrip())
    facts = evolve(facts, tags=tuple(dict.fromkeys((*facts.tags, *tags))))
    try:
        plan = plan_dataset(catalog, facts, choice)
    except ContextBenchError as error:
        plan = DatasetPlan(facts, tuple(decide_dataset(catalog, facts, choice)), None)
        stop.append(error)
    return evolve(plan, error=str(stop[0]) if stop else None, warnings=(*warnings, *plan.warnings))

"""The wiring of a dataset, told evaluator by evaluator, also where a run would stop."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from context_bench.bench.builders import describe_dataset, find_dataset
from context_bench.bench.specs import parse_dataset
from context_bench.errors import ContextBenchError, PluginError, UnknownNameError, did_you_mean
from context_bench.plugins.catalog import OK, Catalog
from context_bench.plugins.plan import Choice, DatasetFacts, DatasetPlan
from context_bench.plugins.wiring import decide_dataset, plan_dataset


def explain_wiring(catalog: Catalog, dataset: str, tags: tuple[str, ...], choice: Choice) -> dict[str, Any]:
    """Return the wiring of a dataset as JSON-like values.

    Args:
        catalog: What is installed.
        dataset: A dataset spec, a file, or any label that rows may carry.
        tags: Tags beyond those of the dataset.
        choice: What the user says about evaluators.

    Raises:
        ContextBenchError: The dataset is no spec, or the choice names what is not installed.
    """
    warnings: list[str] = []
    facts, stop = _dataset(catalog, dataset, warnings)
    facts = evolve(facts, tags=tuple(dict.fromkeys((*facts.tags, *tags))))
    try:
        plan = plan_dataset(catalog, facts, choice)
    except ContextBenchError as error:
        plan = DatasetPlan(facts, tuple(decide_dataset(catalog, facts, choice)), None)
        stop = stop or error
    report = plan_report(plan)
    return report | {"error": str(stop) if stop else None, "warnings": [*warnings, *report["warnings"]]}


def plan_report(plan: DatasetPlan) -> dict[str, Any]:
    """Return a plan as JSON-like values, every evaluator with its reason."""
    return {
        "dataset": plan.dataset.label,
        "names": list(plan.dataset.names),
        "tags": list(plan.dataset.tags),
        "headline": plan.headline,
        "error": None,
        "evaluators": [
            {
                "evaluator": decision.evaluator,
                "wired": decision.wired,
                "reason": decision.reason,
                "keys": decision.keys,
                "yields": list(decision.yields),
                "needs_isolation": decision.wired and decision.consent == "executes-model-code",
                "state": decision.component.state if decision.component else OK,
                "state_reason": decision.component.reason if decision.component else "",
                "remedy": decision.component.remedy if decision.component else "",
            }
            for decision in sorted(plan.decisions, key=lambda decision: (-decision.rank, decision.evaluator))
        ],
        "warnings": list(plan.warnings),
    }


def _dataset(catalog: Catalog, dataset: str, warnings: list[str]) -> tuple[DatasetFacts, ContextBenchError | None]:
    """Return what wiring needs to know, and why a run on the dataset could not even read it."""
    spec = parse_dataset(dataset)
    facts = DatasetFacts(dataset, (dataset,))
    try:
        component, spec = find_dataset(catalog, spec)
        facts, _ = describe_dataset(component, spec, ())
        component.require_ok()
    except PluginError as error:
        return facts, error
    except UnknownNameError as error:
        if error.kind != "dataset":
            raise
        hint = did_you_mean(dataset, error.known)
        warnings.append(
            f"No dataset is called {dataset!r}, so it is taken for a label that rows carry. "
            f"{hint if hint.startswith('Did') else ''}".rstrip()
        )
    return facts, None

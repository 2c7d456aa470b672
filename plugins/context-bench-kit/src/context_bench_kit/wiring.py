"""``context-bench explain wiring``: which evaluators score the rows of a dataset, and why."""

from __future__ import annotations

from typing import Any

import click

from context_bench.catalog import Catalog
from context_bench.config import RunConfig, run_options
from context_bench.console import echo, warn, write_json


@run_options("wiring", only_wiring=True)
@click.option(
    "--dataset",
    "-d",
    "datasets",
    multiple=True,
    required=True,
    metavar="SPEC",
    help="A dataset, a file, or a label that rows carry; repeatable.",
)
@click.option("--tag", "tags", multiple=True, help="A tag that the dataset would have; repeatable.")
@click.option(
    "--given",
    multiple=True,
    metavar="FLAG",
    help="A flag of the run, such as judge-url; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def wiring(
    *,
    config: RunConfig,
    catalog: Catalog,
    datasets: tuple[str, ...],
    tags: tuple[str, ...],
    given: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show which evaluators score the rows of a dataset, by which rule, and why the others do not.

    Nothing is imported. The exit code is 2 when a run on this dataset would stop.
    """
    told = config.explanation(catalog, datasets, tags, given)
    if as_json:
        write_json(
            {
                plan.dataset.label: {**_described(plan), "extensions": told.extensions}
                for plan in told.plans
            }
        )
    else:
        for line in (line for plan in told.plans for line in plan.warnings):
            warn(line)
        echo("\n".join(told.lines()))
    return 2 if any(plan.error for plan in told.plans) else 0


def _described(plan: Any) -> dict[str, Any]:
    """Return a plan as JSON-like values, every evaluator with its reason."""
    return {
        "dataset": plan.dataset.label,
        "names": list(plan.dataset.names),
        "tags": list(plan.dataset.tags),
        "primary": plan.primary,
        "error": plan.error,
        "evaluators": [
            {
                "evaluator": decision.evaluator,
                "wired": decision.wired,
                "reason": decision.reason,
                "keys": decision.keys,
                "yields": list(decision.yields),
                "needs_isolation": decision.needs_isolation,
                "state": decision.component.state,
                "state_reason": decision.component.reason,
                "remedy": decision.component.remedy,
            }
            for decision in plan.ranked
        ],
        "warnings": list(plan.warnings),
    }

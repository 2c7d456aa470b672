"""``context-bench explain``: why things are as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from context_bench.bench.builders import derived_lines, describe_dataset, find_dataset, oracles
from context_bench.bench.parameters import parse_dataset
from context_bench.bench.project import flags_over, project_request
from context_bench.bench.requests import Request
from context_bench.cli.commands import CommandGroup, json_option, open_catalog, plugin_option, project_option
from context_bench.cli.run import parameters_of
from context_bench.console import say, styled, warn, wrapped, write_json
from context_bench.errors import ContextBenchError, PluginError, UnknownNameError, did_you_mean
from context_bench.plugins.catalog import OK, Catalog
from context_bench.plugins.settings import load_project
from context_bench.plugins.wiring import Choice, DatasetFacts, DatasetPlan, decide_dataset, plan_dataset


@click.group(cls=CommandGroup)
def explain() -> None:
    """Tell why things are as they are."""


@explain.command("wiring")
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
@parameters_of("explain")
@click.option(
    "--given", multiple=True, metavar="FLAG", help="A flag that would be given, such as judge-url; repeatable."
)
@json_option
@plugin_option
@project_option
def wiring(
    datasets: tuple[str, ...],
    tags: tuple[str, ...],
    given: tuple[str, ...],
    as_json: bool,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
    **flags: Any,
) -> int:
    """Tell which evaluators score the rows of a dataset, by which rule, and why the others do not.

    Nothing is imported. The exit code is 2 when a run on this dataset would stop.
    """
    from context_bench.bench.planner import known_hooks

    project = load_project(project_path)
    catalog = open_catalog(plugin_switches, project, flags["without"])
    request = flags_over(project_request(project, catalog), flags)
    choice = request.choice(catalog)
    choice = evolve(choice, given=choice.given | {flag.removeprefix("--") for flag in given})
    reports = [explain_wiring(catalog, dataset, tags, choice) for dataset in datasets]
    active = known_hooks(catalog, request)[1]
    if as_json:
        write_json({report["dataset"]: {**report, "hooks": active} for report in reports})
    else:
        for report in reports:
            _show(report)
        _show_hooks(active)
    return 2 if any(report["error"] for report in reports) else 0


def show_run(catalog: Catalog, request: Request, parts: Mapping[str, Any], plans: Iterable[DatasetPlan]) -> None:
    """Write what a run would use and do: its parts, what is derived, its plans, its hooks, and who reads gold."""
    from context_bench.bench.planner import known_hooks

    for name, part in parts.items():
        options = ", ".join(f"{key}={value}" for key, value in part["options"].items())
        say(f"run part {styled(name, bold=True)}: {part['kind']}{f' ({options})' if options else ''}")
    if any(part["kind"] == "derived-job" for part in parts.values()):
        for line in derived_lines(catalog, request):
            say(line)
    for plan in plans:
        _show(plan_report(plan))
    _show_hooks(known_hooks(catalog, request)[1])
    for name in oracles(catalog, request.systems):
        say(f"{name} reads gold: it is shown the right answers.")


def _show_hooks(hooks: Mapping[str, Mapping[str, Any]]) -> None:
    for name, hook in hooks.items():
        needs = f", with {', '.join(hook['capabilities'])}" if hook["capabilities"] else ""
        version, manifest = hook["distribution_version"], hook["manifest_sha256"][:12] or "none"
        does = ", ".join(hook["implements"]) or "undeclared"
        say(f"hook {styled(name, bold=True)} {version}: {does}{needs} (manifest {manifest})")


def _show(report: dict[str, Any]) -> None:
    dataset = styled(report["dataset"] or "rows without a label", bold=True)
    if report["error"]:
        say(f"{dataset}: {styled('a run would stop', colour='red')}")
        say(wrapped("", report["error"], 2, 0))
    else:
        say(f"{dataset}: headline {report['headline'] or 'none'}")
    for entry in report["evaluators"]:
        mark = styled("+", colour="green") if entry["wired"] else "-"
        state = "" if entry["state"] == OK else styled(f" [{entry['state']}]", colour="red")
        say(f"  {mark} {entry['evaluator']}{state}")
        say(wrapped("", entry["reason"], 6, 0))
        if entry["state_reason"] and entry["state_reason"] not in entry["reason"]:
            say(wrapped("why", entry["state_reason"], 6, 8))
        if entry["remedy"]:
            say(wrapped("remedy", entry["remedy"], 6, 8))
        if entry["wired"] and entry["keys"]:
            say(wrapped("scores", ", ".join(entry["keys"]), 6, 8))
        if entry["needs_isolation"]:
            say(wrapped("only", "in an isolating sandbox, or with --allow executes-model-code", 6, 8))
    for warning in report["warnings"]:
        warn(warning)
    say()


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
                "state": decision.component.state,
                "state_reason": decision.component.reason,
                "remedy": decision.component.remedy,
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

"""``context-bench explain``: why things are as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from context_bench.cli.common import json_option, open_catalog, plugin_option, project_option
from context_bench.cli.groups import CommandGroup
from context_bench.console import say, styled, warn, wrapped, write_json
from context_bench.plugins.catalog import OK
from context_bench.plugins.settings import load_project


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
@click.option("--evaluators", metavar="A,B", help="As in `run`.")
@click.option("--also", multiple=True, metavar="NAME", help="As in `run`.")
@click.option("--without", multiple=True, metavar="NAME", help="As in `run`.")
@click.option("--allow", multiple=True, metavar="CAPABILITY", help="As in `run`.")
@click.option("--prefix", "prefixes", multiple=True, metavar="NAME=PREFIX", help="As in `run`.")
@click.option(
    "--given", multiple=True, metavar="FLAG", help="A flag that would be given, such as judge-url; repeatable."
)
@click.option("--hook", "hooks", multiple=True, metavar="NAME", help="As in `run`.")
@json_option
@plugin_option
@project_option
def wiring(
    datasets: tuple[str, ...],
    tags: tuple[str, ...],
    evaluators: str | None,
    also: tuple[str, ...],
    without: tuple[str, ...],
    allow: tuple[str, ...],
    prefixes: tuple[str, ...],
    given: tuple[str, ...],
    hooks: tuple[str, ...],
    as_json: bool,
    plugin_switches: tuple[str, ...],
    project_path: Path | None,
) -> int:
    """Tell which evaluators score the rows of a dataset, by which rule, and why the others do not.

    Nothing is imported. The exit code is 2 when a run on this dataset would stop.
    """
    from context_bench.bench.parameters import parse_pairs
    from context_bench.bench.wiring_report import explain_wiring
    from context_bench.plugins.hooks import active_hooks, described_hooks
    from context_bench.plugins.plan import Choice

    switches = (*plugin_switches, *(f"no:{name}" for name in without))
    project = load_project(project_path)
    catalog = open_catalog(switches, project)
    run = project.get("run")
    named = [*hooks, *(run.get("hooks") or () if isinstance(run, Mapping) else ())]
    choice = Choice(
        None if evaluators is None else tuple(filter(None, (name.strip() for name in evaluators.split(",")))),
        also,
        frozenset(without),
        frozenset(flag.removeprefix("--") for flag in given),
        frozenset(allow),
        parse_pairs(prefixes, "--prefix"),
    )
    reports = [explain_wiring(catalog, dataset, tags, choice) for dataset in datasets]
    active = described_hooks(active_hooks(catalog, named))
    if as_json:
        write_json({report["dataset"]: {**report, "hooks": active} for report in reports})
    else:
        for report in reports:
            _show(report)
        show_hooks(active)
    return 2 if any(report["error"] for report in reports) else 0


def show_plan(plan: Any) -> None:
    """Write a plan as `explain wiring` does."""
    from context_bench.bench.wiring_report import plan_report

    _show(plan_report(plan))


def show_parts(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Write which run parts a run would use."""
    for name, part in parts.items():
        options = ", ".join(f"{key}={value}" for key, value in part["options"].items())
        say(f"run part {styled(name, bold=True)}: {part['kind']}{f' ({options})' if options else ''}")


def show_hooks(hooks: Mapping[str, Mapping[str, Any]]) -> None:
    """Write which hooks are active in a run."""
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

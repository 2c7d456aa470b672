"""``context-bench run`` and ``lock``: from flags and the project file to a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

import click

from context_bench.bench.project import request_of_flags
from context_bench.bench.requests import PARAMETERS, Request
from context_bench.cli.options import DeclaredOptions, open_catalog, plugin_option, project_option, with_declared_flags
from context_bench.cli.output import Reports, format_option, output_option
from context_bench.console import Screen, say, tell, warn
from context_bench.errors import ConfigurationError, MetricError, RunStoppedError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.settings import LOCK_FILE, load_project


def parameters_of(command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what gives a command the flags of a request's parameters that it takes, as they are declared."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        taken = [one for one in PARAMETERS.values() if one.flags and command in one.commands]
        for one in reversed(taken):
            function = one.click_option()(function)
        return function

    return decorate


set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set anything: evaluators.judge.model=NAME; repeatable.",
)
_lock_file_option = click.option(
    "--lock-file", type=click.Path(path_type=Path, dir_okay=False), help=f"Lock file.  [default: {LOCK_FILE}]"
)
_proxy_options = (
    click.option(
        "--proxy",
        "proxies",
        multiple=True,
        metavar="URL",
        help="An endpoint with the usual chat interface; repeatable.",
    ),
    click.option("--name", "names", multiple=True, metavar="LABEL", help="Label of the proxy in the same place."),
    click.option("--model", metavar="MODEL", help="Model that the proxies are asked for."),
)


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say what is run."""
    own = parameters_of("run" if command.__name__ == "run" else "plan")
    for option in reversed((*_proxy_options, own, set_option, plugin_option, project_option)):
        command = option(command)
    return command


@click.command(cls=DeclaredOptions)
@request_options
@click.option("--dry-run", is_flag=True, help="Show the plan - which evaluators score what, and why - and stop.")
@click.option("--locked", "is_locked", is_flag=True, help="Stop when the wiring differs from the lock file.")
@_lock_file_option
@output_option
@format_option
def run(
    dry_run: bool,
    is_locked: bool,
    lock_file: Path | None,
    outputs: tuple[Path, ...],
    result_format: str,
    **flags: Any,
) -> int:
    """Give a dataset's examples to systems, score what comes back, and show what it adds up to.

    Evaluators are wired from the datasets; `context-bench explain wiring` tells why.
    """
    from context_bench.bench import runs
    from context_bench.bench.builders import derived_lines
    from context_bench.bench.planner import known_hooks, plan
    from context_bench.bench.run_parts import described_parts
    from context_bench.plugins.wiring import broken_plugins

    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["without"])
    lock_path = lock_file or Path(LOCK_FILE) if is_locked else None
    request = request_of(catalog, project, {**flags, "locked": lock_path and str(lock_path)})
    for line in broken_plugins(catalog):
        warn(line)
    parts = described_parts(catalog, request)
    plans = plan(catalog, request, warn if dry_run else None)
    if lock_path is not None and dry_run:
        from context_bench.plugins.lock import check_lock

        check_lock(lock_path, {label: plan.to_dict() for label, plan in plans.items()}, parts=parts)
    if dry_run:
        from context_bench.bench.builders import oracles
        from context_bench.cli.explain import show_hooks, show_parts, show_plan

        show_parts(parts)
        for line in (
            derived_lines(catalog, request) if any(one["kind"] == "derived-job" for one in parts.values()) else ()
        ):
            say(line)
        for one in plans.values():
            show_plan(one)
        show_hooks(known_hooks(catalog, request)[1])
        for name in oracles(catalog, request.systems):
            say(f"{name} reads gold: it is shown the right answers.")
        return 0
    reports = Reports(catalog, outputs, result_format, flags)
    path = runs.run_path(request)
    try:
        with redirect_stdout(cast("TextIO", Screen(aside=True))):  # which is for results, whatever plugins print
            result = runs.run(catalog, request, path, on_warning=warn)
    except RunStoppedError as error:
        return stopped(error)
    except MetricError as error:
        tell(f"Error: {error}")
        if path.exists():
            tell(f"The run is complete: context-bench report {path} --score-field KEY")
        return error.exit_code
    from context_bench.cli.output import after_run

    reports.write(result)
    tell(f"Run file: {path}")
    code = failed_share(result, path) or result.config.get("exit_code", 0)
    return after_run(catalog, result, flags) or code


@click.command(cls=DeclaredOptions)
@request_options
@_lock_file_option
@click.option("--label", "labels", multiple=True, help="Lock a label that rows carry too; repeatable.")
def lock(lock_file: Path | None, labels: tuple[str, ...], **flags: Any) -> None:
    """Write down which evaluators score which dataset, so that `run --locked` notices any change."""
    from context_bench.bench.planner import known_hooks, known_metrics, plan
    from context_bench.bench.run_parts import described_parts
    from context_bench.plugins.lock import write_lock

    project = load_project(flags["project_path"])
    catalog = open_catalog(flags["plugin_switches"], project, flags["without"])
    request = request_of(catalog, project, flags)
    if not request.datasets and not labels:
        raise ConfigurationError("There is no dataset to lock. Name one with --dataset, or a label with --label.")
    plans = plan(catalog, request, warn, labels)
    path = lock_file or Path(LOCK_FILE)
    write_lock(
        path,
        {label: one.to_dict() for label, one in plans.items()},
        parts=described_parts(catalog, request),
        hooks=known_hooks(catalog, request)[1],
        metrics=known_metrics(catalog, request)[1],
    )
    say(f"Locked {', '.join(plans)} in {path}.")


def stopped(error: RunStoppedError) -> int:
    """Tell why a run ended early and how to go on, and return its exit code."""
    tell(f"Error: {error}" if error.exit_code not in (0, 10) else str(error))
    if error.path:
        tell(f"What was finished is kept. Go on with: context-bench resume {error.path}")
    return error.exit_code


def failed_share(result: Any, path: Path) -> int:
    """Say how many rows failed and why, and return exit code 12 when they are more than may."""
    allowed = result.config["request"].get("max_failed")
    allowed = PARAMETERS["max_failed"].usual if allowed is None else allowed
    rows = sum(values.get("num_rows", 0) for values in result.summary.values())
    failed = sum(values.get("num_failed", 0) for values in result.summary.values())
    if not failed:
        return 0
    share = 100 * failed / rows
    shown = f"{share:.1f}" if share >= 0.1 else f"{share:.1g}"
    tell(f"{failed:.0f} of {rows:.0f} rows failed ({shown} %) and count as wrong.")
    from context_bench.bench.reading import failure_causes

    for cause in failure_causes(path):
        tell(f"  {cause}")
    if share > 100 * allowed:
        tell(f"That is more than --max-failed {100 * allowed:g} allows.")
        return 12
    return 0


def request_of(catalog: Catalog, project: Mapping[str, Any], flags: Mapping[str, Any]) -> Request:
    """Return what the project file and the flags of :func:`request_options` ask for."""
    request = request_of_flags(catalog, project, flags)
    return with_declared_flags(catalog, request, flags)  # type: ignore[no-any-return]

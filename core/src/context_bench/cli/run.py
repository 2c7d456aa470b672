"""``context-bench run`` and ``lock``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_bench.cli.declared_options import RunOptions
from context_bench.cli.reports import Reports, after_run, exit_code_of_run, report_options
from context_bench.cli.run_options import (
    lock_file_option,
    request_options,
    requested_config,
    require_used,
)
from context_bench.console import echo, echo_err, stdout_aside, warn
from context_bench.errors import MissingValueError, UnusedOptionError
from context_bench.plan.run_config import require_sample
from context_bench.plan.systems import oracles
from context_bench.plugins.catalog import Catalog, broken_plugins
from context_bench.plugins.settings import LOCK_FILE
from context_bench.plugins.wiring_text import Explanation
from context_bench.session.systems import describe_derived

if TYPE_CHECKING:
    from context_bench.plan.plan import Plan


@click.command(cls=RunOptions)
@request_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the plan - which evaluators score what, and why - and stop.",
)
@click.option(
    "--locked", "is_locked", is_flag=True, help="Stop when the wiring differs from the lock file."
)
@lock_file_option
@click.option(
    "--store",
    metavar="ADDRESS",
    help="Keep the run in a store of a package, such as postgresql://HOST/DATABASE; --run-file "
    "names it.",
)
@report_options
def run(
    dry_run: bool, is_locked: bool, lock_file: Path | None, store: str | None, **flags: Any
) -> int:
    """Give a dataset's examples to systems, score what comes back, and show what it adds up to.

    Evaluators are wired from the datasets; `context-bench explain wiring` tells why.
    """
    from context_bench.plan.plan import check_plan, make_plan
    from context_bench.session.location import run_path
    from context_bench.session.run import run as run_plan
    from context_bench.session.stores import address_of, new_run

    if lock_file is not None and not is_locked:
        raise UnusedOptionError(f"--lock-file {lock_file}", "--locked")
    lock_path = lock_file or Path(LOCK_FILE) if is_locked else None
    catalog, config = requested_config(flags, locked=lock_path and str(lock_path))
    require_sample(config)
    plan = make_plan(catalog, config)
    for line in broken_plugins(catalog):  # after the plan, which refuses those that are needed
        warn(line)
    path = run_path(config)
    if store is not None:
        path = new_run(store, path.name.removesuffix(".sqlite"))
    used_files: list[Any] = [path]
    for dataset in config.datasets:
        used_files += (dataset.name, dataset.options.get("path"))
    reports = Reports(catalog, flags, used_files)
    require_used(catalog, plan, flags, reports.used)
    if dry_run:
        for line in plan.warnings:
            warn(line)
        check_plan(plan)
        _show(catalog, plan)
        return 0
    with stdout_aside():
        result = run_plan(catalog, plan, path, on_warning=warn)
    try:
        reports.write(result)
    finally:
        kept = address_of(path)
        echo_err(f"Run file: {path}" if kept == str(path) else f"Run: {kept}")
    code = exit_code_of_run(result, path)
    return after_run(catalog, result, flags) or code


def _show(catalog: Catalog, plan: Plan) -> None:
    """Write a plan: its derived systems, wiring and extensions, and the systems that read gold."""
    extensions = plan.describe_extensions()
    if any("derived_systems" in extension["implements"] for extension in extensions.values()):
        for line in describe_derived(catalog, plan.config):
            echo(line)
    echo("\n".join(Explanation(tuple(plan.wiring.values()), extensions).lines()))
    for name in oracles(catalog, plan.config.systems):
        echo(f"{name} reads gold: it is shown the right answers.")


@click.command(cls=RunOptions)
@request_options
@lock_file_option
@click.option(
    "--label", "labels", multiple=True, help="Lock a label that rows carry too; repeatable."
)
def lock(lock_file: Path | None, labels: tuple[str, ...], **flags: Any) -> None:
    """Write down which evaluators score which dataset, so that `run --locked` notices any
    change."""
    from context_bench.plan.lock_record import lock_record
    from context_bench.plan.plan import make_plan
    from context_bench.plan.specs import DatasetSpec
    from context_bench.plugins.lock import write_lock
    from context_bench.session.datasets import find_revisions

    catalog, config = requested_config(flags)
    require_sample(config)
    if not config.datasets and not labels:
        raise MissingValueError("dataset", "Pass --dataset NAME, or --label LABEL.")
    plan = make_plan(catalog, config, labels)
    for line in plan.warnings:
        warn(line)
    require_used(catalog, plan, flags)
    specs = [source for source in plan.config.datasets if isinstance(source, DatasetSpec)]
    path = lock_file or Path(LOCK_FILE)
    write_lock(
        path,
        plan.wiring_record(),
        extensions=plan.describe_extensions(),
        metrics=plan.metrics,
        revisions=find_revisions(catalog, specs, warn),
        **lock_record(plan),
    )
    echo(f"Locked {', '.join(plan.wiring)} in {path}.")

"""Run a plan, resume a run, and the run that ``evaluate()`` asks for: each prepares a run and
executes a session of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from context_bench.errors import ContextBenchError, StoreError, message_of
from context_bench.plan.plan import Plan, make_plan
from context_bench.plan.run_config import RunConfig, absent, require_sample
from context_bench.plan.secrets import redact_errors
from context_bench.plan.specs import specs_in
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.settings import PluginSettings
from context_bench.results.result import EvalResult
from context_bench.run.datasets import RunDataset
from context_bench.session.location import RunLocation, location_of
from context_bench.session.prepare import prepare
from context_bench.session.session import RunSession
from context_bench.session.stores import address_of, session_of
from context_bench.session.trust import require_trust, source_of
from context_bench.session.warnings import Warnings, issue_warning
from context_bench.store.reader import RunReader, raising_store_errors
from context_bench.store.runfile import RunFile


def run(
    catalog: Catalog,
    plan: Plan,
    path: Path,
    *,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Execute a plan into a new run file.

    Args:
        catalog: What is installed.
        plan: The plan.
        path: Where the run file is written.
        on_warning: Receives what the user should know, on any thread.

    Raises:
        ContextBenchError: Something is wrong with the configuration.
        RunStoppedError: The run stopped early and can be resumed.
    """
    return _execute(catalog, plan, RunLocation(path), Warnings(on_warning))


def resume(
    catalog: Catalog,
    path: Path,
    *,
    change: Callable[[RunConfig], RunConfig] = lambda config: config,
    is_trusted: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Finish the run of a run file: answered rows are not called again, failed rows are.

    Args:
        catalog: What is installed.
        path: The run file; nothing else is needed.
        change: Changes limits for the rest of the run, such as ``max_cost``.
        is_trusted: Whether the user trusts a run file that this installation did not write.
        on_warning: As for :func:`run`.

    Raises:
        StoreError: The file is not a run file, or was written by ``evaluate()`` with objects that
            cannot be stored.
        UntrustedFileError: This installation did not write the file, and the user did not say
            that it is trusted.
        ContextBenchError: Something that the run needs is not there any more.
        RunStoppedError: The run stopped early again.
    """
    with closing(RunReader(path)) as reader:  # nothing is locked, written or built before
        config = _stored_config(reader, path)
        source = source_of(reader, is_trusted=is_trusted)
        require_trust("resume", source, path, catalog=catalog, config=config)
    store = RunFile.open(path, session_of(path))
    config = change(config)
    warnings = Warnings(on_warning)
    location = RunLocation(path, store)
    try:
        with redact_errors(catalog, config):
            plan = make_plan(catalog, config)
        prepared = prepare(catalog, plan, location, warnings)
        _warn_of_changed_datasets(store, prepared.datasets, warnings.warn)
        return RunSession(catalog, prepared, location, warnings).execute()
    except ContextBenchError as error:
        error.args = (f"{message_of(error)}{_missing_file_hint(path, config, message_of(error))}",)
        raise


def evaluate_request(arguments: Mapping[str, Any]) -> EvalResult:
    """Run what the arguments of :func:`~context_bench.session.evaluate.evaluate` ask for.

    Args:
        arguments: The arguments by name.
    """
    from context_bench.plan.expansion import expanded
    from context_bench.plan.project import request_of_arguments
    from context_bench.plugins.catalog_cache import remembered_catalog

    run_file = arguments["run_file"]
    if isinstance(run_file, str) and "://" in run_file:
        from context_bench.session.store_addresses import local_copy

        arguments = {**arguments, "run_file": local_copy(run_file, may_be_new=True)}
    on_warning = arguments["on_warning"]
    warnings = Warnings(on_warning or issue_warning, on_one_thread=on_warning is None)
    settings = PluginSettings.read(environ=os.environ)
    catalog = remembered_catalog(settings)
    settings.require_known(catalog)
    config = request_of_arguments(catalog, arguments)
    require_sample(config)
    if config.evaluators is None:
        from context_bench.plugins.catalog import broken_plugins

        for line in broken_plugins(catalog):
            warnings.warn(line)
    with redact_errors(catalog, config):
        plan = make_plan(catalog, expanded(catalog, config))
    result = _execute(catalog, plan, location_of(config), warnings)
    warnings.catch_up()  # on the caller's thread
    return result


def _execute(catalog: Catalog, plan: Plan, location: RunLocation, warnings: Warnings) -> EvalResult:
    prepared = prepare(catalog, plan, location, warnings)
    return RunSession(catalog, prepared, location, warnings).execute()


def _stored_config(store: RunReader, path: Path) -> RunConfig:
    """Return the configuration that a run file contains.

    Raises:
        StoreError: It had objects that cannot be stored.
    """
    advice = f"Call evaluate() again with run_file={address_of(path)!r} and the same arguments."
    recorded = store.run()["config"]
    if "systems" not in recorded:
        raise StoreError(
            f"{path} was written by evaluate() with objects that cannot be stored. {advice}"
        )
    with raising_store_errors(path):
        config = RunConfig.from_dict(recorded)
    objects = [f"the {part} {item}" for part, item in absent(config)]
    if objects:
        raise StoreError(
            f"{path} was written by evaluate() with objects that cannot be stored: "
            f"{', '.join(objects)}. {advice}"
        )
    return config


def _missing_file_hint(path: Path, config: RunConfig, message: str) -> str:
    """Return where to resume a run that names a relative path which does not exist here; empty
    where none helps."""
    sources = (*config.systems, config.reader, *config.datasets)
    specs = [spec for source in sources for spec in specs_in(source)]
    names = {str(text) for spec in specs for text in (spec.name, *spec.options.values())}
    missing = sorted(name for name in names if _is_missing_file(name))
    for folder in Path(os.path.realpath(path)).parents:
        for name in missing:
            if os.path.exists(folder / name):
                return f" {name} lies in {folder}: resume the run from there."
    for name in missing:
        suffix = os.path.splitext(name)[1]
        if name in message and suffix[1:].isalpha():  # not the version of a model
            return (
                f" {name} is relative to the folder in which the run was started: "
                "resume the run from there."
            )
    return ""


def _is_missing_file(name: str) -> bool:
    """Return whether a text could be a relative path of a file that does not exist."""
    return "." in name and "://" not in name and name[0] not in "/~" and not os.path.exists(name)


def _warn_of_changed_datasets(
    store: RunFile, datasets: Iterable[RunDataset], warn: Callable[[str], None]
) -> None:
    """Warn of each dataset that has another source or revision than when the run started."""
    descriptions = {entry["number"]: entry["description"] for entry in store.datasets()}
    for dataset in datasets:
        description = descriptions.get(dataset.number, {})
        for name in ("source", "revision"):
            earlier = description.get(name)
            current = dataset.description.get(name)
            if earlier is not None and earlier != current:
                label = dataset.label or dataset.fallback
                warn(
                    f"Dataset {label!r} has changed since the run began (another {name}): examples "
                    "that differ are asked again."
                )

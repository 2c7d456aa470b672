"""Runs of requests: planned, begun in a new run file, or finished in an old one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from attrs import frozen

from context_bench import __version__
from context_bench.bench.builders import (
    baseline_of,
    describe_dataset,
    find_dataset,
    make_slots,
    make_stream,
    needs_threads,
    unpriced,
    with_reader,
)
from context_bench.bench.planner import Planner
from context_bench.bench.requests import Request
from context_bench.bench.run import Session, now
from context_bench.bench.secrets import is_redacted, secrecy_of
from context_bench.bench.specs import DatasetSpec
from context_bench.errors import ConfigurationError, StoreError
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.hooks import Hooks
from context_bench.plugins.lock import check_lock
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts, DatasetPlan
from context_bench.protocols import Metric
from context_bench.results import EvalResult
from context_bench.runner.admission import usual_workers
from context_bench.runner.agreement import asked_twice, find_reference
from context_bench.runner.parts import Stream
from context_bench.runner.progress import Progress
from context_bench.secrecy import Secrecy
from context_bench.store.reuse import EarlierResponses, run_files
from context_bench.store.runfile import RunFile


def plan(
    catalog: Catalog, request: Request, on_warning: Callable[[str], None] | None = None, labels: Iterable[str] = ()
) -> dict[str, DatasetPlan]:
    """Return the wiring plan of each dataset of a request, and of further labels, by label; only hooks are loaded.

    Raises:
        ContextBenchError: A name is unknown, or the evaluators do not fit.
    """
    planner = Planner(catalog, request.choice(catalog), (), request.options, os.environ, Hooks(catalog), on_warning)
    for system in with_reader(catalog, request.systems, request.reader):
        for step in (system, *system.steps):
            component = catalog.find("systems", step.name).require_ok()
            if component.facts is not None:
                declared, more = component.facts.options, component.facts.more_options
                read_options(declared, step.options, f"system {step.name}", os.environ, more=more)
    for spec in request.datasets:
        component, _ = find_dataset(catalog, spec)
        component.require_ok()
        facts = dataset_facts(catalog, spec, list(planner.plans))
        planner.know(facts)
        planner.plan(facts.label)
    for label in labels:
        planner.plan(label)
    return dict(planner.plans)


def dataset_facts(catalog: Catalog, spec: DatasetSpec, taken: list[str]) -> DatasetFacts:
    """Return what wiring needs to know of a dataset, without loading its loader."""
    component, spec = find_dataset(catalog, spec)
    return describe_dataset(component, spec, taken)[0]


def run(
    catalog: Catalog,
    request: Request,
    path: Path,
    *,
    reuse: tuple[Path, ...] = (),
    provenance: Mapping[str, Any] | None = None,
    locked: Path | None = None,
    progress: bool = True,
    log_format: str = "text",
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Run a request into a new run file.

    Args:
        catalog: What is installed.
        request: What to run.
        path: Where the run file is written.
        reuse: Run files, or folders of them, whose responses are taken where their key matches.
        provenance: What is recorded about the surroundings.
        locked: Lock file that the wiring of every label must match, those first met in the stream included.
        progress: Whether to show progress on standard error.
        log_format: How progress is told where there is no terminal: ``"text"`` or ``"json"``.
        on_warning: Is told what the user should know.

    Raises:
        ContextBenchError: Something is wrong with the request.
        RunStoppedError: The run ended early and can be resumed.
    """
    hooks = Hooks(catalog)
    told: list[str] = []
    warn = _telling(told, on_warning)
    session = _prepare(catalog, request, uuid4().hex, hooks, warn, progress, None, locked, log_format)
    earlier = EarlierResponses(run_files(reuse)) if reuse else None
    recorded = request.to_dict(catalog) | ({"locked": str(locked)} if locked else {})
    store = RunFile.create(path, session.run_id, now(), recorded, {"context_bench": __version__, **(provenance or {})})
    return session.start(store, {"request": recorded, "run_file": str(path)}, earlier, told, warn)


def resume(
    catalog: Catalog,
    path: Path,
    *,
    progress: bool = True,
    log_format: str = "text",
    change: Callable[[Request], Request] = lambda request: request,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Finish the run of a run file: rows that are answered are not asked again, failed ones are.

    Args:
        catalog: What is installed.
        path: The run file; nothing else is needed.
        progress, log_format, on_warning: As for :func:`run`.
        change: Changes limits for the rest of the run, such as ``max_cost``.

    Raises:
        StoreError: The file is no run file, or was written by ``evaluate()``, which must be called again instead.
        ContextBenchError: Something that the run needs is not there any more.
        RunStoppedError: The run ended early again.
    """
    store = RunFile.open(path)
    recorded = store.run()
    if "systems" not in recorded["config"]:
        raise StoreError(
            f"{path} was written by evaluate(), which holds objects that no file can keep. Call evaluate() again with "
            f"run_file={str(path)!r} and the same arguments."
        )
    request = change(Request.from_dict(recorded["config"]))
    _check_secrets(catalog, request)
    told: list[str] = []
    locked = recorded["config"].get("locked")
    warn = _telling(told, on_warning)
    session = _prepare(
        catalog,
        request,
        recorded["id"],
        Hooks(catalog),
        warn,
        progress,
        store,
        Path(locked) if locked else None,
        log_format,
    )
    _check_origins(store, session.streams, warn)
    return session.start(store, {"request": recorded["config"], "run_file": str(path)}, None, told, warn)


@frozen(eq=False)
class _Prepared:
    run_id: str
    request: Request
    slots: Any
    streams: Any
    planner: Planner
    hooks: Hooks
    progress: Progress | None
    workers: int
    secrecy: Secrecy
    metrics: list[Metric]

    def start(
        self,
        store: RunFile,
        config: Mapping[str, Any],
        earlier: EarlierResponses | None,
        warnings: list[str],
        warn: Callable[[str], None],
    ) -> EvalResult:
        self.planner.attach(store)
        request = self.request
        session = Session(
            store=store,
            slots=self.slots,
            streams=self.streams,
            planner=self.planner,
            hooks=self.hooks,
            metrics=self.metrics,
            max_workers=self.workers,
            samples=request.samples,
            score_field=request.score_field,
            threshold=request.threshold,
            config=config,
            progress=self.progress,
            earlier=earlier,
            keep_bodies=request.keep_examples,
            deadline=request.deadline,
            requests_per_minute=request.requests_per_minute,
            tokens_per_minute=request.tokens_per_minute,
            max_cost=request.max_cost,
            prices=request.price_table(),
            reference=find_reference(self.slots, request.reference, request.samples),
            max_failed=request.max_failed,
            order=request.order,
            expected=request.rows_at_most(len(self.slots)),
            secrecy=self.secrecy,
            on_warning=warn,
            baseline=baseline_of([slot.label for slot in self.slots], request.baseline),
        )
        return session.run(warnings)


def _prepare(
    catalog: Catalog,
    request: Request,
    run_id: str,
    hooks: Hooks,
    warn: Callable[[str], None],
    progress: bool,
    store: RunFile | None = None,
    locked: Path | None = None,
    log_format: str = "text",
) -> _Prepared:
    if not request.datasets:
        raise ConfigurationError(
            "There is no dataset. Name one with --dataset: `context-bench datasets list` shows them."
        )

    def check(plan: DatasetPlan) -> None:
        if locked is not None:
            check_lock(locked, {plan.dataset.label: plan.to_dict()})

    planner = Planner(catalog, request.choice(catalog), (), request.options, os.environ, hooks, warn, store, check)
    metrics = request.metrics_of(catalog)
    systems = with_reader(catalog, request.systems, request.reader)
    slots = make_slots(
        catalog,
        systems,
        run_id,
        os.environ,
        request.baseline,
        request.price_table(),
        request.reference,
        request.samples,
        warn if request.isolate_prefixes else None,
    )
    for line in unpriced(slots, request.price_table()):
        warn(line)
    reference = find_reference(slots, request.reference, request.samples)
    if reference is not None:
        planner.refer(reference)
        cost = asked_twice(reference, request.rows_at_most(1))
        if cost is not None and store is None:
            warn(cost)
    streams: list[Stream] = []
    for number, spec in enumerate(request.datasets):
        taken = [stream.label or stream.fallback for stream in streams]
        stream, facts = make_stream(catalog, spec, number, request.limit, os.environ, taken, request.selection())
        planner.know(facts)
        if stream.label is not None:
            planner.wire(stream.label)
        streams.append(stream)
    workers = request.max_workers or usual_workers(slots, needs_threads(catalog, systems))
    total = request.rows_at_most(1)
    shown = Progress(slots, total, log_format=log_format) if progress else None
    secrecy = secrecy_of(catalog, systems, request.datasets, request.options, os.environ)
    return _Prepared(run_id, request, slots, streams, planner, hooks, shown, workers, secrecy, metrics)


def _check_origins(store: RunFile, streams: Iterable[Stream], warn: Callable[[str], None]) -> None:
    """Tell of datasets that are not in the edition any more which the run began with."""
    before = {entry["number"]: entry["description"] for entry in store.datasets()}
    for stream in streams:
        was, now_is = before.get(stream.number, {}), stream.description
        for name in ("source", "revision"):
            old, new = was.get(name), now_is.get(name)
            if old is not None and old != new:
                warn(
                    f"Dataset {stream.label or stream.fallback!r} has changed since the run began (another {name}): examples "
                    "that differ are asked again."
                )


def _telling(told: list[str], on_warning: Callable[[str], None] | None) -> Callable[[str], None]:
    def warn(line: str) -> None:
        told.append(line)
        if on_warning is not None:
            on_warning(line)

    return warn


def _check_secrets(catalog: Catalog, request: Request) -> None:
    systems = [*request.systems, *([request.reader] if request.reader else [])]
    given = [(spec.label or spec.name, spec.options) for system in systems for spec in (system, *system.steps)]
    given += [(spec.label or spec.name, spec.options) for spec in request.datasets]
    given += list(request.options.items())
    for name, options in given:
        for key, value in options.items():
            if is_redacted(value):
                raise ConfigurationError(
                    f"The {key} of {name} was given on the command line and is not kept. Put it into its environment "
                    "variable and run again: run files never hold secrets."
                )

"""Preparation: a request becomes a run. It is the only way to one, whoever asks.

Everything that can be found wrong before the first example is found here, before a run file is made: a run that could not
begin leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from context_bench.bench.baseline import settled
from context_bench.bench.builders import (
    build_system,
    describe_dataset,
    describe_examples,
    find_dataset,
    make_slots,
    make_stream,
    needs_threads,
    tokenizer_of,
    with_reader,
)
from context_bench.bench.entries import Examples, secrecy_of
from context_bench.bench.identity import system_identity, system_sees
from context_bench.bench.parameters import DatasetSpec, SystemSpec
from context_bench.bench.planner import Planner
from context_bench.bench.requests import Request
from context_bench.bench.run import Run, Warnings, check_metrics
from context_bench.bench.run_parts import RunParts, described_parts, load_parts
from context_bench.errors import ConfigurationError
from context_bench.metrics.registry import active_metrics
from context_bench.plugins.catalog import Catalog, Component
from context_bench.plugins.hooks import Hooks, active_hooks, described_hooks
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts, DatasetPlan
from context_bench.protocols import Tokenizer
from context_bench.runner.parts import Slot, Stream
from context_bench.runner.selection import INPUT, bounded, gold_among
from context_bench.runner.systems import close_systems, max_tokens_of, model_of, usual_workers
from context_bench.secrecy import is_redacted
from context_bench.store.keys import chain_key, system_key
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.runner.progress import Progress


@frozen
class Place:
    """Where a run is kept.

    Attributes:
        run_id: Id of the run.
        create: Makes the run file with what is recorded about the request, or opens it again.
        store: The run file of a run that goes on; None for a new one.
        owner: Kept alive with the result.
    """

    run_id: str
    create: Callable[[Mapping[str, Any]], RunFile]
    store: RunFile | None = None
    owner: object = None


def plan(
    catalog: Catalog, request: Request, on_warning: Callable[[str], None] | None = None, labels: Iterable[str] = ()
) -> dict[str, DatasetPlan]:
    """Return the wiring plan of each dataset of a request, and of further labels, by label; only hooks that may change it are
    loaded.

    Raises:
        ContextBenchError: A name is unknown, or the evaluators do not fit.
    """
    request = settled(catalog, request)
    hooks = wiring_hooks(catalog, request, on_warning)
    planner = Planner(catalog, request, hooks, on_warning)
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


def wiring_hooks(
    catalog: Catalog, request: Request, warn: Callable[[str], None] | None, *, is_locked: bool = True
) -> Hooks:
    """Return those of the active hooks that do more than watch a run, loaded: the others have nothing to do where none is."""
    active = known_hooks(catalog, request, warn, is_locked=is_locked)[0]
    return Hooks([one for one in active if one.facts is None or not one.facts.only_watches], warn)


def known_metrics(
    catalog: Catalog, request: Request, warn: Callable[[str], None] | None = None
) -> tuple[Request, dict[str, dict[str, Any]]]:
    """Return a request without the metrics that its lock does not name, and what is recorded of the others of packages.

    Raises:
        ContextBenchError: A metric is unknown; or it is asked for by name, and not locked.
    """
    active, named = active_metrics(catalog, request.metrics, request.also_metrics, request.without)
    told = {name: {k: v for k, v in one.items() if k in _IDENTITY} for name, one in described_hooks(active).items()}
    if request.locked is None:
        return request, told
    from context_bench.plugins.lock import unlocked

    strange = unlocked(Path(request.locked), "metrics", told, named)
    if strange and warn is not None:
        are = "is" if len(strange) == 1 else "are"
        warn(f"{' and '.join(strange)} {are} not in {request.locked}, so this locked run does not load such a metric.")
    kept = {name: one for name, one in told.items() if name not in strange}
    return evolve(request, without=(*request.without, *strange)), kept


_IDENTITY = ("version", "distribution_version", "manifest_sha256")


def known_hooks(
    catalog: Catalog, request: Request, warn: Callable[[str], None] | None = None, is_locked: bool = True
) -> tuple[list[Component], dict[str, dict[str, Any]]]:
    """Return the active hooks of a request, and what is recorded of them; nothing is imported.

    Args:
        catalog: What is installed.
        request: The request.
        warn: Is told of hooks that are left out.
        is_locked: Whether the lock file counts, if there is one: then there are no others than those.

    Raises:
        ContextBenchError: A hook that is named cannot be used, or is not locked.
    """
    active = active_hooks(catalog, request.hooks)
    if is_locked and request.locked is not None:
        from context_bench.plugins.lock import unlocked

        named = {catalog.find("hooks", name).id for name in request.hooks}
        for name in unlocked(Path(request.locked), "hooks", described_hooks(active), named):
            active = [component for component in active if component.id != name]
            if warn is not None:
                warn(f"The hook {name} is not in {request.locked}, so this locked run does not load it.")
    return active, described_hooks(active)


def dataset_facts(catalog: Catalog, spec: DatasetSpec, taken: list[str]) -> DatasetFacts:
    """Return what wiring needs to know of a dataset, without loading its loader."""
    component, spec = find_dataset(catalog, spec)
    return describe_dataset(component, spec, taken)[0]


def prepare(catalog: Catalog, request: Request, place: Place, warnings: Warnings) -> Run:
    """Return the run of a request, everything that it needs set up.

    Args:
        catalog: What is installed.
        request: What to run.
        place: Where the run is kept.
        warnings: Is told what the user should know.

    Raises:
        ContextBenchError: Something is wrong with the request, or something that it needs is not there.
    """
    if request.locked is not None:
        from context_bench.plugins.lock import check_lock

        check_lock(Path(request.locked), {}, parts=described_parts(catalog, request))
    parts = load_parts(catalog, request)
    kept = request
    request = settled(catalog, parts.prepared(request))
    _require_everything(request)
    active, described = known_hooks(catalog, request, warnings.warn_from_anywhere)
    hooks = Hooks(active, warnings.warn_from_anywhere)
    planner = _planner(catalog, request, hooks, place, warnings)
    systems = with_reader(catalog, request.systems, request.reader)
    slots = parts.described_slots(_slots(catalog, request, systems, place, warnings, parts))
    reference = request.reference_among(slots, parts.answer_source)
    if reference is not None:
        slots = reference.described(slots)
        planner.reference = reference
        notice = reference.part.notice(reference.label, reference.samples, request.size())
        if place.store is None and notice:
            warnings.warn(notice)
    streams = _streams(catalog, request, planner)
    secrecy = secrecy_of(catalog, request)
    tokenizer = tokenizer_of(catalog, request.tokenizer)
    if place.store is not None:
        _check_tokenizer(place.store, tokenizer)
    metrics = known_metrics(catalog, request, warnings.warn)[0].metrics_of(catalog)
    check_metrics(metrics, planner, streams)
    size = bounded(request.size, request.patience, "the dataset")
    recorded = (settled(catalog, kept) if parts.preparers else request).to_dict(catalog)
    store = place.create(recorded)
    planner.attach(store)
    return Run(
        request=request,
        store=store,
        slots=slots,
        streams=streams,
        planner=planner,
        hooks=hooks,
        described_hooks=described,
        parts=parts,
        metrics=metrics,
        warnings=warnings,
        tokenizer=tokenizer,
        secrecy=secrecy,
        workers=request.max_workers or usual_workers(slots, needs_threads(catalog, systems)),
        grows=request.max_workers is None,
        reference=reference,
        progress=_progress(request, slots, size),
        expected=None if size is None else size * len(slots),
        config={"request": recorded, "run_file": "" if place.owner is not None else str(store.path)},
        owner=place.owner,
    )


def _planner(catalog: Catalog, request: Request, hooks: Hooks, place: Place, warnings: Warnings) -> Planner:
    def check(plan: DatasetPlan) -> None:
        if request.locked is not None:
            from context_bench.plugins.lock import check_lock

            check_lock(Path(request.locked), {plan.dataset.label: plan.to_dict()})

    return Planner(catalog, request, hooks, warnings.warn, place.store, check)


def derived_slots(catalog: Catalog, request: Request, parts: RunParts, slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots that derived jobs add to those of a run.

    Raises:
        ContextBenchError: A label is taken, a reader is missing, or the examples are not kept.
    """
    found = parts.derived(slots)
    if not found:
        return []
    request.require_examples(f"{found[0][0].name} derives rows from the run file")
    from context_bench.runner.stored_jobs import DerivedSystem

    numbers = {slot.label: slot.number for slot in slots}
    made = []
    for number, (part, one) in enumerate(found, len(slots)):
        if one.is_read and not isinstance(request.reader, SystemSpec):
            raise ConfigurationError(f"{part.name} has a reader answer. Name it with --reader.")
        reader = build_system(catalog, request.reader) if one.is_read and request.reader else None
        keys: list[bytes] = [system_key(part.name, "", one.key)]
        described: dict[str, Any] = {}
        if reader is not None:
            key, _, described = system_identity(catalog, reader, "", number)
            keys.append(key)
        told = {"label": one.label, "derived": {"by": part.name, "from": one.source_label, **one.key}, **described}
        system = DerivedSystem(one, reader)
        model, sees = model_of(system), system_sees(catalog, reader) if reader else INPUT
        most = max_tokens_of(system)
        source = numbers[one.source_label]
        made.append(
            Slot(number, one.label, system, chain_key(keys), False, None, told, True, model, most, sees, source)
        )
    return made


def derived_lines(catalog: Catalog, request: Request) -> list[str]:
    """Return a line for each slot that is derived in a run of a request, with the calls that it makes; systems are set up.

    Raises:
        ContextBenchError: Something that the request needs is not there.
    """
    parts = load_parts(catalog, request)
    request = settled(catalog, parts.prepared(request))
    slots = make_slots(catalog, with_reader(catalog, request.systems, request.reader), "")
    size = request.size()
    calls = "a call a row" if size is None else f"{size} calls"
    lines = []
    for slot in derived_slots(catalog, request, parts, slots):
        asked = "no call" if slot.model is None else f"{calls} to {slot.model}"
        lines.append(f"{slot.label}: derived from {slots[slot.source or 0].label}, {asked}")
    close_systems(slots)
    return lines


def _slots(
    catalog: Catalog, request: Request, systems: list[Any], place: Place, warnings: Warnings, parts: RunParts
) -> list[Slot]:
    slots = make_slots(catalog, systems, place.run_id, request.baseline, parts.rebuilder(warnings.warn))
    slots += derived_slots(catalog, request, parts, slots)
    before = [entry["label"] for entry in place.store.systems()] if place.store is not None else []
    labels = [slot.label for slot in slots]
    if place.store is not None and before and before != labels:
        raise ConfigurationError(
            f"The run file {place.store.path} holds a run of {', '.join(before)}, not of {', '.join(labels)}. Name another "
            "file."
        )
    return slots


def _streams(catalog: Catalog, request: Request, planner: Planner) -> list[Stream]:
    streams: list[Stream] = []
    for number, dataset in enumerate(request.datasets):
        if isinstance(dataset, Examples):
            examples = dataset.source if request.limit is None else islice(dataset.source, request.limit)
            name = f"dataset {dataset.label!r}" if dataset.label else "the dataset"
            told = partial(describe_examples, dataset.label, dataset.source)
            described = bounded(told, request.patience, name)
            stream = Stream(number, dataset.label, examples, "", described, request.selection())
        else:
            taken = [stream.label or stream.fallback for stream in streams]
            stream, facts = make_stream(catalog, dataset, number, request, taken)
            planner.know(facts)
        stream = evolve(stream, more_inputs=request.inputs)
        for name in gold_among(stream):
            where = stream.label or stream.fallback or "the dataset"
            planner.warn(f"--input {name} shows systems nothing: {name} holds the gold answers of {where}.")
        if stream.label is not None:
            planner.wire(stream.label)
        streams.append(stream)
    return streams


def _progress(request: Request, slots: list[Slot], size: int | None) -> Progress | None:
    if not request.progress:
        return None
    from context_bench.runner.progress import Progress

    return Progress(slots, size, log_format=request.log_format)


def _check_tokenizer(store: RunFile, tokenizer: Tokenizer) -> None:
    """Refuse to go on with a run whose tokens were counted otherwise."""
    before = store.run()["config"].get("tokenizer", tokenizer.name)
    if before != tokenizer.name:
        raise ConfigurationError(
            f"The run file {store.path} counts tokens with {before}, not with {tokenizer.name}. Name another file."
        )


def _require_everything(request: Request) -> None:
    """Refuse a request that lacks a dataset, or a secret that was taken out when it was kept."""
    if not request.datasets:
        raise ConfigurationError(
            "There is no dataset. Name one with --dataset (`context-bench datasets list` shows them), or give evaluate() an "
            "iterable of examples."
        )
    systems = [*request.systems, *([request.reader] if request.reader else [])]
    specs: list[Any] = [step for one in systems if isinstance(one, SystemSpec) for step in (one, *one.steps)]
    specs += [one for one in request.datasets if isinstance(one, DatasetSpec)]
    given = [(spec.label or spec.name, spec.options) for spec in specs]
    for name, options in [*given, *request.options.items()]:
        for key, value in options.items():
            if is_redacted(value):
                raise ConfigurationError(
                    f"The {key} of {name} was given on the command line and is not kept. Put it into its environment "
                    "variable and run again: run files never hold secrets."
                )

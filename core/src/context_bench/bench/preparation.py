"""Preparation: a request becomes a run. It is the only way to one, whoever asks.

Everything that can be found wrong before the first example is found here, before a run file is made: a run that could not
begin leaves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from context_bench.bench.entries import Examples
from context_bench.bench.identity import system_identity, system_sees
from context_bench.bench.planner import Planner
from context_bench.bench.requests import Request
from context_bench.bench.run import Run, Warnings, check_metrics
from context_bench.bench.run_parts import RunParts, described_parts, load_parts
from context_bench.bench.secrets import is_redacted, secrecy_of
from context_bench.bench.specs import DatasetSpec, SystemSpec
from context_bench.errors import ConfigurationError
from context_bench.plugins.catalog import Catalog, Component
from context_bench.plugins.hooks import Hooks, active_hooks, described_hooks
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts, DatasetPlan
from context_bench.protocols import Evaluator
from context_bench.runner.admission import close_systems, max_tokens_of, model_of, usual_workers
from context_bench.runner.parts import Slot, Stream
from context_bench.runner.sight import INPUT
from context_bench.store.keys import chain_key, system_key
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.runner.agreement import Reference
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
    """Return the wiring plan of each dataset of a request, and of further labels, by label; only hooks are loaded.

    Raises:
        ContextBenchError: A name is unknown, or the evaluators do not fit.
    """
    request = settled(catalog, request)
    hooks = hooks_of(catalog, request, on_warning)[0]
    planner = Planner(catalog, request.choice(catalog), (), request.options, os.environ, hooks, on_warning)
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


def hooks_of(
    catalog: Catalog, request: Request, warn: Callable[[str], None] | None
) -> tuple[Hooks, dict[str, dict[str, Any]]]:
    """Return the active hooks of a request, loaded, and what is recorded of them; a locked run loads no others.

    Raises:
        ContextBenchError: A hook that is named cannot be used, or is not locked.
    """
    active, described = known_hooks(catalog, request, warn)
    return Hooks(active, warn), described


def known_hooks(
    catalog: Catalog, request: Request, warn: Callable[[str], None] | None = None
) -> tuple[list[Component], dict[str, dict[str, Any]]]:
    """Return the active hooks of a request, and what is recorded of them; nothing is imported."""
    active = active_hooks(catalog, request.hooks)
    if request.locked is not None:
        from context_bench.plugins.lock import unlocked_hooks

        named = {catalog.find("hooks", name).id for name in request.hooks}
        for name in unlocked_hooks(Path(request.locked), described_hooks(active), named):
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
    parts = load_parts(catalog, request, os.environ)
    kept = request
    request = settled(catalog, parts.prepared(request))
    _require_everything(request)
    hooks, described = hooks_of(catalog, request, warnings.warn_from_anywhere)
    planner = _planner(catalog, request, hooks, place, warnings)
    systems = with_reader(catalog, request.systems, request.reader)
    slots = parts.described_slots(_slots(catalog, request, systems, place, warnings, parts))
    reference = _reference(request, slots, place, planner, warnings)
    streams = _streams(catalog, request, planner)
    secrecy = secrecy_of(catalog, systems, request.datasets, request.options, os.environ)
    tokenizer = tokenizer_of(catalog, request.tokenizer)
    metrics = request.metrics_of(catalog)
    check_metrics(metrics, planner, streams)
    size = request.size()
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


def sorted_evaluators(request: Request) -> list[Evaluator]:
    """Return the evaluators of a request that are objects.

    Raises:
        ConfigurationError: One of them is no evaluator.
    """
    objects = [one for one in request.evaluators or () if not isinstance(one, str)]
    for one in objects:
        if isinstance(one, type) or not isinstance(one, Evaluator):
            raise ConfigurationError(
                f"{one!r} is no evaluator: it has no name and score(). A class must be called first."
            )
    return objects


def _planner(catalog: Catalog, request: Request, hooks: Hooks, place: Place, warnings: Warnings) -> Planner:
    def check(plan: DatasetPlan) -> None:
        if request.locked is not None:
            from context_bench.plugins.lock import check_lock

            check_lock(Path(request.locked), {plan.dataset.label: plan.to_dict()})

    return Planner(
        catalog,
        request.choice(catalog),
        sorted_evaluators(request),
        request.options,
        os.environ,
        hooks,
        warnings.warn,
        place.store,
        check,
    )


def derived_slots(catalog: Catalog, request: Request, parts: RunParts, slots: Sequence[Slot]) -> list[Slot]:
    """Return the slots that derived jobs add to those of a run.

    Raises:
        ContextBenchError: A label is taken, a reader is missing, or the examples are not kept.
    """
    found = parts.derived(slots)
    if not found:
        return []
    request.require_examples(f"{found[0][0].name} derives rows from the run file")
    from context_bench.runner.derived import DerivedSystem

    numbers = {slot.label: slot.number for slot in slots}
    made = []
    for number, (part, one) in enumerate(found, len(slots)):
        if one.is_read and not isinstance(request.reader, SystemSpec):
            raise ConfigurationError(f"{part.name} has a reader answer. Name it with --reader.")
        reader = build_system(catalog, request.reader, os.environ) if one.is_read and request.reader else None
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
    parts = load_parts(catalog, request, os.environ)
    request = settled(catalog, parts.prepared(request))
    slots = make_slots(catalog, with_reader(catalog, request.systems, request.reader), "", os.environ)
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
    slots = make_slots(
        catalog,
        systems,
        place.run_id,
        os.environ,
        request.baseline,
        request.reference,
        request.samples,
        parts.rebuilder(warnings.warn),
    )
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
            described = describe_examples(dataset.label, dataset.source)
            stream = Stream(number, dataset.label, examples, "", described, request.selection())
        else:
            taken = [stream.label or stream.fallback for stream in streams]
            stream, facts = make_stream(catalog, dataset, number, request.limit, os.environ, taken, request.selection())
            planner.know(facts)
        stream = evolve(stream, more_inputs=request.inputs)
        if stream.label is not None:
            planner.wire(stream.label)
        streams.append(stream)
    return streams


def _reference(
    request: Request, slots: Sequence[Slot], place: Place, planner: Planner, warnings: Warnings
) -> Reference | None:
    """Return the reference of a run, told to the planner, and to the user what it will be asked."""
    if request.reference is None:
        return None
    from context_bench.runner.agreement import asked_twice, find_reference

    reference = find_reference(slots, request.reference, request.samples)
    if reference is not None:
        planner.refer(reference.label)
        cost = asked_twice(reference, request.size())
        if cost is not None and place.store is None:
            warnings.warn(cost)
    return reference


def _progress(request: Request, slots: list[Slot], size: int | None) -> Progress | None:
    if not request.progress:
        return None
    from context_bench.runner.progress import Progress

    return Progress(slots, size, log_format=request.log_format)


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

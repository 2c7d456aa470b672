"""Build the systems of a run from specs and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.errors import (
    ConfigurationError,
    MissingValueError,
)
from context_bench.plan.secrets import redact_errors
from context_bench.plan.specs import (
    SystemSpec,
)
from context_bench.plan.systems import (
    as_system,
    as_transformer,
    labels_of,
    reaches_out,
    with_reader,
)
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.loading import unfit
from context_bench.protocols import BuiltSystem, System
from context_bench.results.pairing import held_against
from context_bench.run.model import (
    EVERYTHING,
    INPUT,
    Chain,
    RunSystem,
    close_systems,
    max_tokens_of,
    model_of,
    steps_of_system,
)
from context_bench.session.identity import system_identity, system_reads, system_sees
from context_bench.store.keys import chain_key, system_key

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig
    from context_bench.session.hooks import RunHooks


def build_system(catalog: Catalog, spec: SystemSpec) -> System:
    """Return the system of a spec, its steps chained.

    Raises:
        ContextBenchError: A name or option is unknown, or the system cannot be set up.
    """
    component = catalog.find("systems", spec.name)
    system = as_transformer(component.build(spec.options))
    if not isinstance(system, System):
        raise unfit(component, f"{type(system).__name__} has no name or no process()")
    return (
        system
        if not spec.steps
        else Chain([system, *(build_system(catalog, step) for step in spec.steps)])
    )


def make_slots(
    catalog: Catalog,
    systems: Sequence[SystemSpec | Any],
    run: str,
    baseline: str | None = None,
    rebuilt: Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None = None,
) -> list[RunSystem]:
    """Return a slot for each system; labels are made unique where the specs allow it.

    Args:
        catalog: What is installed.
        systems: The systems as they were asked for.
        run: Id of the run.
        baseline: Label of the system that the others are held against.
        rebuilt: Returns what is asked in place of the systems; None leaves them as they are.

    Raises:
        ConfigurationError: There is no system, two have one label, or one has neither ``process`` nor can be called.
    """
    if not systems:
        raise MissingValueError("system", "Pass --system NAME (see 'context-bench systems list').")
    labels = labels_of(catalog, systems)
    built = [
        build_system(catalog, one) if isinstance(one, SystemSpec) else as_system(one)
        for one in systems
    ]
    if rebuilt is not None:
        keys = [
            system_identity(catalog, system, run, number)[0] for number, system in enumerate(built)
        ]
        told = [
            BuiltSystem(one, key, _may_ask(catalog, one))
            for one, key in zip(built, keys, strict=True)
        ]
        built = list(rebuilt(told))
    slots = []
    for number, (asked, system, label) in enumerate(zip(systems, built, labels, strict=True)):
        key, shared, identity = system_identity(catalog, system, run, number)
        owned = isinstance(asked, SystemSpec)
        sees = system_sees(catalog, system) if owned else EVERYTHING
        traits = {"baseline": label == baseline, "reads_gold": owned and sees == EVERYTHING}
        description = {
            "label": label,
            **identity,
            **{trait: True for trait, is_so in traits.items() if is_so},
        }
        reads, model, most = system_reads(catalog, system), model_of(system), max_tokens_of(system)
        slots.append(
            RunSystem(
                number, label, system, key, shared, reads, description, owned, model, most, sees
            )
        )
    for number, other in held_against(
        labels, baseline, [slot.description for slot in slots]
    ).items():
        slots[number] = evolve(
            slots[number], description={**slots[number].description, "held_against": other}
        )
    return slots


def derived_slots(
    catalog: Catalog, request: RunConfig, hooks: RunHooks, slots: Sequence[RunSystem]
) -> list[RunSystem]:
    """Return the slots that extensions add to those of a run.

    Raises:
        ContextBenchError: A label is taken, a reader is missing, or the examples are not kept.
    """
    found = hooks.derived_systems({slot.label: slot.system for slot in slots})
    if not found:
        return []
    request.require_examples(f"{found[0][0]} derives rows from the run file")
    from context_bench.run.second_pass import DerivedSystem

    numbers = {slot.label: slot.number for slot in slots}
    made = []
    for number, (extension, one) in enumerate(found, len(slots)):
        if one.is_read and not isinstance(request.reader, SystemSpec):
            raise ConfigurationError(f"{extension} has a reader answer. Name it with --reader.")
        keys, reader, sees = [system_key(extension, "", one.key)], None, INPUT
        described: dict[str, Any] = {}
        if one.is_read and request.reader is not None:
            reader = build_system(catalog, request.reader)
            key, _, described = system_identity(catalog, reader, "", number)
            keys.append(key)
            sees = system_sees(catalog, reader)
        told = {
            "label": one.label,
            "derived": {"by": extension, "from": one.source_label, **one.key},
            **described,
        }
        system, key, source = DerivedSystem(one, reader), chain_key(keys), numbers[one.source_label]
        model, most = model_of(system), max_tokens_of(system)
        made.append(
            RunSystem(
                number, one.label, system, key, False, None, told, True, model, most, sees, source
            )
        )
    return made


def derived_lines(catalog: Catalog, request: RunConfig) -> list[str]:
    """Return a line for each slot that is derived in a run of a request, with the calls that it makes; systems are set up.

    Raises:
        ContextBenchError: Something that the request needs is not there.
    """
    from context_bench.plan.baseline import resolve_baselines
    from context_bench.plan.locked import known_extensions
    from context_bench.session.hooks import RunHooks

    with redact_errors(catalog, request):
        hooks = RunHooks(catalog, known_extensions(catalog, request))
        request = resolve_baselines(catalog, hooks.prepare_systems(request))
        slots = make_slots(catalog, with_reader(catalog, request.systems, request.reader), "")
        size = request.size()
        calls = "a call a row" if size is None else f"{size} calls"
        lines = []
        for slot in derived_slots(catalog, request, hooks, slots):
            asked = "no call" if slot.model is None else f"{calls} to {slot.model}"
            lines.append(f"{slot.label}: derived from {slots[slot.source or 0].label}, {asked}")
        close_systems(slots)
    return lines


def _may_ask(catalog: Catalog, system: Any) -> bool:
    """Whether a system may ask a model: it is a plugin's that uses the network or a program, or nobody knows."""
    found = [component_of(catalog, "systems", step) for step in steps_of_system(system)]
    return any(one is None or reaches_out(one) for one in found)

"""Build the systems of a run from specs and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.errors import ConfigurationError, MissingValueError
from context_bench.plan.secrets import redact_errors
from context_bench.plan.specs import SystemSpec
from context_bench.plan.systems import (
    as_system,
    as_transformer,
    labels_of,
    reaches_out,
    with_reader,
)
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.loading import unfit
from context_bench.plugins.manifest import TRANSFORMER
from context_bench.protocols import BuiltSystem, DerivedSystemSpec, System
from context_bench.results.pairing import held_against
from context_bench.run.datasets import EVERYTHING, INPUT, OWN
from context_bench.run.systems import (
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
        ContextBenchError: A name or option is unknown, or the system cannot be built.
    """
    component = catalog.find("systems", spec.name)
    system = as_transformer(component.build(spec.options))
    if not isinstance(system, System):
        raise unfit(component, f"{type(system).__name__} has no name or no process()")
    if not spec.steps:
        return system
    return Chain([system, *(build_system(catalog, step) for step in spec.steps)])


def build_requested(
    catalog: Catalog,
    sources: Sequence[SystemSpec | Any],
    run_id: str,
    baseline: str | None = None,
    replace: Callable[[Sequence[BuiltSystem]], Sequence[Any]] | None = None,
) -> list[RunSystem]:
    """Return the requested systems of a run.

    Args:
        catalog: The installed components.
        sources: The systems as they were requested: specs, and objects.
        run_id: Id of the run.
        baseline: Label of the system that the others are compared with.
        replace: Returns the systems to call instead of the built ones; None changes none.

    Raises:
        ConfigurationError: There is no system, two have one label, or an object is not a system.
    """
    if not sources:
        raise MissingValueError("system", "Pass --system NAME (see 'context-bench systems list').")
    labels = labels_of(catalog, sources)
    built = [_build(catalog, source) for source in sources]
    if replace is not None:
        described = [
            _described(catalog, number, system, run_id) for number, system in enumerate(built)
        ]
        built = list(replace(described))
    systems = [
        _run_system(
            catalog,
            number=number,
            label=label,
            system=system,
            run_id=run_id,
            is_built_here=isinstance(source, SystemSpec),
            is_baseline=label == baseline,
        )
        for number, (source, system, label) in enumerate(zip(sources, built, labels, strict=True))
    ]
    descriptions = [system.description for system in systems]
    for number, other in held_against(labels, baseline, descriptions).items():
        description = {**systems[number].description, "held_against": other}
        systems[number] = evolve(systems[number], description=description)
    return systems


def _build(catalog: Catalog, source: SystemSpec | Any) -> System:
    return build_system(catalog, source) if isinstance(source, SystemSpec) else as_system(source)


def _described(catalog: Catalog, number: int, system: System, run_id: str) -> BuiltSystem:
    key, _, _ = system_identity(catalog, system, run_id, number)
    return BuiltSystem(system, key, _may_call_models(catalog, system))


def _run_system(
    catalog: Catalog,
    *,
    number: int,
    label: str,
    system: System,
    run_id: str,
    is_built_here: bool,
    is_baseline: bool,
) -> RunSystem:
    """Return a system with its identity; an object of the caller receives whole examples where the
    caller passed them, and no gold answers of other datasets unless it declares ``reads_gold``."""
    key, is_reusable, identity = system_identity(catalog, system, run_id, number)
    visibility = system_sees(catalog, system)
    if visibility == INPUT and not is_built_here:
        visibility = OWN
    description: dict[str, Any] = {"label": label, **identity}
    if is_baseline:
        description["baseline"] = True
    if visibility == EVERYTHING:
        description["reads_gold"] = True
    return RunSystem(
        number=number,
        label=label,
        system=system,
        key=key,
        shared=is_reusable,
        reads=system_reads(catalog, system),
        description=description,
        owned=is_built_here,
        model=model_of(system),
        max_tokens=max_tokens_of(system),
        sees=visibility,
        is_compressor=_is_compressor(catalog, system),
    )


def _is_compressor(catalog: Catalog, system: System) -> bool:
    """Return whether the first step of a system is a context transformer by its manifest."""
    component = component_of(catalog, "systems", steps_of_system(system)[0])
    return component is not None and component.system.system_kind == TRANSFORMER


def build_derived(
    catalog: Catalog, config: RunConfig, hooks: RunHooks, systems: Sequence[RunSystem]
) -> list[RunSystem]:
    """Return the systems that extensions derive from those of a run.

    Raises:
        ContextBenchError: A label is used already, a reader is missing, or the examples are not
            stored.
    """
    specs = hooks.derived_systems({system.label: system.system for system in systems})
    if not specs:
        return []
    first_extension, _ = specs[0]
    config.require_examples(f"{first_extension} derives rows from the run file")
    sources = {system.label: system.number for system in systems}
    return [
        _derive(
            catalog,
            config,
            spec,
            number=number,
            extension=extension,
            source=sources[spec.source_label],
        )
        for number, (extension, spec) in enumerate(specs, start=len(systems))
    ]


def _derive(
    catalog: Catalog,
    config: RunConfig,
    spec: DerivedSystemSpec,
    *,
    number: int,
    extension: str,
    source: int,
) -> RunSystem:
    from context_bench.run.second_pass import DerivedSystem

    keys = [system_key(extension, "", spec.key)]
    description: dict[str, Any] = {
        "label": spec.label,
        "derived": {"by": extension, "from": spec.source_label, **spec.key},
    }
    reader: System | None = None
    visibility = INPUT
    if spec.is_read:
        if not isinstance(config.reader, SystemSpec):
            raise ConfigurationError(f"{extension} has a reader answer. Name it with --reader.")
        reader = build_system(catalog, config.reader)
        reader_key, _, reader_description = system_identity(catalog, reader, "", number)
        keys.append(reader_key)
        description |= reader_description
        visibility = system_sees(catalog, reader)
    system = DerivedSystem(spec, reader)
    return RunSystem(
        number=number,
        label=spec.label,
        system=system,
        key=chain_key(keys),
        shared=False,
        description=description,
        owned=True,
        model=model_of(system),
        max_tokens=max_tokens_of(system),
        sees=visibility,
        source=source,
    )


def describe_derived(catalog: Catalog, config: RunConfig) -> list[str]:
    """Return a line for each derived system of a run, with the calls that it makes; systems are
    built.

    Raises:
        ContextBenchError: Something that the configuration needs cannot be used.
    """
    from context_bench.plan.locked import known_extensions
    from context_bench.session.hooks import RunHooks

    with redact_errors(catalog, config):
        hooks = RunHooks(catalog, known_extensions(catalog, config))
        config = hooks.prepare_systems(config)
        sources = with_reader(catalog, config.systems, config.reader)
        systems = build_requested(catalog, sources, run_id="")
        derived = build_derived(catalog, config, hooks, systems)
        close_systems(systems)
    size = config.size()
    calls = "a call a row" if size is None else f"{size} calls"
    lines = []
    for system in derived:
        called = "no call" if system.model is None else f"{calls} to {system.model}"
        source = systems[system.source or 0].label
        lines.append(f"{system.label}: derived from {source}, {called}")
    return lines


def _may_call_models(catalog: Catalog, system: Any) -> bool:
    """Return whether a system may call a model: it uses the network or a program, or that is not
    known."""
    components = [component_of(catalog, "systems", step) for step in steps_of_system(system)]
    return any(component is None or reaches_out(component) for component in components)

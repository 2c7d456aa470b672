"""The identity of a system: its key, what is recorded of it, and how much of an example it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from context_bench.errors import ConfigurationError, UnstorableError, reason_of
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.component import edition_of
from context_bench.run.datasets import COLUMNS, EVERYTHING, INPUT
from context_bench.run.systems import Chain
from context_bench.store.keys import chain_key, system_key, unshared_key


class Identity(NamedTuple):
    """The identity of a system.

    Attributes:
        key: Its key, on which the keys of its responses depend.
        is_reusable: Whether the key is valid in other runs.
        description: What is recorded of the system.
    """

    key: bytes
    is_reusable: bool
    description: dict[str, Any]


def system_identity(catalog: Catalog, system: Any, run_id: str, number: int) -> Identity:
    """Return the identity of a system.

    Args:
        catalog: What is installed.
        system: The system.
        run_id: Id of the run, for a system whose responses cannot be reused.
        number: Number of the system in the run.

    Raises:
        ConfigurationError: Its fingerprint is not a mapping of JSON-like values.
    """
    if isinstance(system, Chain):
        steps = [system_identity(catalog, step, run_id, number) for step in system.steps]
        return Identity(
            key=chain_key([step.key for step in steps]),
            is_reusable=all(step.is_reusable for step in steps),
            description={"steps": [step.description for step in steps]},
        )
    component = component_of(catalog, "systems", system)
    adapter = component.id if component else _class_name(getattr(system, "transformer", system))
    edition = edition_of(component, str(getattr(system, "version", "")))
    description: dict[str, Any] = {"adapter": adapter, **edition}
    parameters = fingerprint_of(system, f"system {system.name}")
    if parameters is None:
        return Identity(unshared_key(run_id, number), is_reusable=False, description=description)
    try:
        key = system_key(adapter, edition["version"], parameters)
    except (UnstorableError, RecursionError) as error:
        raise ConfigurationError(f"The fingerprint of system {system.name}: {error}") from error
    description["fingerprint"] = dict(parameters)
    return Identity(key, is_reusable=True, description=description)


def _class_name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def fingerprint_of(thing: Any, title: str) -> Mapping[str, Any] | None:
    """Return the parameters of a system or an evaluator that can change its results; None if it
    has no fingerprint.

    Args:
        thing: The system or evaluator.
        title: What errors call it.

    Raises:
        ConfigurationError: The fingerprint is not a mapping, or computing it failed.
    """
    fingerprint = getattr(thing, "fingerprint", None)
    if callable(fingerprint):
        try:
            fingerprint = fingerprint()
        except (Exception, SystemExit, GeneratorExit) as error:
            raise ConfigurationError(
                f"{title[0].upper()}{title[1:]} cannot be used: {reason_of(error)}"
            ) from error
    elif fingerprint is None:
        return None
    if not isinstance(fingerprint, Mapping):
        raise ConfigurationError(
            f"The fingerprint of {title} is {type(fingerprint).__name__}, not a mapping."
        )
    return fingerprint


def system_reads(catalog: Catalog, system: Any) -> tuple[str, ...] | None:
    """Return the fields of an example that a system uses; None for all."""
    if isinstance(system, Chain):
        names: dict[str, None] = {}
        for step in system.steps:
            reads = system_reads(catalog, step)
            if reads is None:
                return None
            names.update(dict.fromkeys(reads))
        return tuple(names)
    if hasattr(system, "reads"):
        return None if system.reads is None else tuple(system.reads)
    component = component_of(catalog, "systems", system)
    return component.system.reads if component else None


def system_sees(catalog: Catalog, system: Any) -> str:
    """Return how much of an example a system of a spec receives; a chain what any step receives.

    An attribute ``reads_gold`` or ``reads_columns`` of the system has precedence over its manifest.
    """
    if isinstance(system, Chain):
        visibilities = [system_sees(catalog, step) for step in system.steps]
        for visibility in (EVERYTHING, COLUMNS):
            if visibility in visibilities:
                return visibility
        return INPUT
    component = component_of(catalog, "systems", system)
    if getattr(system, "reads_gold", bool(component and component.system.reads_gold)):
        return EVERYTHING
    return COLUMNS if getattr(system, "reads_columns", False) else INPUT

"""The identity of a system: its key, what is recorded of it, and how much of an example it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_bench.errors import (
    ConfigurationError,
    UnstorableError,
    reason_of,
)
from context_bench.plugins.catalog import Catalog, component_of
from context_bench.plugins.component import edition_of
from context_bench.run.model import (
    COLUMNS,
    EVERYTHING,
    INPUT,
    Chain,
)
from context_bench.store.keys import chain_key, system_key, unshared_key

if TYPE_CHECKING:
    pass


def system_identity(
    catalog: Catalog, system: Any, run: str, slot: int
) -> tuple[bytes, bool, dict[str, Any]]:
    """Return a system's key, whether the key is valid in other runs, and what is recorded about it.

    Raises:
        ConfigurationError: Its fingerprint is no mapping of JSON-like values.
    """
    if isinstance(system, Chain):
        parts = [system_identity(catalog, step, run, slot) for step in system.steps]
        key = chain_key([part[0] for part in parts])
        return key, all(part[1] for part in parts), {"steps": [part[2] for part in parts]}
    component = component_of(catalog, "systems", system)
    own = getattr(system, "transformer", system)
    adapter = component.id if component else f"{type(own).__module__}.{type(own).__qualname__}"
    told = edition_of(component, str(getattr(system, "version", "")))
    description: dict[str, Any] = {"adapter": adapter, **told}
    parameters = fingerprint_of(system, f"system {system.name}")
    if parameters is None:
        return unshared_key(run, slot), False, description
    try:
        key = system_key(adapter, told["version"], parameters)
    except (UnstorableError, RecursionError) as error:
        raise ConfigurationError(f"The fingerprint of system {system.name}: {error}") from error
    return key, True, description | {"fingerprint": dict(parameters)}


def fingerprint_of(thing: Any, who: str) -> Mapping[str, Any] | None:
    """Return what a system or an evaluator says of itself that can change what it gives; None where
    it says nothing.

    Raises:
        ConfigurationError: That is no mapping, or saying it failed.
    """
    found = getattr(thing, "fingerprint", None)
    if found is None:
        return None
    try:
        found = found() if callable(found) else found
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ConfigurationError(
            f"{who[0].upper()}{who[1:]} cannot be used: {reason_of(error)}"
        ) from error
    if not isinstance(found, Mapping):
        raise ConfigurationError(
            f"The fingerprint of {who} is {type(found).__name__}, not a mapping."
        )
    return found


def system_reads(catalog: Catalog, system: Any) -> tuple[str, ...] | None:
    """Return the fields of an example that a system looks at, or None for all."""
    if isinstance(system, Chain):
        found = [system_reads(catalog, step) for step in system.steps]
        return (
            None
            if None in found
            else tuple(dict.fromkeys(name for reads in found for name in reads or ()))
        )
    if hasattr(system, "reads"):
        return None if system.reads is None else tuple(system.reads)
    component = component_of(catalog, "systems", system)
    return component.system.reads if component else None


def system_sees(catalog: Catalog, system: Any) -> str:
    """Return how much of an example a system that was named by a spec is shown; a chain sees what
    any of its steps does.

    An attribute ``reads_gold`` or ``reads_columns`` of a system says more than its manifest.
    """
    if isinstance(system, Chain):
        seen = [system_sees(catalog, step) for step in system.steps]
        return next((sight for sight in (EVERYTHING, COLUMNS) if sight in seen), INPUT)
    component = component_of(catalog, "systems", system)
    if getattr(system, "reads_gold", bool(component and component.system.reads_gold)):
        return EVERYTHING
    return COLUMNS if getattr(system, "reads_columns", False) else INPUT

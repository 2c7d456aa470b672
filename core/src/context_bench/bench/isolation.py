"""Isolated prefixes: each system's prompts begin with a marker of its own, so that no system warms another's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from context_bench.bench.identity import component_of, system_identity
from context_bench.plugins.catalog import Catalog
from context_bench.runner.chain import Chain
from context_bench.store.encoding import digest

_LETTERS = 8


def isolate_prefixes(catalog: Catalog, systems: Iterable[Any], run: str, warn: Callable[[str], None]) -> list[Any]:
    """Return the systems, each that asks a model with a ``cache_salt`` of its own: of its identity, not of its label.

    The markers are letters with spaces between: a tokenizer takes as many tokens for one as for another, so prompts of
    two systems still compare. Two systems that are the same get two markers. A salt that a system has already stays.
    The systems given are not changed.

    Args:
        catalog: What is installed.
        systems: The systems, in the order of their slots.
        run: Id of the run.
        warn: Is told which systems take no marker.
    """
    taken: set[str] = set()
    isolated, without = [], []
    for slot, system in enumerate(systems):
        if not any(hasattr(step, "cache_salt") for step in _steps(system)):
            if _asks_elsewhere(catalog, system):
                without.append(system.name)
            isolated.append(system)
            continue
        key, _, _ = system_identity(catalog, system, run, slot)
        salt = next(salt for turn in range(1 << 30) if (salt := _marker(key, turn)) not in taken)
        taken.add(salt)
        isolated.append(_salted(system, salt))
    if without:
        warn(
            f"{', '.join(without)}: no marker can be put in front of the prompts (the system has no cache_salt), so they "
            "may be served from a cache that another system has warmed, and warm one for others."
        )
    return isolated


def _salted(system: Any, salt: str) -> Any:
    if isinstance(system, Chain):
        return Chain([_salted(step, salt) for step in system.steps], system.name)
    if not hasattr(system, "cache_salt"):
        return system
    system = copy(system)
    system.cache_salt = system.cache_salt or salt
    return system


def _steps(system: Any) -> tuple[Any, ...]:
    return system.steps if isinstance(system, Chain) else (system,)


def _marker(key: bytes, turn: int) -> str:
    number = digest("context-bench cache salt 1", key, turn)
    return f"[ {' '.join(chr(ord('a') + byte % 26) for byte in number[:_LETTERS])} ]"


def _asks_elsewhere(catalog: Catalog, system: Any) -> bool:
    """Whether a system may ask a model: it is a plugin's that uses the network or a program, or nobody knows."""
    for step in _steps(system):
        component = component_of(catalog, "systems", step)
        if component is None or {"network", "subprocess"} & set(component.capabilities):
            return True
    return False

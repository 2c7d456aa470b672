"""Isolated prefixes: each system's prompts begin with a marker of its own, so that no system warms another's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from hashlib import blake2b
from typing import Any

from context_bench.hookspecs import hookimpl
from context_bench.protocols import BuiltSystem

_LETTERS = 8


class IsolatedPrefixes:
    """Gives each system that asks a model a ``cache_salt`` of its own: of its identity, not of its label.

    The markers are letters with spaces between: a tokenizer takes as many tokens for one as for another, so prompts of
    different systems stay comparable. Systems that have a salt keep it.

    Args:
        isolate_prefixes: False leaves every system as it is.
    """

    def __init__(self, isolate_prefixes: bool = True) -> None:
        self._is_on = isolate_prefixes

    @hookimpl
    def replace_systems(
        self, systems: Sequence[BuiltSystem], warn: Callable[[str], None]
    ) -> list[Any]:
        """Return copies of the systems with their markers; one that takes none is itself, and named in a warning."""
        taken: set[str] = set()
        isolated: list[Any] = []
        without: list[str] = []
        for one in systems:
            takes_marker = any(hasattr(step, "cache_salt") for step in _steps(one.system))
            if not self._is_on or not takes_marker:
                without += [one.system.name] if self._is_on and one.may_ask_models else []
                isolated.append(one.system)
                continue
            salt = next(
                salt for turn in range(1 << 30) if (salt := marker(one.key, turn)) not in taken
            )
            taken.add(salt)
            isolated.append(_salted(one.system, salt))
        if without:
            warn(
                f"{', '.join(without)}: no marker can be put in front of the prompts (the system has no cache_salt), so they "
                "may be served from a cache that another system has warmed, and warm one for others."
            )
        return isolated


def marker(key: bytes, turn: int = 0) -> str:
    """Return the marker of a system's key; another turn gives another one.

    >>> len(marker(b"key"))
    19
    """
    text, number = (
        b"context-bench cache salt 1",
        b"%d" % turn,
    )  # the canonical bytes of the three, as of response keys
    canonical = (
        b"s%d:%s" % (len(text), text)
        + b"b%d:%s" % (len(key), key)
        + b"i%d:%s" % (len(number), number)
    )
    number = blake2b(canonical, digest_size=16).digest()
    return f"[ {' '.join(chr(ord('a') + byte % 26) for byte in number[:_LETTERS])} ]"


def _salted(system: Any, salt: str) -> Any:
    if isinstance(getattr(system, "steps", None), tuple):
        chain = copy(system)
        chain.steps = tuple(_salted(step, salt) for step in system.steps)
        return chain
    if not hasattr(system, "cache_salt"):
        return system
    system = copy(system)
    system.cache_salt = system.cache_salt or salt
    return system


def _steps(system: Any) -> tuple[Any, ...]:
    steps = getattr(system, "steps", None)
    return steps if isinstance(steps, tuple) else (system,)

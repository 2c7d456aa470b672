"""Imports where code is only examined: in a child process with a time limit, so that one that hangs, exits or floods is named.

One child imports one component after the other and tells of each. When it dies or is ended, the component that it was at is
the one to blame, and another child goes on with the rest.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from context_bench.plugins.catalog import FAILED, OK, Component
from context_bench.plugins.child import Child
from context_bench.plugins.loading import try_load

FLOOD = 2**20
"""Bytes that one import may write."""

_STARTING = 120.0


def examine_apart(
    components: Sequence[Component], check: str | None, seconds: float
) -> Iterator[tuple[Component, list[Any]]]:
    """Yield each component in the state in which its import leaves it, and what a check has to say of it.

    Args:
        components: What to import; one that cannot be used is given back as it is.
        check: ``module:function`` that is called in the child, with the component and its object (None where it failed), and
            returns a list of what JSON-like values it has to say.
        seconds: How long one import, with its check, may take.
    """
    child: Child | None = None
    try:
        for component in components:
            try:
                child = child or Child(f"{__name__}:examiner", pickle.dumps(check), _STARTING, FLOOD)
                *state, found = json.loads(child.ask(pickle.dumps(component), seconds))
                component = component.with_state(*state)
            except (TimeoutError, EOFError, ValueError, RecursionError) as error:
                why = error if isinstance(error, TimeoutError | EOFError) else "spoke in place of the examination"
                name, found = component.distribution.name, []
                remedy = f"tell the authors of {name}, or uninstall it: `pip uninstall {name}`"
                component = component.with_state(FAILED, f"importing it {why}", remedy)
                if child is not None:
                    child.close()
                child = None
            yield component, found
    finally:
        if child is not None:
            child.close()


def examiner(first: bytes) -> Callable[[bytes], bytes]:
    """Be the child: return what imports a component, and tells of its state, and what the check has to say."""
    module, _, name = (pickle.loads(first) or "").partition(":")

    def examine(question: bytes) -> bytes:
        component, thing = pickle.loads(question), None
        usable = component.called_by_id()
        if usable.state == OK:
            found, thing, _ = try_load(usable)
            component = component if found.state == OK else found
        said = list(getattr(import_module(module), name)(component, thing)) if module else []
        return json.dumps([component.state, component.reason, component.remedy, said]).encode()

    return examine

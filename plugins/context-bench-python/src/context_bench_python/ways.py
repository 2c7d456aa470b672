"""Ways of asking an object: which of its methods is called, told by what it has and never by what it inherits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from context_bench.errors import ConfigurationError


@dataclass(frozen=True)
class Way:
    """How an object is asked.

    Attributes:
        kind: ``system``, ``runnable`` (LangChain), ``query engine`` (LlamaIndex) or ``function``.
        sync: What is called from threads; None when there is nothing.
        asynchronous: What is awaited; None when there is nothing.
    """

    kind: str
    sync: Callable[..., Any] | None = None
    asynchronous: Callable[..., Any] | None = None

    @property
    def function(self) -> Callable[..., Any]:
        """What is called, for its signature."""
        found = self.sync or self.asynchronous
        assert found is not None
        return found

    def choose(self, call: str, target: str) -> Way:
        """Return the way with one of the two left.

        Where there are both, a system is awaited, as everywhere in context-bench; libraries are called from threads, since
        the async methods of many of them block.

        Raises:
            ConfigurationError: There is no such way.
        """
        if call == "auto":
            call = (
                "async"
                if self.sync is None or (self.kind == "system" and self.asynchronous)
                else "sync"
            )
        chosen = self.sync if call == "sync" else self.asynchronous
        if chosen is None:
            raise ConfigurationError(f"{target} has no {call} way of being called (option call).")
        return Way(self.kind, chosen) if call == "sync" else Way(self.kind, None, chosen)


_METHODS = (
    ("system", "process", "aprocess"),
    ("runnable", "invoke", "ainvoke"),
    ("query engine", "query", "aquery"),
)


def way_of(thing: Any, target: str) -> Way:
    """Return how an object is asked.

    Raises:
        ConfigurationError: It has none of the methods that are known, and cannot be called.
    """
    for kind, name, async_name in _METHODS:
        method, awaited = _method(thing, name), _method(thing, async_name)
        if method is not None and iscoroutinefunction(method):
            method, awaited = None, awaited or method
        if method is not None or awaited is not None:
            return Way(kind, method, awaited)
    if not callable(thing):
        raise ConfigurationError(
            f"{target} is of type {type(thing).__name__}, which cannot be asked: it is no function and has none of "
            "process(), invoke() and query()."
        )
    is_async = iscoroutinefunction(thing) or iscoroutinefunction(getattr(thing, "__call__", None))  # noqa: B004 - its kind is asked
    return Way("function", None, thing) if is_async else Way("function", thing)


def _method(thing: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(thing, name, None)
    return found if callable(found) else None

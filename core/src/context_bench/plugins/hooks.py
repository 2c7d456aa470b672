"""Hooks of extensions: registered with pluggy, and called one implementation after the other.

pluggy finds the implementations, checks their arguments and orders them. The calls are ours,
because an error must name its extension. Calls through pluggy also cost more: 3 microseconds for a
hook without implementations and 6 with two of them, where a tuple that is bound once a run costs
0.2, and 4 with arguments by name (pluggy 1.7, Python 3.11, two busy cores).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import filterfalse
from typing import Any

from attrs import frozen

from context_bench import hookspecs
from context_bench.errors import ConfigurationError, ContextBenchError, PluginError, message_of
from context_bench.hookspecs import HOOKS, PROJECT
from context_bench.plugins.component import Component

WATCHING = frozenset(name for name, hook in HOOKS.items() if hook.watches)
"""The hooks that watch: an error in them stops no run."""


@frozen
class Implementation:
    """A function of an extension that implements a hook.

    Attributes:
        hook: Name of the hook.
        extension: Id of the extension.
        function: The function.
        arguments: Names of the arguments that it takes.
    """

    hook: str
    extension: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    @property
    def name(self) -> str:
        """Short name of the extension."""
        return self.extension.rpartition("/")[2]

    def call(self, *values: object) -> Any:
        """Call the function with values in the order of :attr:`arguments`.

        Raises:
            ContextBenchError: The function raised it.
            PluginError: The function raised anything else; the message names the extension and the
                hook.
        """
        try:
            return self.function(*values)
        except ContextBenchError:
            raise
        except (Exception, SystemExit, GeneratorExit) as error:
            raise self.failure(f"{type(error).__name__}: {message_of(error)}") from error

    def __call__(self, **values: object) -> Any:
        """Call the function with those of the hook's arguments that it takes; see :meth:`call`."""
        return self.call(*[values[name] for name in self.arguments])

    def failure(self, reason: str) -> PluginError:
        """Return the error for an implementation that does not do what its hook asks for."""
        return PluginError(f"Extension '{self.extension}' failed in {self.hook}(): {reason}")

    def require(self, result: Any, kind: Any, expected: str) -> Any:
        """Return what the function returned.

        Raises:
            PluginError: It is of another type.
        """
        if not isinstance(result, kind):
            raise self.failure(f"it returned {result!r}, not {expected}")
        return result


class Hooks:
    """The implementations of the hooks of one run, by hook.

    Without an extension pluggy is not imported.

    Args:
        warn: Receives a line for each extension whose watching hooks are switched off.
    """

    def __init__(self, warn: Callable[[str], None] | None = None) -> None:
        self._warn = warn
        self._manager: Any = None
        self._implementations: dict[str, tuple[Implementation, ...]] = {}

    def register(self, component: Component, extension: object) -> None:
        """Register an extension. It is called before those that were registered earlier.

        Raises:
            PluginError: It implements other hooks than its manifest declares, an unknown hook, or a
                hook with arguments that the hook does not have.
        """
        if self._manager is None:
            self._manager = _manager()
        try:
            self._manager.register(extension, name=component.id)
            self._manager.check_pending()
            _check_declared(self._implemented(component.id), component)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if self._manager.has_plugin(component.id):
                self._manager.unregister(name=component.id)
            reason = " ".join(message_of(error).split())
            raise PluginError(
                f"Extension '{component.id}' cannot be registered: {type(error).__name__}: {reason}"
            ) from error
        self._implementations = {name: tuple(self._of_hook(name)) for name in HOOKS}

    def __getitem__(self, hook: str) -> tuple[Implementation, ...]:
        """The implementations of a hook in the order in which they are called."""
        return self._implementations.get(hook, ())

    def results(self, hook: str, **values: object) -> Iterator[tuple[Implementation, Any]]:
        """Yield each implementation of a hook that decides, with its result where that is not None.

        Raises:
            ContextBenchError: An implementation raised an error.
        """
        for implementation in self[hook]:
            result = implementation(**values)
            if result is not None:
                yield implementation, result

    def first(self, hook: str, **values: object) -> tuple[Implementation, Any] | None:
        """Return the first result of a hook that is not None, with its implementation.

        Raises:
            ContextBenchError: An implementation raised an error.
        """
        return next(self.results(hook, **values), None)

    def watch(self, implementation: Implementation, **values: object) -> None:
        """Call an implementation that watches. An error switches off the watching hooks of its
        extension.

        An implementation that returns False is not called again.
        """
        try:
            result = implementation(**values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a hook that watches stops no run
            self._switch_off(implementation, error)
            return
        if result is False:
            self._drop(lambda other: other is implementation)

    def _switch_off(self, failed: Implementation, error: BaseException) -> None:
        self._drop(lambda other: other.extension == failed.extension and other.hook in WATCHING)
        if self._warn is not None:
            reason = " ".join(message_of(error).split())
            self._warn(f"{reason.rstrip('.')}. Its watching hooks are switched off.")

    def _drop(self, is_dropped: Callable[[Implementation], bool]) -> None:
        self._implementations = {
            name: tuple(filterfalse(is_dropped, implementations))
            for name, implementations in self._implementations.items()
        }

    def _of_hook(self, hook: str) -> Iterator[Implementation]:
        for marked in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            yield Implementation(
                hook=hook,
                extension=marked.plugin_name,
                function=marked.function,
                arguments=tuple(marked.argnames),
            )

    def _implemented(self, extension: str) -> dict[str, Any]:
        """Return what pluggy found in an extension, by hook."""
        implemented = {}
        for name in HOOKS:
            for marked in getattr(self._manager.hook, name).get_hookimpls():
                if marked.plugin_name == extension:
                    implemented[name] = marked
        return implemented


def _manager() -> Any:
    import pluggy

    marker = pluggy.HookspecMarker(PROJECT)
    for hook in HOOKS.values():
        marker(hook.specification)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def _check_declared(implemented: dict[str, Any], component: Component) -> None:
    """Refuse an extension that implements other hooks than its manifest declares, or wraps those of
    others."""
    declared = component.extension.implements
    for name, implementation in implemented.items():
        if implementation.hookwrapper or getattr(implementation, "wrapper", False):
            raise ConfigurationError(f"its {name} is a wrapper, which is not supported")
        if declared and name not in declared:
            raise ConfigurationError(f"it implements {name}, which its manifest does not declare")
    for name in declared:
        if name not in implemented:
            raise ConfigurationError(f"its manifest declares {name}, which it does not implement")

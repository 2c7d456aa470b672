"""Lifecycle hooks, the only use of pluggy: plugins that watch a run, or adjust its wiring.

An entry point in ``context_bench.hooks`` names a module, class or object with functions of these names, marked with
``pluggy.HookimplMarker("context_bench")``. Hooks are registered by us, after discovery and only when a run has any, so
that a blocked plugin is never called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from context_bench.errors import PluginError
from context_bench.plugins.catalog import OK, Catalog
from context_bench.plugins.loading import load

if TYPE_CHECKING:
    from context_bench.plugins.plan import DatasetPlan
    from context_bench.records import EvalRow

PROJECT = "context_bench"


class HookSpecification:
    """The hooks there are. Implement any of them; name only the arguments that you use."""

    def context_bench_run_started(
        self, config: dict[str, Any], systems: list[dict[str, Any]], warn: Callable[[str], None]
    ) -> None:
        """Called once before the first system call.

        Args:
            config: What was asked for, secrets taken out.
            systems: The ``label`` and ``endpoint`` (None for a system without one) of each slot, and whether it
                ``is_baseline``.
            warn: Tells the user something, once, on standard error and in the run file; from any thread.
        """

    def context_bench_row_finished(self, row: EvalRow) -> bool | None:
        """Called after a row was committed, on the thread that writes the run file: be quick.

        Return False when no further row is wanted.
        """

    def context_bench_run_finished(self, status: str, rows: int, failed: int) -> None:
        """Called once at the end with ``finished``, ``interrupted`` or ``stopped``, and the counts."""

    def context_bench_adjust_wiring(self, plan: DatasetPlan) -> DatasetPlan | None:
        """Called with each plan as it is made; what is returned takes its place. The change is stored and locked."""


class Hooks:
    """The hooks of one run. Without hook plugins it costs nothing, and pluggy is never imported."""

    def __init__(self, catalog: Catalog) -> None:
        components = [component for component in catalog.of_kind("hooks") if component.state == OK]
        self._relay: Any = None
        self._watchers: list[Any] = []
        if components:
            self._relay = _manager(components).hook
            self._watchers = list(reversed(self._relay.context_bench_row_finished.get_hookimpls()))

    @property
    def watch_rows(self) -> bool:
        """Whether anybody wants to see each row."""
        return bool(self._watchers)

    def run_started(self, config: dict[str, Any], systems: list[dict[str, Any]], warn: Callable[[str], None]) -> None:
        """Tell every hook that the run begins."""
        self._call("context_bench_run_started", config=config, systems=systems, warn=warn)

    def row_finished(self, row: EvalRow) -> None:
        """Tell every hook that still wants rows about a committed one."""
        for watcher in tuple(self._watchers):
            try:
                wants_more = watcher.function(*[row for _ in watcher.argnames])
            except Exception as error:
                raise PluginError(
                    f"A plugin's hook context_bench_row_finished failed: {type(error).__name__}: {error}"
                ) from error
            if wants_more is False:
                self._watchers.remove(watcher)

    def run_finished(self, status: str, rows: int, failed: int) -> None:
        """Tell every hook that the run is over."""
        self._call("context_bench_run_finished", status=status, rows=rows, failed=failed)

    def adjust_wiring(self, plan: DatasetPlan) -> DatasetPlan:
        """Let each hook replace a plan in turn, in the order of their canonical ids."""
        if self._relay is not None:
            for implementation in reversed(self._relay.context_bench_adjust_wiring.get_hookimpls()):
                plan = _adjusted(implementation, plan)
        return plan

    def _call(self, name: str, **arguments: Any) -> None:
        if self._relay is not None:
            try:
                getattr(self._relay, name)(**arguments)
            except Exception as error:
                raise PluginError(f"A plugin's hook {name} failed: {type(error).__name__}: {error}") from error


def _manager(components: list[Any]) -> Any:
    import pluggy

    marker = pluggy.HookspecMarker(PROJECT)
    for name in vars(HookSpecification):
        if name.startswith(f"{PROJECT}_"):
            marker(getattr(HookSpecification, name))
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HookSpecification)
    for component in sorted(components, key=lambda component: component.id, reverse=True):
        found = load(component)
        try:
            manager.register(found() if isinstance(found, type) else found, name=component.id)
            manager.check_pending()
        except Exception as error:
            raise PluginError(
                f"The hooks of {component.id} cannot be registered: {type(error).__name__}: {error}. Leave them out with "
                f"-p no:{component.name}."
            ) from error
    return manager


def _adjusted(implementation: Any, plan: DatasetPlan) -> DatasetPlan:
    from context_bench.plugins.plan import DatasetPlan

    name = f"The hook context_bench_adjust_wiring of {implementation.plugin_name}"
    try:
        adjusted = implementation.function(*[plan for _ in implementation.argnames])
    except Exception as error:
        raise PluginError(f"{name} failed: {type(error).__name__}: {error}") from error
    if adjusted is None:
        return plan
    if not isinstance(adjusted, DatasetPlan):
        raise PluginError(
            f"{name} returned {type(adjusted).__name__}; it must return a plan, or None to change nothing."
        )
    return adjusted

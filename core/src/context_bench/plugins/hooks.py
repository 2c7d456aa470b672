"""Lifecycle hooks, the only use of pluggy: plugins that watch a run, or adjust its wiring.

An entry point in ``context_bench.hooks`` names a module, class or object with functions of these names, marked with
``pluggy.HookimplMarker("context_bench")``. Hooks are registered by us, after discovery and only when a run has any, so
that a blocked plugin is never called.

One whose manifest says that it only watches (``implements``, without ``adjust_wiring`` and without a capability) is active
when it is installed, and gets copies. Any other is active only when it is named. One that fails is switched off, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from context_bench.errors import message_of
from context_bench.plugins.catalog import OK, Catalog, Component
from context_bench.plugins.loading import try_load
from context_bench.plugins.wiring import with_headline

if TYPE_CHECKING:
    from context_bench.plugins.wiring import DatasetPlan
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
    """The hooks of one run. Without hook plugins it costs nothing, and pluggy is never imported.

    Args:
        components: The active hooks.
        warn: Is told, in a line, of each hook that fails; from any thread.
    """

    def __init__(
        self, components: Iterable[Component] = (), warn: Callable[[str], None] | None = None
    ) -> None:
        self._warn = warn
        self._manager: Any = None
        self._watchers: list[Any] = []
        self._has_begun = False
        for component in sorted(components, key=lambda component: component.id):
            self._register(component)
        self._watchers = self._implementations("row_finished")

    @property
    def watch_rows(self) -> bool:
        """Whether anybody wants to see each row."""
        return bool(self._watchers)

    def run_started(
        self, config: dict[str, Any], systems: list[dict[str, Any]], warn: Callable[[str], None]
    ) -> None:
        """Tell every hook that the run begins."""
        self._has_begun = True
        for hook in self._implementations("run_started"):
            self._call(
                hook, {"config": deepcopy(config), "systems": deepcopy(systems), "warn": warn}
            )

    def row_finished(self, row: EvalRow) -> None:
        """Show every hook that still wants rows a copy of a committed one."""
        for hook in tuple(self._watchers):
            if self._call(hook, {"row": deepcopy(row)}) is False and hook in self._watchers:
                self._watchers.remove(hook)

    def run_finished(self, status: str, rows: int, failed: int) -> None:
        """Tell every hook that the run is over, if they were told that it began."""
        for hook in self._implementations("run_finished") if self._has_begun else ():
            self._call(hook, {"status": status, "rows": rows, "failed": failed})

    def adjust_wiring(self, plan: DatasetPlan) -> DatasetPlan:
        """Let each hook replace a plan in turn, in the order of their canonical ids."""
        for hook in self._implementations("adjust_wiring"):
            adjusted = self._call(hook, {"plan": plan})
            if adjusted is not None and (fault := _misfit(plan, adjusted)):
                self._switch_off(hook.plugin_name, f"adjust_wiring returned {fault}")
            elif adjusted is not None:
                plan = with_headline(adjusted)
        return plan

    def _implementations(self, name: str) -> list[Any]:
        if self._manager is None:
            return []
        return list(reversed(getattr(self._manager.hook, f"{PROJECT}_{name}").get_hookimpls()))

    def _register(self, component: Component) -> None:
        loaded, found, _ = try_load(component)
        if loaded.state != OK:
            self._tell(component.id, loaded.reason)
            return
        self._manager = self._manager or _manager()
        try:
            self._manager.register(found() if isinstance(found, type) else found, name=component.id)
            self._manager.check_pending()
            _check(self._manager, component)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit too
            self._switch_off(
                component.id, f"registering it raised {type(error).__name__}: {message_of(error)}"
            )

    def _call(self, hook: Any, arguments: Mapping[str, Any]) -> Any:
        try:
            return hook.function(*[arguments[name] for name in hook.argnames])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit too
            name = hook.function.__name__.removeprefix(f"{PROJECT}_")
            self._switch_off(
                hook.plugin_name, f"{name} raised {type(error).__name__}: {message_of(error)}"
            )
            return None

    def _switch_off(self, name: str, why: str) -> None:
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)
        self._watchers = [hook for hook in self._watchers if hook.plugin_name != name]
        self._tell(name, why)

    def _tell(self, name: str, why: str) -> None:
        if self._warn is not None:
            self._warn(f"The hook {name} is switched off: {' '.join(why.split())}.")


def active_hooks(catalog: Catalog, named: Collection[str]) -> list[Component]:
    """Return the hooks that take part in a run: those that are named, and usable ones that only watch.

    Raises:
        ContextBenchError: A name is unknown, or what it names cannot be used.
    """
    chosen = {
        component.id: component for component in (catalog.find("hooks", name) for name in named)
    }
    for component in chosen.values():
        component.require_ok()
    for component in catalog.of_kind("hooks"):
        if component.state == OK and component.manifest.only_watches:
            chosen.setdefault(component.id, component)
    return [chosen[name] for name in sorted(chosen)]


def described_hooks(components: Iterable[Component]) -> dict[str, dict[str, Any]]:
    """Return what plan, lock and run file say of hooks, by their ids."""
    return {
        component.id: {
            **component.version_info,
            "implements": list(component.manifest.implements),
            "capabilities": list(component.capabilities),
        }
        for component in components
    }


def _misfit(plan: DatasetPlan, adjusted: Any) -> str | None:
    """Return what is wrong with what a hook made of a plan; None where nothing is."""
    if type(adjusted) is not type(plan):
        return f"{type(adjusted).__name__}, not a plan"
    ids = [getattr(one, "evaluator", None) for one in adjusted.decisions or ()]
    if adjusted.dataset != plan.dataset or sorted(map(str, ids)) != sorted(
        one.evaluator for one in plan.decisions
    ):
        return "a plan of another dataset or of other evaluators"
    if adjusted.headline not in (
        None,
        plan.headline,
        *(key for one in adjusted.wired for key in one.keys),
    ):
        return f"a plan with the headline {adjusted.headline!r}, which none of its evaluators gives"
    return None


def _manager() -> Any:
    import pluggy

    marker = pluggy.HookspecMarker(PROJECT)
    for name in vars(HookSpecification):
        if name.startswith(f"{PROJECT}_"):
            marker(getattr(HookSpecification, name))
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HookSpecification)
    return manager


def _check(manager: Any, component: Component) -> None:
    """Refuse a hook that does more than its manifest says."""
    declared = component.manifest.implements
    callers = manager.get_hookcallers(manager.get_plugin(component.id)) or ()
    for caller in sorted(callers, key=lambda caller: str(caller.name)):
        name = caller.name.removeprefix(f"{PROJECT}_")
        if declared and name not in declared:
            raise ValueError(f"it implements {name}, which its manifest does not say")
        for found in caller.get_hookimpls():
            if found.plugin_name == component.id and (
                found.hookwrapper or getattr(found, "wrapper", False)
            ):
                raise ValueError(f"its {name} wraps those of others")

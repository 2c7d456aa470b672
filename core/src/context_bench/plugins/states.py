"""States: whether a component can be used, looked at alone; else the reason, and what to do about
it."""

from __future__ import annotations

from context_bench.plugins.component import (
    INCOMPATIBLE,
    INVALID,
    Component,
    State,
    definition_of,
)
from context_bench.plugins.manifest import PluginManifest
from context_bench.plugins.package import Package
from context_bench.plugins.requirements import Requirements
from context_bench.plugins.settings import PluginSettings, switches


def find_state(
    package: Package, component: Component, requirements: Requirements, settings: PluginSettings
) -> State | None:
    """Return the state of a component, looked at alone; None when it is ok."""
    distribution = component.distribution.name
    state = (
        settings.blocked_by(switches(component))
        or requirements.state_without(None, distribution)
        or _fault(package, component)
    )
    if state is None and component.manifest.extra is not None:
        return requirements.state_without(component.manifest.extra, distribution)
    return state


def _fault(package: Package, component: Component) -> State | None:
    """Return what is wrong with a component itself; None when nothing is."""
    kind = component.kind
    name = component.distribution.name
    without = f"leave it out with --exclude {component.name}"
    manifest = package.manifest or PluginManifest()
    if manifest.incompatibility:
        upgrade = "upgrade context-bench" if manifest.is_newer else f"install another {name}"
        return State(INCOMPATIBLE, manifest.incompatibility, f"{upgrade}, or {without}")
    if faults := manifest.faults_of(kind, component.name):
        count = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
        report = (
            f"report it to the authors of {name} (`context-bench plugins check {name}` shows all)"
        )
        reason = f"its manifest has {count}: {faults[0]}"
        return State(INVALID, reason, f"{report}, {without}, or uninstall it")
    if not component.target and definition_of(component) is None:
        reason = f"its manifest describes it, but no entry point in context_bench.{kind} names it"
        table = f"[{kind}.{component.name}]"
        remedy = f"add the entry point to {name}, or remove {table} from its manifest"
        return State(INVALID, reason, remedy)
    if not package.exists:
        target = component.target
        reason = f"its entry point {target} names the package {package.name}, which does not exist"
        return State(INVALID, reason, f"reinstall {name}, or uninstall it: `pip uninstall {name}`")
    return None

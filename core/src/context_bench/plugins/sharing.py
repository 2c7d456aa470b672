"""Sharing: what a component takes from another one: the options of an option group, the loader of a
dataset definition.

A component whose group or loader cannot be used cannot be used either, for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from context_bench.installation import install_hint
from context_bench.plugins.component import (
    MISSING_DEPENDENCY,
    OK,
    Component,
    State,
    definition_of,
    stated,
    with_state,
)
from context_bench.plugins.options import Option


def share_options(components: Iterable[Component]) -> list[Component]:
    """Return the components; each one that uses an option group also has the options of the
    group."""
    components = list(components)
    groups = {
        component.name: component
        for component in components
        if component.kind == "flags" and component.is_described
    }
    shared = []
    for component in components:
        for name in component.manifest.option_groups:
            if component.state == OK:
                component = _with_group(component, name, groups.get(name))
        shared.append(component)
    return shared


def _with_group(component: Component, name: str, group: Component | None) -> Component:
    if group is None:
        from context_bench.plugins.first_party import FLAG_GROUPS

        reason = f"it uses the option group {name!r}, which no installed package declares"
        remedy = _install(FLAG_GROUPS.get(name), "declares it")
        return with_state(component, State(MISSING_DEPENDENCY, reason, remedy))
    if group.state != OK:
        use = f"it uses the option group {group.id}"
        return with_state(component, _inherited(use, group))
    options = {
        name: evolve(option, group=group.id) for name, option in group.manifest.options.items()
    }
    options.update(component.manifest.options)
    return evolve(component, manifest=evolve(component.manifest, options=options))


def bind_definitions(components: Iterable[Component]) -> list[Component]:
    """Return the components; each dataset definition has the entry point, options and capabilities
    of its loader."""
    components = list(components)
    loaders = {
        component.name: component
        for component in components
        if component.kind == "datasets" and definition_of(component) is None
    }
    bound = []
    for component in components:
        definition = definition_of(component)
        if definition is not None and component.state == OK:
            component = _with_loader(component, definition.loader, loaders.get(definition.loader))
        bound.append(component)
    return bound


def _with_loader(component: Component, name: str, loader: Component | None) -> Component:
    if loader is None:
        from context_bench.plugins.first_party import COMPONENTS

        first_party = COMPONENTS["datasets"].get(name)
        distribution = first_party.distribution if first_party else None
        reason = f"its definition is read by the loader {name!r}, which no installed package has"
        remedy = _install(distribution, f"has the loader {name!r}")
        return with_state(component, State(MISSING_DEPENDENCY, reason, remedy))
    if loader.state != OK:
        return with_state(component, _inherited(f"its definition is read by {loader.id}", loader))
    options: dict[str, Option] = {}
    for key, option in loader.manifest.options.items():
        # A flag of an option group belongs to every member; a flag of the loader belongs to the
        # loader.
        is_of_loader = option.flag is not None and option.group is None
        options[key] = evolve(option, flag=None) if is_of_loader else option
    options.update(component.manifest.options)
    capabilities = tuple(dict.fromkeys([*loader.capabilities, *component.capabilities]))
    manifest = evolve(component.manifest, options=options, capabilities=capabilities)
    return evolve(component, target=loader.target, manifest=manifest)


def _inherited(use: str, source: Component) -> State:
    reason = f"{use}, which {stated(source.state)}: {source.reason}"
    return State(source.state, reason, source.remedy, source.lacks_extra)


def _install(distribution: str | None, purpose: str) -> str:
    if distribution is None:
        return f"install the package that {purpose}"
    return f"{install_hint(distribution)}"

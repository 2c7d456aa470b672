"""What components share and contest: options of option groups, loaders of cards, names, commands and flags.

What two packages claim is a conflict of both, and what is core's is nobody else's. The order in which packages were
installed never matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from context_bench.plugins.catalog import (
    CONFLICT,
    MISSING_DEPENDENCY,
    OK,
    Component,
    install_line,
    singular,
    stated,
)
from context_bench.plugins.settings import PluginSettings


def settle_groups(components: Iterable[Component]) -> Iterator[Component]:
    """Yield the components; each that uses a option group has the group's options too, or the state that the group is in."""
    components = list(components)
    groups = {
        component.name: component
        for component in components
        if component.kind == "flags" and component.facts
    }
    for component in components:
        for name in component.manifest.option_groups:
            if component.state == OK:
                component = _with_group(component, name, groups.get(name))
        yield component


def _with_group(component: Component, name: str, group: Component | None) -> Component:
    if group is None:
        from context_bench.plugins.first_party import FLAG_GROUPS

        remedy = _install(FLAG_GROUPS.get(name), "declares it")
        why = f"it uses the option group {name!r}, which no installed package declares"
        return component.with_state(MISSING_DEPENDENCY, why, remedy)
    if group.state != OK:
        why = f"it uses the option group {group.id}, which {stated(group.state)}: {group.reason}"
        return component.with_state(group.state, why, group.remedy)
    facts = component.manifest
    shared = {
        key: option._replace(group=group.id) for key, option in group.manifest.options.items()
    }
    return component._replace(facts=facts._replace(options={**shared, **facts.options}))


def settle_definitions(components: Iterable[Component]) -> Iterator[Component]:
    """Yield the components; a card gets the entry point, options and capabilities of its loader, or the state it is in."""
    components = list(components)
    loaders = {c.name: c for c in components if c.kind == "datasets" and not c.manifest.definition}
    for component in components:
        card = component.manifest.definition
        if card and component.state == OK:
            component = _with_loader(component, card["loader"], loaders.get(card["loader"]))
        yield component


def _with_loader(component: Component, name: str, loader: Component | None) -> Component:
    if loader is None:
        from context_bench.plugins.first_party import COMPONENTS

        remedy = _install(
            COMPONENTS["datasets"].get(name, ("", None))[1], f"brings the loader {name!r}"
        )
        why = f"its card is read by the loader {name!r}, which no installed package brings"
        return component.with_state(MISSING_DEPENDENCY, why, remedy)
    if loader.state != OK:
        why = f"its card is read by {loader.id}, which {stated(loader.state)}: {loader.reason}"
        return component.with_state(loader.state, why, loader.remedy)._replace(
            lacks_extra=loader.lacks_extra
        )
    facts, options = component.manifest, dict(loader.manifest.options)
    for key, option in options.items():
        if (
            option.group is None
        ):  # a flag of a option group is everybody's, one of the loader's own is not
            options[key] = option._replace(flag=None)
    needs = tuple(dict.fromkeys((*loader.capabilities, *facts.capabilities)))
    facts = facts._replace(options={**options, **facts.options}, capabilities=needs)
    return component._replace(target=loader.target, facts=facts)


def _install(home: str | None, what: str) -> str:
    return f"`{install_line(home)}`" if home else f"install the package that {what}"


def settle_contests(components: Iterable[Component], settings: PluginSettings) -> list[Component]:
    """Return the components; those that share a short name, a command or a flag with another package are in conflict."""
    return list(_settle_flags(_settle_names(map(_settle_command, components), settings), settings))


def _settle_command(component: Component) -> Component:
    parent, name = component.manifest.parent or "", component.distribution.name
    is_command = (
        component.kind == "commands" and component.state == OK and component.facts is not None
    )
    if (
        not is_command
        or component.manifest.extends is not None
        or component.name not in COMMANDS.get(parent, ())
    ):
        return component
    return component.with_state(
        CONFLICT,
        f"`context-bench {f'{parent} {component.name}'.lstrip()}` is a command of core",
        f"tell the authors of {name}; leave it out with -p no:{component.id}, or uninstall it",
    )


def _settle_names(components: Iterable[Component], settings: PluginSettings) -> Iterator[Component]:
    components, owners = list(components), defaultdict[tuple[str, ...], list[str]](list)
    for component in components:
        if component.state == OK:
            owners[_called(component)].append(component.distribution.name)
    for component in components:
        name, own = component.name, component.distribution.name
        rivals = [owner for owner in owners[_called(component)] if owner != own]
        preferred = settings.preferred.get(name)
        if component.state != OK or not rivals or preferred == own:
            yield component
            continue
        ids = tuple(f"{rival}/{name}" for rival in rivals)
        outranked_by = f"{preferred}/{name}" if preferred in rivals else None
        meaning = f"; the project prefers {outranked_by}" if outranked_by else ""
        contested = component.with_state(
            CONFLICT,
            f"the {singular(component.kind)} name {name!r} is also that of {' and '.join(ids)}{meaning}",
            f'write the whole id {component.id}, or prefer it in context-bench.toml: [plugins.prefer] {name} = "{own}"',
        )
        yield contested._replace(conflicts_with=ids, overridden_by=outranked_by)


def _called(component: Component) -> tuple[str, ...]:
    """Return what nobody else may be called: a command has its name only in its group."""
    return component.kind, component.manifest.parent or "", component.name


def _settle_flags(components: Iterable[Component], settings: PluginSettings) -> Iterator[Component]:
    components, owners = list(components), defaultdict[str, list[str]](list)
    used = {
        name
        for component in components
        if component.state == OK
        for name in component.manifest.option_groups
    }
    for component in components:
        if component.state == OK and (component.kind != "flags" or component.name in used):
            for flag in _flags_of(component):
                owners[flag].append(component.id)
    for component in components:
        yield _judge_flags(component, owners, settings) if component.state == OK else component


def _judge_flags(
    component: Component, owners: dict[str, list[str]], settings: PluginSettings
) -> Component:
    own = component.distribution.name
    for flag in _flags_of(component):
        remedy = f"leave it out with -p no:{component.id}, or tell the authors of {own}"
        if flag in _FLAGS_OF_CORE:
            return component.with_state(CONFLICT, f"{flag} is a flag of core", remedy)
        rivals = [owner for owner in owners[flag] if owner != component.id]
        if rivals and settings.preferred.get(flag) != own:
            remedy = f'say whose it is in context-bench.toml: [plugins.prefer] "{flag}" = "{own}"; or {remedy}'
            return component.with_state(
                CONFLICT, f"{flag} is also a flag of {' and '.join(rivals)}", remedy
            )
    return component


def _flags_of(component: Component) -> list[str]:
    """Return the flags that a component itself declares; those of a group are the group's."""
    return [
        option.flag
        for option in component.manifest.options.values()
        if option.flag and option.group is None
    ]


_FLAGS_OF_CORE = frozenset(
    """
--add-evaluator --add-metric --allow --baseline --brief --cache-dir --dataset --dataset-timeout --dry-run --evaluators
--exclude --extension --field --format --help --help-all --ids --input --keep-going --label --limit --lock-file --locked
--log-format --max-examples --max-failed --max-workers --metrics --model --name --order --output --project --proxy
--quiet --reader --reference-from --repeat --reuse --row-timeout --rpm --run-file --sample --score-field --score-prefix
--seed --set --store-examples --system --text-fields --threshold --tokenizer --tpm --version -d -h -n -o -p -q -s
""".split()  # noqa: SIM905 - written by a program, read by people
)
# No package can declare these; core/generate_first_party.py writes them down from the command line.
_TOP = "run resume rescore report export lock explain plugins datasets systems evaluators metrics"
COMMANDS: dict[str, tuple[str, ...]] = {
    "": tuple(_TOP.split()),
    **dict.fromkeys(("plugins", "datasets", "systems", "evaluators", "metrics"), ("list", "show")),
}
"""Core's commands by their group; the top is the group without a name."""

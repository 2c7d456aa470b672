"""Who owns a name, a command or a flag: what two packages claim is a conflict of both, and what is core's is nobody else's.

The order in which packages were installed never matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from context_bench.plugins.catalog import CONFLICT, MISSING_DEPENDENCY, OK, Component, singular
from context_bench.plugins.settings import PluginSettings


def settle_groups(components: Iterable[Component]) -> Iterator[Component]:
    """Yield the components; each that uses a flag group has the group's options too, or the state that the group is in."""
    components = list(components)
    groups = {component.name: component for component in components if component.kind == "flags"}
    for component in components:
        for name in component.facts.uses if component.facts else ():
            component = _with_group(component, name, groups.get(name))
        yield component


def _with_group(component: Component, name: str, group: Component | None) -> Component:
    facts = component.facts
    if facts is None or component.state != OK:
        return component
    if group is None or group.facts is None:
        from context_bench.plugins.first_party import FLAG_GROUPS

        home = FLAG_GROUPS.get(name)
        remedy = f"`pip install ./core ./plugins/{home}`" if home else "install the package that declares it"
        return component.with_state(
            MISSING_DEPENDENCY, f"it uses the flag group {name!r}, which no installed package declares", remedy
        )
    if group.state != OK:
        why = f"it uses the flag group {group.id}, which is {group.state}: {group.reason}"
        return component.with_state(group.state, why, group.remedy)
    shared = {key: option._replace(group=group.id) for key, option in group.facts.options.items()}
    return component._replace(facts=facts._replace(options={**shared, **facts.options}))


def settle_contests(components: Iterable[Component], settings: PluginSettings) -> list[Component]:
    """Return the components; those that share a short name, a command or a flag with another package are in conflict."""
    return list(_settle_flags(_settle_names(map(_settle_command, components), settings), settings))


def _settle_command(component: Component) -> Component:
    facts = component.facts
    if component.kind != "commands" or component.state != OK or facts is None or facts.extends is not None:
        return component
    if component.name not in COMMANDS.get(facts.parent or "", ()):
        return component
    words = " ".join(filter(None, (facts.parent, component.name)))
    name = component.distribution.name
    return component.with_state(
        CONFLICT,
        f"`context-bench {words}` is a command of core",
        f"tell the authors of {name}; leave it out with -p no:{component.id}, or uninstall it",
    )


def _settle_names(components: Iterable[Component], settings: PluginSettings) -> Iterator[Component]:
    components = list(components)
    owners = _owners(components, _name_of)
    for component in components:
        kind, name, own = component.kind, component.name, component.distribution.name
        rivals = [owner for owner in owners.get(_name_of(component)[0], ()) if owner != own]
        preferred = settings.preferred.get(name)
        if component.state != OK or not rivals or preferred == own:
            yield component
            continue
        others = " and ".join(f"{rival}/{name}" for rival in rivals)
        outranked_by = f"{preferred}/{name}" if preferred in rivals else None
        meaning = f"; the project prefers {outranked_by}" if outranked_by else ""
        remedy = (
            f'write the whole id {component.id}, or prefer it in context-bench.toml: [plugins.prefer] {name} = "{own}"'
        )
        contested = component.with_state(
            CONFLICT, f"the {singular(kind)} name {name!r} is also that of {others}{meaning}", remedy
        )
        yield contested._replace(rivals=tuple(f"{rival}/{name}" for rival in rivals), outranked_by=outranked_by)


def _name_of(component: Component) -> list[tuple[str, ...]]:
    where = component.facts.parent or "" if component.facts else ""
    return [(component.kind, where, component.name)]


def _settle_flags(components: Iterable[Component], settings: PluginSettings) -> Iterator[Component]:
    components = list(components)
    used = {
        name for component in components if component.state == OK and component.facts for name in component.facts.uses
    }
    owners = _owners(
        [component for component in components if component.kind != "flags" or component.name in used],
        _flags_of,
        lambda component: component.id,
    )
    for component in components:
        yield _judge_flags(component, owners, settings)


def _judge_flags(component: Component, owners: dict[tuple[str, ...], list[str]], settings: PluginSettings) -> Component:
    if component.state != OK:
        return component
    for (flag,) in _flags_of(component):
        remedy = f"leave it out with -p no:{component.id}, or tell the authors of {component.distribution.name}"
        if flag in _FLAGS_OF_CORE:
            return component.with_state(CONFLICT, f"{flag} is a flag of core", remedy)
        rivals = [owner for owner in owners.get((flag,), ()) if owner != component.id]
        preferred = settings.preferred.get(flag)
        if rivals and preferred != component.distribution.name:
            prefer = f'[plugins.prefer] "{flag}" = "{component.distribution.name}"'
            return component.with_state(
                CONFLICT,
                f"{flag} is also a flag of {' and '.join(rivals)}",
                f"say whose it is in context-bench.toml: {prefer}; or {remedy}",
            )
    return component


def _flags_of(component: Component) -> list[tuple[str, ...]]:
    """Return the flags that a component itself declares, each in a tuple; those of a group are the group's."""
    options = component.facts.options.values() if component.facts else ()
    return [(option.flag,) for option in options if option.flag and option.group is None]


def _owners(
    components: Iterable[Component],
    claims: Callable[[Component], list[tuple[str, ...]]],
    owner_of: Callable[[Component], str] = lambda component: component.distribution.name,
) -> dict[tuple[str, ...], list[str]]:
    """Return who claims what, among the components that can be used."""
    owners: dict[tuple[str, ...], list[str]] = {}
    for component in components:
        if component.state == OK:
            for claim in claims(component):
                owners.setdefault(claim, []).append(owner_of(component))
    return owners


_FLAGS_OF_CORE = frozenset(
    """
--allow --also --also-metric --baseline --brief --cache-dir --dataset --dataset-timeout --deadline --dry-run
--evaluators --field --format --help --hook --ids --input --keep-going --label --limit --lock-file --locked --log-format
--max-examples --max-failed --max-workers --metrics --model --name --order --output --part --prefix --project --proxy
--quiet --reader --reference-from --reuse --rpm --run-file --sample --samples --score-field --seed --set
--store-examples --system --text-fields --threshold --tokenizer --tpm --version --without -d -h -n -o -p -q -s
""".split()  # noqa: SIM905 - written by a program, read by people
)
# No package can declare these; core/generate_first_party.py writes them down from the command line.
_TOP = "run resume rescore report export lock explain plugins datasets systems evaluators metrics"
COMMANDS: dict[str, tuple[str, ...]] = {
    "": tuple(_TOP.split()),
    "explain": ("wiring",),
    **dict.fromkeys(("plugins", "datasets", "systems", "evaluators", "metrics"), ("list", "show")),
}
"""Core's commands by their group; the top is the group without a name."""

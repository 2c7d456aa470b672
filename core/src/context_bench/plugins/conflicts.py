"""Conflicts: names, commands and flags that two packages claim, or that are core's.

What two packages claim is a conflict of both. The order in which packages were installed never
matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from context_bench.plugins.component import CONFLICT, OK, Component, State, with_state
from context_bench.plugins.remedies import singular
from context_bench.plugins.settings import PluginSettings


def find_conflicts(components: Iterable[Component], settings: PluginSettings) -> list[Component]:
    """Return the components; those that share a name, a command or a flag with another package are
    in conflict."""
    checked = [_check_command(component) for component in components]
    owners = defaultdict[tuple[str, ...], list[str]](list)
    for component in checked:
        if component.state == OK:
            owners[_scope(component)].append(component.distribution.name)
    named = [
        _check_name(component, owners[_scope(component)], settings)
        if component.state == OK
        else component
        for component in checked
    ]
    owners_by_flag = _flag_owners(named)
    return [
        _check_flags(component, owners_by_flag, settings) if component.state == OK else component
        for component in named
    ]


def _check_command(component: Component) -> Component:
    """Return a command; one with the name of a command of core is in conflict."""
    if component.kind != "commands" or component.state != OK or component.command.extends:
        return component
    parent = component.command.parent or ""
    if not component.is_described or component.name not in COMMANDS.get(parent, ()):
        return component
    command = f"{parent} {component.name}".strip()
    authors = component.distribution.name
    remedy = (
        f"tell the authors of {authors}; leave it out with -p no:{component.id}, or uninstall it"
    )
    return with_state(
        component, State(CONFLICT, f"`context-bench {command}` is a command of core", remedy)
    )


def _scope(component: Component) -> tuple[str, ...]:
    """Return what no other component may be called: a command has its name only in its group."""
    parent = component.command.parent if component.kind == "commands" else None
    return component.kind, parent or "", component.name


def _check_name(component: Component, owners: Sequence[str], settings: PluginSettings) -> Component:
    """Return a component; one whose short name other distributions have too is in conflict, unless
    it is preferred."""
    name = component.name
    distribution = component.distribution.name
    rivals = [owner for owner in owners if owner != distribution]
    preferred = settings.preferred.get(name)
    if not rivals or preferred == distribution:
        return component
    ids = tuple(f"{rival}/{name}" for rival in rivals)
    reason = f"the {singular(component.kind)} name {name!r} is also that of {' and '.join(ids)}"
    overridden_by = None
    if preferred in rivals:
        overridden_by = f"{preferred}/{name}"
        reason += f"; the project prefers {overridden_by}"
    preference = f'[plugins.prefer] {name} = "{distribution}"'
    remedy = f"write the whole id {component.id}, or prefer it in context-bench.toml: {preference}"
    stopped = with_state(component, State(CONFLICT, reason, remedy))
    return evolve(stopped, conflicts_with=ids, overridden_by=overridden_by)


def _flag_owners(components: Sequence[Component]) -> Mapping[str, list[str]]:
    """Return the ids of the usable components that declare a flag; a group without a member
    declares none."""
    used: set[str] = set()
    for component in components:
        if component.state == OK:
            used.update(component.manifest.option_groups)
    owners = defaultdict[str, list[str]](list)
    for component in components:
        if component.state == OK and (component.kind != "flags" or component.name in used):
            for flag in _flags_of(component):
                owners[flag].append(component.id)
    return owners


def _check_flags(
    component: Component, owners: Mapping[str, Sequence[str]], settings: PluginSettings
) -> Component:
    distribution = component.distribution.name
    remedy = f"leave it out with -p no:{component.id}, or tell the authors of {distribution}"
    for flag in _flags_of(component):
        if flag in _FLAGS_OF_CORE:
            return with_state(component, State(CONFLICT, f"{flag} is a flag of core", remedy))
        rivals = [owner for owner in owners.get(flag, ()) if owner != component.id]
        if rivals and settings.preferred.get(flag) != distribution:
            reason = f"{flag} is also a flag of {' and '.join(rivals)}"
            preference = f'[plugins.prefer] "{flag}" = "{distribution}"'
            choice = f"say whose it is in context-bench.toml: {preference}; or {remedy}"
            return with_state(component, State(CONFLICT, reason, choice))
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
--add-evaluator --add-metric --allow --bare --baseline --brief --cache-dir --compress-question
--dataset --dataset-timeout --dry-run --evaluators --exclude --executor --extension --field --format
--help --help-all --ids --input --keep-going --label --limit --lock-file --locked --log-format
--max-examples --max-failed --max-workers --metrics --model --name --order --output --project
--proxy --quiet --reader --reference-from --repeat --reuse --row-timeout --rpm --run-file --sample
--score-field --score-prefix --seed --set --shard --store --store-examples --system --text-fields
--threshold --tokenizer --tpm --version -d -h -n -o -p -q -s
""".split()  # noqa: SIM905 - written by a program, read by people
)
# No package can declare these; core/generate_first_party.py writes them from the command line.
_TOP = "run resume rescore report export lock explain plugins datasets systems evaluators metrics"
COMMANDS: dict[str, tuple[str, ...]] = {
    "": tuple(_TOP.split()),
    **dict.fromkeys(("plugins", "datasets", "systems", "evaluators", "metrics"), ("list", "show")),
}
"""Core's commands by their group; the top is the group without a name."""

"""``list`` and ``show``: how components are written for a person, a few lines each, wrapped and never cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from context_bench.cli.common import json_option, no_cache_option, open_catalog, plugin_option, project_option
from context_bench.cli.groups import CommandGroup
from context_bench.console import say, styled, wrapped, write_json
from context_bench.plugins.catalog import BLOCKED, CONFLICT, OK, Catalog, Component, singular
from context_bench.plugins.description import describe
from context_bench.plugins.settings import CORE, load_project

_COLOURS = {OK: "green", BLOCKED: "yellow", CONFLICT: "yellow"}


def listing(catalog: Catalog, shown: Sequence[Component]) -> Iterator[str]:
    """Yield the lines of a list of components.

    Args:
        catalog: Everything that is installed: datasets tell which of its evaluators score them.
        shown: The components to list.
    """
    yield _counts(shown)
    kinds = dict.fromkeys(component.kind for component in shown)
    for kind in kinds:
        components = [component for component in shown if component.kind == kind]
        names = max(len(component.name) for component in components)
        states = max(len(component.state) for component in components)
        yield f"\n{styled(kind.capitalize(), bold=True)}"
        for component in components:
            yield _title(component, names, states)
            yield from _lines(component, catalog)
    if all(component.distribution.name == CORE for component in catalog):
        yield "\nNo plugin is installed. From a checkout: pip install ./core ./plugins/context-bench-answer-quality"


def table(told: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a component that is told as :func:`~context_bench.plugins.description.describe` does."""
    yield styled(told["id"], bold=True)
    for key, value in told.items():
        label = key.replace("_", " ")
        if isinstance(value, dict) and value:
            yield f"    {label}"
            for name, body in value.items():
                yield wrapped(name, _inner(body), 6, max(18, len(name) + 2))
        elif key != "id" and value not in (None, "", [], {}):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else _word(value)
            yield wrapped(label, shown, 4, 22)


def _counts(components: Sequence[Component]) -> str:
    counts: dict[str, int] = {}
    for component in components:
        counts[component.state] = counts.get(component.state, 0) + 1
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items(), key=lambda item: item[0] != OK))
    distributions = len({component.distribution.name for component in components})
    return wrapped("", f"{len(components)} components of {distributions} distributions: {states or 'none'}", 0, 0)


def _title(component: Component, names: int, states: int) -> str:
    mark = " " if component.state == OK else "!"
    name = styled(component.name.ljust(names), bold=True)
    state = styled(component.state.ljust(states), colour=_COLOURS.get(component.state, "red"))
    return f"{mark} {name}  {state}  {component.distribution.name} {component.distribution.version}"


def _lines(component: Component, catalog: Catalog) -> Iterator[str]:
    facts = component.facts
    if facts and facts.summary:
        yield wrapped("", facts.summary, 4, 0)
    if component.state != OK:
        yield wrapped("why", component.reason)
        yield wrapped("remedy", component.remedy)
    if component.kind == "evaluators":
        yield wrapped("wired to", _wiring(component))
        yield wrapped("scores", _scores(component))
    elif component.kind == "datasets" and facts:
        if facts.configs:
            yield wrapped("configs", ", ".join(facts.configs))
        if facts.tags:
            yield wrapped("tags", ", ".join(facts.tags))
        if facts.files:
            yield wrapped("files", " ".join(facts.files))
        yield wrapped("scored by", ", ".join(_scorers(component, catalog)) or "no installed evaluator")
    elif component.kind == "systems" and facts:
        yield wrapped("kind", facts.system_kind)
    elif component.kind == "hooks":
        watches = facts is not None and facts.only_watches
        yield wrapped(
            "implements", ", ".join(facts.implements if facts else ()) or "unknown: its manifest does not say"
        )
        yield wrapped("active", "in every run" if watches else f"only where it is named: --hook {component.name}")
    if component.kind in ("evaluators", "datasets", "systems", "hooks"):
        yield wrapped("needs", _needs(component))
    for warning in component.distribution.warnings:
        yield wrapped("note", warning)


def _wiring(component: Component) -> str:
    if component.facts is None:
        return f"nothing: {_undescribed(component)}, so it works only when asked for by name"
    return "; ".join(map(str, component.facts.wire)) or "nothing: ask for it by name"


def _scores(component: Component) -> str:
    if component.facts is None:
        return f"unknown: {_undescribed(component)}"
    primary = component.facts.primary
    return ", ".join(f"{key} (headline)" if key == primary else key for key in component.facts.scores)


def _scorers(dataset: Component, catalog: Catalog) -> Iterable[str]:
    facts = dataset.facts
    for component in catalog.of_kind("evaluators"):
        rules = component.facts.wire if component.facts else ()
        names, tags = (dataset.name,), facts.tags if facts else ()
        if component.state == OK and any(rule.match(names, tags, frozenset()) for rule in rules):
            yield component.name


def _needs(component: Component) -> str:
    if component.facts is None:
        return f"unknown: {_undescribed(component)}"
    things = [f"key {name[4:]}" if name.startswith("env:") else name for name in component.facts.capabilities]
    owners = {"original": "the example's", "processed": "the output's"}
    fields = [
        f"{owners.get(side, side)} {need.replace('|', ' or ')}"
        for side, needs in component.facts.needs.items()
        for need in needs
    ]
    required = [f"option {option.name}" for option in component.facts.options.values() if option.required]
    return ", ".join([*things, *required, *fields]) or "nothing"


def _undescribed(component: Component) -> str:
    if component.distribution.manifest_path is None:
        return "it has no manifest"
    return "its manifest does not describe it" if component.state == OK else "its manifest cannot be read"


def _inner(body: Any) -> str:
    if isinstance(body, dict):
        told = {key: value for key, value in body.items() if value is not None and value is not False}
        return ", ".join(f"{key} {_word(value)}" for key, value in told.items() if value not in ("", []))
    return ", ".join(map(str, body)) if isinstance(body, list) else _word(body)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return (
            " to ".join("unbounded" if bound is None else f"{bound:g}" for bound in value)
            if _is_range(value)
            else ", ".join(map(str, value))
        )
    return str(value)


def _is_range(value: list[Any]) -> bool:
    return len(value) == 2 and all(bound is None or isinstance(bound, float) for bound in value)


def _group(kind: str) -> click.Group:
    @click.group(kind, cls=CommandGroup, help=f"The installed {kind}.")
    def group() -> None:
        pass

    @group.command("list", help=f"List the installed {kind}, one after the other.")
    @json_option
    @no_cache_option
    @plugin_option
    @project_option
    def list_components(as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> None:
        components = list(open_catalog(plugin_switches, load_project(project_path)).of_kind(kind))
        if as_json:
            write_json([describe(component) for component in components])
            return
        if not components:
            say(f"No {kind} are installed.")
        longest = max((len(component.name) for component in components), default=0)
        for component in components:
            state = "" if component.state == OK else f"[{component.state}] "
            summary = component.facts.summary if component.facts else component.reason or "no manifest"
            say(wrapped(component.name, f"{state}{summary}", 0, longest + 2))

    @group.command("show", help=f"Show everything about one {singular(kind)}.")
    @click.argument("name")
    @json_option
    @plugin_option
    @project_option
    def show_component(name: str, as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None) -> None:
        from context_bench.cli.listing import table

        component = open_catalog(plugin_switches, load_project(project_path)).find(kind, name)
        if as_json:
            write_json(describe(component))
        else:
            say("\n".join([*table(describe(component)), ""]))

    return group


datasets = _group("datasets")
systems = _group("systems")
evaluators = _group("evaluators")
metrics = _group("metrics")

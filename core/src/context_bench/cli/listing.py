"""``list`` and ``show``: how components are written for a person, a few lines each, wrapped and never cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from context_bench.cli.common import Command, json_option, no_cache_option, open_catalog, plugin_option, project_option
from context_bench.cli.groups import CommandGroup
from context_bench.console import printable, say, styled, wrapped, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import BLOCKED, CONFLICT, OK, OPTIONAL, Catalog, Component, singular
from context_bench.plugins.description import describe
from context_bench.plugins.settings import CORE, load_project

EXAMPLES = "context_bench_examples.json"
"""Beside a manifest: an example of each of its datasets, by name, for ``datasets show``."""

_COLOURS = {OK: "green", OPTIONAL: "cyan", BLOCKED: "yellow", CONFLICT: "yellow"}


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
        states = max(len(component.condition) for component in components)
        yield f"\n{styled(kind.capitalize(), bold=True)}"
        for component in components:
            yield _title(component, names, states)
            yield from _lines(component, catalog)
    if all(component.distribution.name == CORE for component in catalog):
        yield "\nNo plugin is installed. From a checkout: pip install ./core ./plugins/context-bench-answer-quality"


def lines_of(catalog: Catalog, shown: Sequence[Component], fields: Sequence[str], columns: int | None) -> Iterator[str]:
    """Yield a heading and one line for each component.

    Args:
        catalog: Everything that is installed.
        shown: The components, in their order.
        fields: What to tell of each: :data:`FIELDS`.
        columns: Where a line is cut off; None for never.
    """
    rows = [fields, *([printable(FIELDS[name](one, catalog), lines=False) for name in fields] for one in shown)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(fields))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(wide) for cell, wide in zip(row, widths)).rstrip()
        line = line if columns is None or len(line) <= columns else line[: columns - 1] + "\u2026"
        trouble = number > 0 and shown[number - 1].condition not in (OK, OPTIONAL)
        yield styled(line, bold=number == 0, colour="red" if trouble else None)
    if columns is not None:
        yield _counts(shown) + "; -v tells more of each."


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
        counts[component.condition] = counts.get(component.condition, 0) + 1
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items(), key=lambda item: item[0] != OK))
    distributions = len({component.distribution.name for component in components})
    return wrapped("", f"{len(components)} components of {distributions} distributions: {states or 'none'}", 0, 0)


def _title(component: Component, names: int, states: int) -> str:
    mark = " " if component.condition in (OK, OPTIONAL) else "!"
    name = styled(component.name.ljust(names), bold=True)
    state = styled(component.condition.ljust(states), colour=_COLOURS.get(component.condition, "red"))
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
        if facts.licence:
            yield wrapped("licence", facts.licence)
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


def _uses(component: Component, catalog: Catalog) -> str:
    if component.kind == "datasets":
        return ", ".join(_scorers(component, catalog))
    return "; ".join(map(str, component.facts.wire)) if component.facts else ""


FIELDS: dict[str, Callable[[Component, Catalog], str]] = {
    "name": lambda component, catalog: component.name,
    "kind": lambda component, catalog: component.noun,
    "state": lambda component, catalog: component.condition,
    "distribution": lambda component, catalog: component.distribution.name,
    "version": lambda component, catalog: component.distribution.told_version,
    "wired-to": _uses,
    "id": lambda component, catalog: component.id,
    "summary": lambda component, catalog: component.facts.summary if component.facts else "",
    "reason": lambda component, catalog: component.reason,
    "capabilities": lambda component, catalog: ", ".join(component.capabilities),
    "location": lambda component, catalog: component.distribution.editable or component.distribution.location,
}
"""What a line can tell of a component; that of a dataset names the evaluators that are wired to it."""
USUAL_FIELDS = tuple(FIELDS)[:6]


def _scores(component: Component) -> str:
    if component.facts is None:
        return f"unknown: {_undescribed(component)}"
    primary = component.facts.primary
    return ", ".join(f"{key} (headline)" if key == primary else key for key in component.facts.scores)


def _tagged(components: list[Component], tags: Sequence[str]) -> list[Component]:
    """Return the components that have every tag; a tag that none has is an error."""
    of = {id(component): component.facts.tags if component.facts else () for component in components}
    for tag in tags:
        known = {each for found in of.values() for each in found}
        if tag not in known:
            raise UnknownNameError("tag of a dataset", tag, known, f"There are: {', '.join(sorted(known))}.")
    return [component for component in components if set(tags) <= set(of[id(component)])]


def _scored_by(component: Component, catalog: Catalog) -> dict[str, Any]:
    return {"scored_by": list(_scorers(component, catalog))} if component.kind == "datasets" else {}


def _use(dataset: Component, catalog: Catalog) -> dict[str, Any]:
    """Return what a run on a dataset would score, why, and one of its examples, which its package brings."""
    from context_bench.bench.wiring_report import explain_wiring
    from context_bench.plugins.plan import Choice

    report = explain_wiring(catalog, dataset.name, (), Choice())
    wired = {each["evaluator"]: each["reason"] for each in report["evaluators"] if each["wired"]}
    notes = [note for note in (report["error"], *report["warnings"]) if note]
    found: dict[str, Any] = {"headline": report["headline"], "evaluators": wired, "notes": notes}
    path = dataset.distribution.manifest_path and Path(dataset.distribution.manifest_path).with_name(EXAMPLES)
    if path and path.is_file():
        try:
            found["one_example"] = json.loads(path.read_text("utf-8"))[dataset.name]
        except (OSError, ValueError, LookupError, TypeError) as error:
            found["one_example"] = {"cannot be read": f"{path}: {type(error).__name__}: {error}"}
    return found


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


def _tag_option(kind: str) -> Callable[[Command], Command]:
    """Return the option ``--tag`` for datasets, which have tags; nothing for others."""
    option = click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; repeatable.")
    return option if kind == "datasets" else lambda command: command


def _group(kind: str) -> click.Group:
    @click.group(kind, cls=CommandGroup, help=f"The installed {kind}.")
    def group() -> None:
        pass

    @group.command("list", help=f"List the installed {kind}, one after the other.")
    @_tag_option(kind)
    @json_option
    @no_cache_option
    @plugin_option
    @project_option
    def list_components(
        as_json: bool, plugin_switches: tuple[str, ...], project_path: Path | None, tags: tuple[str, ...] = ()
    ) -> None:
        catalog = open_catalog(plugin_switches, load_project(project_path))
        components = _tagged(list(catalog.of_kind(kind)), tags)
        if as_json:
            write_json([describe(component) | _scored_by(component, catalog) for component in components])
        elif not components:
            say(f"No {kind} are installed.")
        elif kind == "datasets":
            say("\n".join(listing(catalog, components)))
        else:
            longest = max(len(component.name) for component in components)
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
        catalog = open_catalog(plugin_switches, load_project(project_path))
        component = catalog.find(kind, name)
        told = describe(component) | (_use(component, catalog) if kind == "datasets" else {})
        if as_json:
            write_json(told)
        else:
            say("\n".join([*table(told), ""]))

    return group


datasets = _group("datasets")
systems = _group("systems")
evaluators = _group("evaluators")
metrics = _group("metrics")

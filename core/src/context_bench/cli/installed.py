"""``plugins``, ``datasets``, ``systems``, ``evaluators`` and ``metrics``: list and show what is
installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_bench.cli.commands import CommandGroup
from context_bench.cli.listed import FIELDS, USUAL_FIELDS, lines_of, listing, overview, scorers
from context_bench.cli.options import Command, catalog_options, json_option
from context_bench.console import echo, echo_err, style, wrap_text, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import PACKAGE_HINT, Catalog
from context_bench.plugins.component import OK, OPTIONAL, STATES, Component, aliases_of
from context_bench.plugins.describe import describe
from context_bench.plugins.manifest import KINDS
from context_bench.plugins.remedies import singular

if TYPE_CHECKING:
    from context_bench.plugins.wiring import DatasetPlan

EXAMPLES = "context_bench_examples.json"
"""A file next to a manifest: an example of each of its datasets, by name, for ``datasets show``."""


@click.group(cls=CommandGroup)
def plugins() -> None:
    """What is installed, in what state, wired to what."""


@plugins.command("list")
@click.option(
    "--kind", type=click.Choice(KINDS), metavar="KIND", help=f"Only these: {', '.join(KINDS)}."
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice((*STATES, OPTIONAL)),
    metavar="STATE",
    help=f"Only those that are: {', '.join((*STATES, OPTIONAL))}; repeatable.",
)
@click.option(
    "--wired-to", metavar="DATASET", help="Only the evaluators that would score this dataset."
)
@click.option(
    "--fields", metavar="A,B", help=f"One line for each, with these: {', '.join(FIELDS)}."
)
@click.option(
    "--sort",
    type=click.Choice(tuple(FIELDS)),
    metavar="FIELD",
    help="In the order of one of the fields.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Show each component with its scores and needs."
)
@json_option
@catalog_options
def list_plugins(
    *,
    kind: str | None,
    states: tuple[str, ...],
    wired_to: str | None,
    fields: str | None,
    sort: str | None,
    verbose: bool,
    as_json: bool,
    catalog: Catalog,
) -> None:
    """List what is installed: an overview of one screen, or each component with -v or a selection.

    Nothing is imported, so this works with every plugin broken. `plugins check` imports them.
    """
    shown = [component for component in catalog if kind in (None, component.kind)]
    if states:
        selected = set(states)
        shown = [component for component in shown if {component.status, component.state} & selected]
    if wired_to is not None:
        wired = {decision.evaluator for decision in _plan(catalog, wired_to).wired}
        shown = [
            component
            for component in shown
            if component.kind == "evaluators" and component.id in wired
        ]
    if sort is not None:
        field = FIELDS[sort]
        shown.sort(key=lambda component: (field(component, catalog), component.kind, component.id))
    is_selection = kind is not None or bool(states) or wired_to is not None or sort is not None
    if as_json:
        write_json([describe(component) for component in shown])
    elif fields is not None:
        echo("\n".join(lines_of(catalog, shown, _fields(fields))))
    elif verbose or is_selection:
        echo("\n".join(listing(catalog, shown)))
    else:
        echo("\n".join(overview(catalog)))


def _fields(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in FIELDS:
            raise UnknownNameError("field", name, FIELDS)
    return names or list(USUAL_FIELDS)


@plugins.command("schema")
@click.argument("file", type=click.Choice(("manifest", "project")))
@catalog_options
def schema(file: str, catalog: Catalog) -> None:
    """Write a JSON Schema, by which editors complete and check a FILE.

    FILE is manifest, for context_bench_plugin.toml, or project, for context-bench.toml. The schema
    of the project file has the options of everything that is installed.
    """
    if file == "manifest":
        from context_bench.plugins.json_schema import manifest_schema

        write_json(manifest_schema())
    else:
        from context_bench.plan.project_schema import project_schema

        write_json(project_schema(component.manifest for component in catalog))


@plugins.command("show")
@click.argument("name")
@json_option
@catalog_options
def show(name: str, as_json: bool, catalog: Catalog) -> None:
    """Show all facts about a component or a distribution."""
    components = [component for component in catalog if name in component.names]
    components = components or [component for component in catalog if name in aliases_of(component)]
    if not components:
        components = _scoring(name, catalog)
    if not components:
        known: set[str] = set()
        for component in catalog:
            known.update(other for other in component.names if "/" not in other)
        raise UnknownNameError("plugin", name, known, PACKAGE_HINT)
    descriptions = [describe(component) for component in components]
    if as_json:
        write_json(descriptions)
    else:
        _print_tables(descriptions)


def _scoring(name: str, catalog: Catalog) -> list[Component]:
    """Return the evaluators that give a score of this name, and print which these are."""
    found = [one for one in catalog.of_kind("evaluators") if name in one.evaluator.scores]
    if found:
        echo_err(f"{name} is a score of {', '.join(one.id for one in found)}.")
    return found


def _print_tables(descriptions: list[dict[str, Any]]) -> None:
    lines: list[str] = []
    for description in descriptions:
        lines += [*table(description), ""]
    echo("\n".join(lines))


def table(description: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a component from its :func:`~context_bench.plugins.describe.describe`."""
    yield style(description["id"], bold=True)
    for key, value in description.items():
        label = key.replace("_", " ")
        if isinstance(value, dict) and value:
            yield f"    {label}"
            for name, body in value.items():
                yield wrap_text(name, _inner(body), 6, max(18, len(name) + 2))
        elif key != "id" and value not in (None, "", [], {}):
            yield wrap_text(label, _inner(value), 4, 22)


def _tagged(components: list[Component], tags: Sequence[str]) -> list[Component]:
    """Return the components that have every tag.

    Raises:
        UnknownNameError: No component has a tag.
    """
    if not tags:
        return components
    known: set[str] = set()
    for component in components:
        known.update(component.dataset.tags)
    for tag in tags:
        if tag not in known:
            raise UnknownNameError(
                "tag of a dataset", tag, known, f"There are: {', '.join(sorted(known))}."
            )
    return [component for component in components if set(tags) <= set(component.dataset.tags)]


def _plan(catalog: Catalog, dataset: str) -> DatasetPlan:
    from context_bench.plan.run_config import RunConfig

    return RunConfig().explanation(catalog, [dataset]).plans[0]


def _use(dataset: Component, catalog: Catalog) -> dict[str, Any]:
    """Return the evaluators of a run on a dataset with reasons, and an example of its package."""
    plan = _plan(catalog, dataset.name)
    wired = {decision.evaluator: decision.reason for decision in plan.ranked if decision.wired}
    notes = [note for note in (plan.error, *plan.warnings) if note]
    use: dict[str, Any] = {"primary_score": plan.primary, "evaluators": wired, "notes": notes}
    manifest = dataset.distribution.manifest_path
    path = Path(manifest).with_name(EXAMPLES) if manifest else None
    if path is not None and path.is_file():
        try:
            use["one_example"] = json.loads(path.read_text("utf-8"))[dataset.name]
        except (OSError, ValueError, RecursionError, LookupError, TypeError) as error:
            use["one_example"] = {"cannot be read": f"{path}: {type(error).__name__}: {error}"}
    return use


def _inner(body: Any) -> str:
    if isinstance(body, list):
        return ", ".join(map(str, body))
    if not isinstance(body, dict):
        return _word(body)
    phrases: list[str] = []
    for key, value in body.items():
        if value is not None and value is not False and value not in ("", []):
            phrases.append(f"{key} {_word(value)}")
    return ", ".join(phrases)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, list):
        return str(value)
    is_range = len(value) == 2 and all(bound is None or isinstance(bound, float) for bound in value)
    if is_range:
        return " to ".join("unbounded" if bound is None else f"{bound:g}" for bound in value)
    return ", ".join(map(str, value))


def _tag_option(kind: str) -> Callable[[Command], Command]:
    """Return the option ``--tag`` for datasets, which have tags; nothing for others."""
    option = click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; repeatable."
    )
    return option if kind == "datasets" else lambda command: command


def _listed(component: Component, catalog: Catalog) -> dict[str, Any]:
    """Return the description of a component in a list; of a dataset with its evaluators."""
    description = describe(component)
    if component.kind == "datasets":
        description["scored_by"] = list(scorers(component, catalog))
    return description


def _summary(component: Component) -> str:
    summary = component.reason or "no manifest"
    if component.is_described:
        summary = component.manifest.summary
    return summary if component.state == OK else f"[{component.state}] {summary}"


def _group(kind: str) -> click.Group:
    @click.group(kind, cls=CommandGroup, help=f"The installed {kind}.")
    def group() -> None:
        pass

    @group.command("list", help=f"List the installed {kind}, one after the other.")
    @_tag_option(kind)
    @json_option
    @catalog_options
    def list_components(as_json: bool, catalog: Catalog, tags: tuple[str, ...] = ()) -> None:
        components = _tagged(list(catalog.of_kind(kind)), tags)
        if as_json:
            write_json([_listed(component, catalog) for component in components])
        elif not components:
            echo(f"No {kind} are installed.")
        elif kind == "datasets":
            echo("\n".join(listing(catalog, components)))
        else:
            longest = max(len(component.name) for component in components)
            for component in components:
                echo(wrap_text(component.name, _summary(component), 0, longest + 2))

    @group.command("show", help=f"Show everything about one {singular(kind)}.")
    @click.argument("name")
    @json_option
    @catalog_options
    def show_component(name: str, as_json: bool, catalog: Catalog) -> None:
        names = {other for one in catalog.of_kind(kind) for other in (*one.names, *aliases_of(one))}
        scoring = _scoring(name, catalog) if kind == "evaluators" and name not in names else []
        component = scoring[0] if scoring else catalog.find(kind, name)
        description = describe(component)
        if kind == "datasets":
            description |= _use(component, catalog)
        if as_json:
            write_json(description)
        else:
            _print_tables([description])

    return group


datasets, systems, evaluators, metrics = map(
    _group, ("datasets", "systems", "evaluators", "metrics")
)

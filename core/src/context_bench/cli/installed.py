"""``plugins``, ``datasets``, ``systems``, ``evaluators`` and ``metrics``: what is installed, listed
and shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from context_bench.cli.commands import CommandGroup
from context_bench.cli.listed import FIELDS, USUAL_FIELDS, lines_of, listing, overview, scorers
from context_bench.cli.options import Command, catalog_options, json_option
from context_bench.console import echo, style, wrap_text, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import PACKAGE_HINT, Catalog
from context_bench.plugins.component import OK, OPTIONAL, STATES, Component, aliases_of
from context_bench.plugins.describe import describe
from context_bench.plugins.manifest import KINDS
from context_bench.plugins.remedies import singular

if TYPE_CHECKING:
    from context_bench.plugins.wiring import DatasetPlan

EXAMPLES = "context_bench_examples.json"
"""Beside a manifest: an example of each of its datasets, by name, for ``datasets show``."""


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
        shown = [one for one in shown if {one.status, one.state} & selected]
    if wired_to is not None:
        wired = {decision.evaluator for decision in _plan(catalog, wired_to).wired}
        shown = [one for one in shown if one.kind == "evaluators" and one.id in wired]
    if sort is not None:
        shown.sort(key=lambda one: (FIELDS[sort](one, catalog), one.kind, one.id))
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


@plugins.command("show")
@click.argument("name")
@json_option
@catalog_options
def show(name: str, as_json: bool, catalog: Catalog) -> None:
    """Show everything that is known about a component or a distribution."""
    found = [component for component in catalog if name in component.names]
    found = found or [component for component in catalog if name in aliases_of(component)]
    if not found:
        raise UnknownNameError(
            "plugin", name, {n for c in catalog for n in c.names if "/" not in n}, PACKAGE_HINT
        )
    _tell([describe(component) for component in found], as_json)


def _tell(told: list[dict[str, Any]], as_json: bool, is_one: bool = False) -> None:
    if as_json:
        write_json(told[0] if is_one else told)
    else:
        echo("\n".join(line for one in told for line in (*table(one), "")))


def table(told: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a component that is told as
    :func:`~context_bench.plugins.describe.describe` does."""
    yield style(told["id"], bold=True)
    for key, value in told.items():
        label = key.replace("_", " ")
        if isinstance(value, dict) and value:
            yield f"    {label}"
            for name, body in value.items():
                yield wrap_text(name, _inner(body), 6, max(18, len(name) + 2))
        elif key != "id" and value not in (None, "", [], {}):
            yield wrap_text(label, _inner(value), 4, 22)


def _tagged(components: list[Component], tags: Sequence[str]) -> list[Component]:
    """Return the components that have every tag; a tag that none has is an error."""
    if not tags:
        return components
    for tag in tags:
        known = {each for component in components for each in component.dataset.tags}
        if tag not in known:
            raise UnknownNameError(
                "tag of a dataset", tag, known, f"There are: {', '.join(sorted(known))}."
            )
    return [component for component in components if set(tags) <= set(component.dataset.tags)]


def _plan(catalog: Catalog, dataset: str) -> DatasetPlan:
    from context_bench.plan.run_config import RunConfig

    return RunConfig().explanation(catalog, [dataset]).plans[0]


def _use(dataset: Component, catalog: Catalog) -> dict[str, Any]:
    """Return what a run on a dataset would score, why, and one of its examples, which its package
    brings."""
    plan = _plan(catalog, dataset.name)
    wired = {decision.evaluator: decision.reason for decision in plan.ranked if decision.wired}
    notes = [note for note in (plan.error, *plan.warnings) if note]
    found: dict[str, Any] = {"primary_score": plan.primary, "evaluators": wired, "notes": notes}
    path = dataset.distribution.manifest_path and Path(
        dataset.distribution.manifest_path
    ).with_name(EXAMPLES)
    if path and path.is_file():
        try:
            found["one_example"] = json.loads(path.read_text("utf-8"))[dataset.name]
        except (OSError, ValueError, RecursionError, LookupError, TypeError) as error:
            found["one_example"] = {"cannot be read": f"{path}: {type(error).__name__}: {error}"}
    return found


def _inner(body: Any) -> str:
    if not isinstance(body, dict):
        return ", ".join(map(str, body)) if isinstance(body, list) else _word(body)
    told = {key: value for key, value in body.items() if value is not None and value is not False}
    return ", ".join(
        f"{key} {_word(value)}" for key, value in told.items() if value not in ("", [])
    )


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, list):
        return str(value)
    is_range = len(value) == 2 and all(bound is None or isinstance(bound, float) for bound in value)
    told = (
        ["unbounded" if bound is None else f"{bound:g}" for bound in value]
        if is_range
        else map(str, value)
    )
    return (" to " if is_range else ", ").join(told)


def _tag_option(kind: str) -> Callable[[Command], Command]:
    """Return the option ``--tag`` for datasets, which have tags; nothing for others."""
    option = click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Only those with this tag; repeatable."
    )
    return option if kind == "datasets" else lambda command: command


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
            of = [
                {"scored_by": list(scorers(one, catalog))} if kind == "datasets" else {}
                for one in components
            ]
            write_json([describe(component) | scored for component, scored in zip(components, of)])
        elif not components:
            echo(f"No {kind} are installed.")
        elif kind == "datasets":
            echo("\n".join(listing(catalog, components)))
        else:
            longest = max(len(component.name) for component in components)
            for component in components:
                state = "" if component.state == OK else f"[{component.state}] "
                summary = (
                    component.manifest.summary
                    if component.is_described
                    else component.reason or "no manifest"
                )
                echo(wrap_text(component.name, f"{state}{summary}", 0, longest + 2))

    @group.command("show", help=f"Show everything about one {singular(kind)}.")
    @click.argument("name")
    @json_option
    @catalog_options
    def show_component(name: str, as_json: bool, catalog: Catalog) -> None:
        component = catalog.find(kind, name)
        _tell(
            [describe(component) | (_use(component, catalog) if kind == "datasets" else {})],
            as_json,
            is_one=True,
        )

    return group


datasets, systems, evaluators, metrics = map(
    _group, ("datasets", "systems", "evaluators", "metrics")
)

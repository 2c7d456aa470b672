"""``datasets``, ``systems``, ``evaluators`` and ``metrics``: each lists its kind, and shows one of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from context_bench.cli.groups import CommandGroup
from context_bench.cli.listed import listing, scorers
from context_bench.cli.options import Command, json_option, no_cache_option, open_catalog, plugin_option, project_option
from context_bench.console import say, styled, wrapped, write_json
from context_bench.errors import UnknownNameError
from context_bench.plugins.catalog import OK, Catalog, Component, describe, singular
from context_bench.plugins.settings import load_project

EXAMPLES = "context_bench_examples.json"
"""Beside a manifest: an example of each of its datasets, by name, for ``datasets show``."""


def table(told: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a component that is told as :func:`~context_bench.plugins.catalog.describe` does."""
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


def _tagged(components: list[Component], tags: Sequence[str]) -> list[Component]:
    """Return the components that have every tag; a tag that none has is an error."""
    of = {id(component): component.facts.tags if component.facts else () for component in components}
    for tag in tags:
        known = {each for found in of.values() for each in found}
        if tag not in known:
            raise UnknownNameError("tag of a dataset", tag, known, f"There are: {', '.join(sorted(known))}.")
    return [component for component in components if set(tags) <= set(of[id(component)])]


def _scored_by(component: Component, catalog: Catalog) -> dict[str, Any]:
    return {"scored_by": list(scorers(component, catalog))} if component.kind == "datasets" else {}


def _use(dataset: Component, catalog: Catalog) -> dict[str, Any]:
    """Return what a run on a dataset would score, why, and one of its examples, which its package brings."""
    from context_bench.cli.explain import explain_wiring
    from context_bench.plugins.wiring import Choice

    report = explain_wiring(catalog, dataset.name, (), Choice())
    wired = {each["evaluator"]: each["reason"] for each in report["evaluators"] if each["wired"]}
    notes = [note for note in (report["error"], *report["warnings"]) if note]
    found: dict[str, Any] = {"headline": report["headline"], "evaluators": wired, "notes": notes}
    path = dataset.distribution.manifest_path and Path(dataset.distribution.manifest_path).with_name(EXAMPLES)
    if path and path.is_file():
        try:
            found["one_example"] = json.loads(path.read_text("utf-8"))[dataset.name]
        except (OSError, ValueError, RecursionError, LookupError, TypeError) as error:
            found["one_example"] = {"cannot be read": f"{path}: {type(error).__name__}: {error}"}
    return found


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

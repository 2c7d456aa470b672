"""``context-bench cite``: the BibTeX of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from context_bench.catalog import Catalog, Component, open_catalog
from context_bench.console import echo, escape_control
from context_bench.runs import Run, open_run
from context_bench_reports.bibtex import Work, bibtex, works_in


@click.command()
@click.argument("run_file", metavar="RUN", type=click.Path(path_type=Path))
def cite(run_file: Path) -> None:
    """Write the BibTeX of the datasets, evaluators and systems of a run.

    Citations come from the manifests of what is installed. What has none is in a comment.
    """
    with open_run(run_file) as run:
        found = citations_of(run, open_catalog())
    for remark in found.remarks:
        echo(f"% {escape_control(remark, lines=False)}")
    for entry in bibtex(found.works):
        echo()
        echo(escape_control(entry))


class Citations:
    """What a run is to cite.

    Attributes:
        works: The works, that of context-bench first.
        remarks: What is not cited, and why, a line each.
    """

    def __init__(self) -> None:
        self.works: list[Work] = []
        self.remarks: list[str] = []


def citations_of(run: Run, catalog: Catalog) -> Citations:
    """Return what a run used that is cited, and what it used that is not.

    Args:
        run: An open run.
        catalog: What is installed, whose manifests have the citations.
    """
    found = Citations()
    version = str(run.provenance.get("context_bench", ""))
    found.works.append(Work("", "", f"context-bench {version}".strip()))
    for kind, name, used_version in dict.fromkeys(_used(run, catalog)):
        noun = kind.removesuffix("s")
        component = next(iter(catalog.named(kind, name)), None)
        if component is None:
            found.remarks.append(f"{noun} {name}: not installed, so that its citation is unknown")
            continue
        if used_version and component.manifest.version != used_version:
            found.remarks.append(
                f"{noun} {name}: version {used_version} in the run, {component.manifest.version} here"
            )
        works = list(_works(component))
        if not works:
            found.remarks.append(f"{noun} {name}: its manifest has no citation")
        found.works += works
    return found


def _works(component: Component) -> Iterator[Work]:
    manifest = component.manifest
    yield from works_in(manifest.citation, getattr(manifest, "homepage", ""))


def _used(run: Run, catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """Yield kind, id and version of what a run used, as its file has them; objects have no id and are left out.

    Rows of a file may have the label of an installed dataset, whose version is unknown then.
    """
    loaded = [str(dataset["description"].get("component", "")) for dataset in run.datasets]
    for dataset in run.datasets:
        yield from _described("datasets", dataset["description"], "component")
    for plan in run.plan.values():
        for name in plan.get("names", ()):
            for component in catalog.named("datasets", str(name)):
                if component.id not in loaded:
                    yield "datasets", component.id, ""
    for evaluator in run.evaluators:
        provenance = evaluator["provenance"]
        if provenance.get("distribution"):
            yield "evaluators", str(evaluator["id"]), str(provenance.get("version", ""))
    for system in run.systems:
        yield from _described("systems", system["description"], "adapter")


def _described(
    kind: str, description: Mapping[str, Any], key: str
) -> Iterator[tuple[str, str, str]]:
    if description.get(key):
        yield kind, str(description[key]), str(description.get("version", ""))

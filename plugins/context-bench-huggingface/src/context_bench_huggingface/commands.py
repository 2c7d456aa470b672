"""``context-bench datasets fetch`` and ``datasets preview``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from context_bench.catalog import Catalog, open_catalog
from context_bench.config import examples_of, load_config
from context_bench.console import atomic_write, echo, echo_err, write_json
from context_bench.errors import ConfigurationError
from context_bench_huggingface.access import Access
from context_bench_huggingface.loader import HubLoader, hf
from context_bench_huggingface.pins import with_pins

_LONGEST = 400


@click.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--to", "folder", required=True, metavar="FOLDER", help="Folder for the copies; it is made."
)
@click.option("--split", help="Split to fetch in place of the dataset's own.")
@click.option("--revision", help="Commit, tag or branch in place of the dataset's own.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def fetch(
    names: tuple[str, ...], folder: str, split: str | None, revision: str | None, as_json: bool
) -> int:
    """Download datasets into a folder, for a machine without network.

    NAME is the name of a dataset, with a configuration behind a colon where it has several, or hf:owner/name. There, read the
    copies with --datasets-folder FOLDER --offline. A copy that was changed since is refused.
    """
    access = Access(os.environ.get("HF_TOKEN"))
    catalog = open_catalog()
    labels: list[dict[str, Any]] = []
    for name in names:
        loader, config = _loader(catalog, name)
        if not isinstance(loader, HubLoader):
            raise ConfigurationError(
                f"The dataset {name!r} is not read from the hub: there is nothing to fetch."
            )
        for label in loader.fetch(folder, config, split, access=access, revision=revision):
            labels.append({"name": name, **label})
            if not as_json:
                what = " ".join(filter(None, [label["source"], label["config"], label["split"]]))
                echo_err(
                    f"{name}: {label['records']} records of {what} at {label['revision'][:12]}"
                )
    if as_json:
        write_json(labels)
    else:
        echo(f"{sum(label['records'] for label in labels)} records in {folder}")
    return 0


@click.command("pin")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--split", "splits", multiple=True, help="Split to pin; all of the card without one.")
@click.option("--write", is_flag=True, help="Write the pins into the manifests of a checkout.")
def pin(names: tuple[str, ...], splits: tuple[str, ...], write: bool) -> int:
    """Read datasets whole as the hub has them now, and show the tables of a manifest that pin them.

    NAME is the name of a dataset, with a configuration behind a colon; `all` pins each of its parts. A pinned dataset is read
    at its commit, and its records are compared with the pin; `revision=latest` reads the hub's.
    """
    access = Access(os.environ.get("HF_TOKEN"))
    catalog = open_catalog()
    for name in names:
        component = catalog.find("datasets", name.partition(":")[0]).require_ok()
        loader, config = _loader(catalog, name)
        if not isinstance(loader, HubLoader) or loader.definition is None:
            raise ConfigurationError(f"The dataset {name!r} has no card that is read from the hub.")
        place = Path(component.distribution.manifest_path or "")
        if write and not component.distribution.editable:
            raise ConfigurationError(
                f"{component.distribution.name} is no editable install, so its manifest is not changed. Leave out --write."
            )
        wanted_splits = splits or component.dataset.splits or (None,)
        tables = list(loader.pins(config, wanted_splits, access))
        for table in tables:
            echo(table)
        if write:
            text = with_pins(place.read_text(encoding="utf-8"), component.name, tables)
            with atomic_write(place, "The manifest") as file:
                file.write(text)
            echo_err(f"{name}: {place}")
    return 0


@click.command("preview")
@click.argument("name", metavar="NAME")
@click.option(
    "-n",
    "count",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Examples to show.",
)
@click.option("--split", help="Split to read in place of the dataset's own.")
@click.option("--datasets-folder", "folder", metavar="FOLDER", help="Folder with fetched copies.")
@click.option("--offline", is_flag=True, help="Read fetched copies only.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def preview(
    *, name: str, count: int, split: str | None, folder: str | None, offline: bool, as_json: bool
) -> int:
    """Show the first examples of a dataset; long texts are cut, unless as JSON.

    NAME is what `run --dataset` takes: a name, with configuration and options, hf:owner/name, or a file or folder.
    """
    config = load_config(project={"datasets": [name]})
    [spec] = config.datasets
    given = {"folder": folder, "offline": offline or None}
    own = {key: value for key, value in given.items() if value is not None}
    spec = evolve(spec, split=split or spec.split, options={**spec.options, **own})
    asked = evolve(config, datasets=(spec,), limit=count)
    examples = [dict(example) for _, example in examples_of(open_catalog(), asked, count)]
    if as_json:
        write_json(examples)
        return 0
    for number, example in enumerate(examples):
        echo(f"{chr(10) if number else ''}example {number + 1} of {name}")
        for line in _shown(example):
            echo(line)
    return 0


def _loader(catalog: Catalog, name: str) -> tuple[Any, str | None]:
    """Return what loads a dataset, and its configuration."""
    short, _, config = name.partition(":")
    component = catalog.find("datasets", short).require_ok()
    definition = component.dataset.definition
    if definition is not None and definition.loader == "hf":
        described = component.dataset.described()
        return hf.from_definition(component.name, described), config or None
    module, _, attribute = component.target.partition(":")
    return getattr(import_module(module), attribute), config or None


def _shown(example: dict[str, Any]) -> Iterator[str]:
    for field, value in example.items():
        text = value if isinstance(value, str) else repr(value)
        cut = f" ... ({len(text)} characters)" if len(text) > _LONGEST else ""
        yield f"  {field}: {text[:_LONGEST]}{cut}"

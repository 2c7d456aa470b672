"""What a lock file holds beyond the wiring: options of evaluators, the content of editable
installs, and the sources of datasets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_bench.plan.specs import DatasetSpec
from context_bench.plugins.component import Component, edition_of
from context_bench.redaction import without_secrets

if TYPE_CHECKING:
    from context_bench.plan.plan import Plan, PlannedDataset

_SOURCES = (".py", ".toml")
_CHUNK = 1 << 20


def lock_record(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the sections of a lock file about a plan, as JSON-like values; no secret is in
    them."""
    return {
        "options": _options(plan),
        "content": _content(plan),
        "sources": {
            dataset.facts.label: _source(dataset)
            for dataset in plan.datasets
            if dataset.facts is not None
        },
    }


def _options(plan: Plan) -> dict[str, Any]:
    """Return the options that the user gave to each evaluator of the plan, by id."""
    return {
        component.id: without_secrets([component], plan.config.options_of(component))
        for component in _wired(plan)
    }


def _content(plan: Plan) -> dict[str, Any]:
    """Return a hash of the sources of each distribution in use that is an editable install."""
    loaders = [dataset.component for dataset in plan.datasets if dataset.component is not None]
    extensions = [extension.component for extension in plan.extensions]
    hashes = {}
    for component in (*_wired(plan), *loaders, *extensions):
        distribution = component.distribution
        manifest = distribution.manifest_path
        if distribution.editable and manifest and distribution.name not in hashes:
            hashes[distribution.name] = _hash_of_sources(Path(manifest).parent)
    return hashes


def _wired(plan: Plan) -> Iterator[Component]:
    for wiring in plan.wiring.values():
        for decision in wiring.wired:
            yield decision.component


def _source(dataset: PlannedDataset) -> dict[str, Any]:
    """Return where the rows of a dataset come from, and what their file or folder contains now."""
    spec = dataset.source
    component = dataset.component
    record: dict[str, Any] = {}
    if component is not None:
        record["component"] = component.id
        record |= edition_of(component)
    if isinstance(spec, DatasetSpec):
        shown = without_secrets([component] if component else [], spec.options)
        path = shown.pop("path", None)
        record |= {"config": spec.config, "split": spec.split, "options": shown}
        if isinstance(path, str):
            record["sha256"] = _hash_of_path(Path(os.path.expanduser(path)))
    return record


def _hash_of_sources(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in _SOURCES]
    return _hash_of(path for path in files if path.is_file())


def _hash_of_path(path: Path) -> str | None:
    if path.is_dir():
        return _hash_of(one for one in sorted(path.iterdir()) if one.is_file())
    return _hash_of([path]) if path.is_file() else None


def _hash_of(files: Any) -> str:
    whole = sha256()
    for file in files:
        content = sha256()
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
        whole.update(f"{file.name}\n{content.hexdigest()}\n".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def drift_of(locked: Mapping[str, Any], now: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what differs between the sections of a lock file and those of a plan.

    Args:
        locked: The lock file.
        now: What :func:`lock_record` returns.
    """
    for section, entries in now.items():
        found = locked.get(section)
        before = found if isinstance(found, Mapping) else {}
        for name, entry in entries.items():
            if name in before and before[name] != entry:
                yield f"{_WORDS[section]} {name} was {before[name]!r}, is {entry!r}"


_WORDS = {
    "options": "the options of",
    "content": "the source code of the editable install",
    "sources": "the source of dataset",
}

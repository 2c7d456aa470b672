"""Open the datasets of a run: load specs, wrap objects, and record what the examples come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_bench.errors import (
    ContextBenchError,
    DatasetError,
    message_of,
    reason_of,
)
from context_bench.plan.datasets import describe_dataset, find_dataset
from context_bench.plan.specs import (
    DatasetSpec,
    Examples,
)
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component, edition_of
from context_bench.plugins.loading import load
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import (
    DatasetFacts,
)
from context_bench.redaction import Redactor, secret_values, without_secrets
from context_bench.run.examples import bounded
from context_bench.run.model import (
    RunDataset,
    gold_sources,
)
from context_bench.session.fields import rename_fields

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig


_CHUNK = 1 << 20


_LONGEST = 200


def make_stream(
    catalog: Catalog,
    dataset: DatasetSpec | Examples,
    number: int,
    request: RunConfig,
    taken: Collection[str] = (),
) -> tuple[RunDataset, DatasetFacts | None]:
    """Return the stream of a dataset, and what wiring needs to know of it, where it is no object.

    Raises:
        ContextBenchError: The dataset or an option is unknown, or the loader cannot be loaded, or
            not in time.
    """
    make: Callable[[], tuple[RunDataset, DatasetFacts | None]]
    if isinstance(dataset, Examples):
        name = f"dataset {dataset.label!r}" if dataset.label else "the dataset"
        make = partial(_of_object, dataset, number, request)
    else:
        name = f"dataset {dataset.name!r}"
        make = partial(_of_spec, catalog, dataset, number, request, taken)
    return bounded(make, request.patience, name)  # type: ignore[no-any-return]


def _of_object(given: Examples, number: int, request: RunConfig) -> tuple[RunDataset, None]:
    examples = given.source if request.limit is None else islice(given.source, request.limit)
    described = {"label": given.label, **_present(revision=revision_of(given.source))}
    return RunDataset(
        number, given.label, examples, "", described, request.selection(), (), request.inputs
    ), None


def _of_spec(
    catalog: Catalog, spec: DatasetSpec, number: int, request: RunConfig, taken: Collection[str]
) -> tuple[RunDataset, DatasetFacts]:
    component, spec = find_dataset(catalog, spec)
    facts, limit, where = component.dataset, request.limit, f"dataset {component.name}"
    known, fixed = describe_dataset(component, spec, taken)
    loader = load(component)
    options = read_options(
        facts.options, spec.options, where, os.environ, accepts_any=not component.is_described
    )
    which = _present(config=spec.config, split=spec.split)
    examples = _load(loader, component, _present(limit=limit) | which, options)
    if spec.fields:
        examples = rename_fields(examples, spec.fields, str(spec.options.get("path", where)))
    if limit is not None:
        examples = islice(examples, limit)
    source = source_of(options["path"]) if facts.files and "path" in options else None
    description = {
        "label": known.label,
        "component": component.id,
        **edition_of(component),
        "config": spec.config,
        "split": spec.split,
        "options": without_secrets([component], spec.options),
        "fields": dict(spec.fields),
        **_present(revision=revision_of(loader, which | options), source=source),
    }
    gold = (*facts.gold, *gold_sources(spec.fields, facts.gold))
    name, chosen = known.label if fixed else None, request.selection()
    return RunDataset(
        number, name, examples, known.label, description, chosen, facts.inputs, request.inputs, gold
    ), known


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _load(
    loader: Any, component: Component, which: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    hide = Redactor(secret_values([component], options)).of
    try:
        yield from loader(**which, **options)
    except ContextBenchError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise DatasetError(
            hide(f"Dataset {component.name} cannot be read: {message_of(error)}")
        ) from error


def revision_of(thing: Any, arguments: Mapping[str, Any] | None = None) -> str | None:
    """Return the revision that a dataset or its loader tells, or None.

    It is an attribute ``revision`` or ``fingerprint`` (or ``_fingerprint``, as the library
    ``datasets`` has it): a text, or a function that returns one. A loader's function is called with
    the loader's own arguments.

    Raises:
        DatasetError: The function failed.
    """
    for name in ("revision", "fingerprint", "_fingerprint"):
        found = getattr(thing, name, None)
        if callable(found):
            try:
                found = found(**(arguments or {}))
            except DatasetError:
                raise
            except Exception as error:
                raise DatasetError(
                    f"The {name} of a dataset cannot be told: {reason_of(error)}"
                ) from error
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found):
            return str(found)[:_LONGEST]
    return None


def source_of(path: Any) -> dict[str, Any] | None:
    """Return name, size and SHA-256 of a dataset's file; None when there is no such file, which its
    loader will tell.

    The name comes without its folders: where a file lies is nobody's business.
    """
    try:
        file = Path(os.path.expanduser(path))
        if not file.is_file():
            return None
        content = sha256()
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
            size = stream.tell()
    except (OSError, TypeError, ValueError):
        return None
    return {"file": file.name, "bytes": size, "sha256": content.hexdigest()}

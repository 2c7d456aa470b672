"""Open the datasets of a run: load specs, wrap objects, and record what the examples come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_bench.errors import (
    ContextBenchError,
    DatasetError,
    did_you_mean,
    message_of,
    reason_of,
)
from context_bench.plan.datasets import as_asked, describe_dataset, find_dataset
from context_bench.plan.specs import DatasetSpec, Examples
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component, edition_of
from context_bench.plugins.loading import load
from context_bench.plugins.options import read_options
from context_bench.plugins.wiring import DatasetFacts
from context_bench.redaction import Redactor, secret_values, without_secrets
from context_bench.run.datasets import RunDataset, gold_sources
from context_bench.run.examples import bounded
from context_bench.session.column_names import check_columns
from context_bench.session.sources import WatchedSource

if TYPE_CHECKING:
    from context_bench.plan.run_config import RunConfig


_CHUNK = 1 << 20
_LONGEST = 200
_ABSENT = object()


def open_dataset(
    catalog: Catalog,
    source: DatasetSpec | Examples,
    number: int,
    config: RunConfig,
    used_labels: Collection[str] = (),
) -> tuple[RunDataset, DatasetFacts | None]:
    """Return a dataset, and what wiring needs to know of it; None for an object.

    Args:
        catalog: The installed components.
        source: Its spec, or the object that ``evaluate()`` received.
        number: Its number in the run.
        config: The configuration of the run.
        used_labels: Labels of other datasets of the run.

    Raises:
        ContextBenchError: The dataset or an option is unknown, or the loader cannot be loaded, or
            not in time.
    """
    open_source: Callable[[], tuple[RunDataset, DatasetFacts | None]]
    if isinstance(source, Examples):
        name = f"dataset {source.label!r}" if source.label else "the dataset"
        open_source = partial(_open_object, source, number, config)
    else:
        name = f"dataset {source.name!r}"
        open_source = partial(
            _open_spec,
            catalog=catalog,
            spec=source,
            number=number,
            config=config,
            used_labels=used_labels,
        )
    return bounded(open_source, config.patience, name)  # type: ignore[no-any-return]


def _open_object(source: Examples, number: int, config: RunConfig) -> tuple[RunDataset, None]:
    revision = revision_of(source.source)
    dataset = RunDataset(
        number=number,
        label=source.label,
        examples=as_asked(_first(source.source, config.limit), config),
        description={"label": source.label, **_present(revision=revision)},
        selection=config.selection(),
        more_inputs=config.inputs,
        is_own=True,
    )
    return dataset, None


def _open_spec(
    catalog: Catalog,
    spec: DatasetSpec,
    number: int,
    config: RunConfig,
    *,
    used_labels: Collection[str],
) -> tuple[RunDataset, DatasetFacts]:
    component, spec = find_dataset(catalog, spec)
    manifest = component.dataset
    facts, has_one_label = describe_dataset(component, spec, used_labels)
    name = f"dataset {component.name}"
    loader = load(component)
    options = read_options(
        manifest.options,
        spec.options,
        name,
        os.environ,
        accepts_any=not component.is_described,
    )
    part = _present(config=spec.config, split=spec.split)
    examples: Iterable[Mapping[str, Any]] = _load(
        loader, component, _present(limit=config.limit) | part, options
    )
    if spec.fields:
        path = str(spec.options.get("path", name))
        examples = rename_fields(examples, spec.fields, path)
    is_file = bool(manifest.files) and "path" in options
    if is_file:
        examples = check_columns(examples, spec.fields, str(spec.options.get("path", name)))

    def edition() -> dict[str, Any]:
        source = source_of(options["path"]) if is_file else None
        return _present(revision=revision_of(loader, part | options), source=source)

    watched = WatchedSource.of(options["path"], edition) if is_file else None
    description = {
        "label": facts.label,
        "component": component.id,
        **edition_of(component),
        "config": spec.config,
        "split": spec.split,
        "options": without_secrets([component], spec.options),
        "fields": dict(spec.fields),
        **(edition() if watched is None else watched.edition),
    }
    dataset = RunDataset(
        number=number,
        label=facts.label if has_one_label else None,
        examples=as_asked(_first(examples, config.limit), config),
        fallback=facts.label,
        description=description,
        selection=config.selection(),
        inputs=manifest.inputs,
        more_inputs=config.inputs,
        gold=(*manifest.gold, *gold_sources(spec.fields, manifest.gold)),
        has_changed=None if watched is None else watched.has_changed,
    )
    return dataset, facts


def _first(examples: Iterable[Mapping[str, Any]], limit: int | None) -> Iterable[Mapping[str, Any]]:
    return examples if limit is None else islice(examples, limit)


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
    """Return the revision of a dataset or a loader; None without one.

    It is an attribute ``revision`` or ``fingerprint`` (or ``_fingerprint``, as the library
    ``datasets`` has it): a text, or a function that returns one. A loader's function is called with
    the loader's arguments.

    Raises:
        DatasetError: The function failed.
    """
    for name in ("revision", "fingerprint", "_fingerprint"):
        revision = getattr(thing, name, None)
        if callable(revision):
            try:
                revision = revision(**(arguments or {}))
            except DatasetError:
                raise
            except Exception as error:
                raise DatasetError(
                    f"The {name} of a dataset cannot be read: {reason_of(error)}"
                ) from error
        is_text_or_number = isinstance(revision, str | int) and not isinstance(revision, bool)
        if is_text_or_number and str(revision):
            return str(revision)[:_LONGEST]
    return None


def find_revisions(
    catalog: Catalog, specs: Iterable[DatasetSpec], warn: Callable[[str], None]
) -> dict[str, str]:
    """Return the revisions of datasets by label, as their loaders give them; a lock file has them.

    Args:
        catalog: What is installed; the loaders are imported.
        specs: The datasets.
        warn: Receives a line for each revision that cannot be read.
    """
    revisions: dict[str, str] = {}
    labels: list[str] = []
    for spec in specs:
        component, spec = find_dataset(catalog, spec)
        label = describe_dataset(component, spec, labels)[0].label
        labels.append(label)
        try:
            options = read_options(
                component.dataset.options,
                spec.options,
                f"dataset {component.name}",
                os.environ,
                accepts_any=not component.is_described,
            )
            part = _present(config=spec.config, split=spec.split)
            revision = revision_of(load(component), part | options)
        except DatasetError as error:
            warn(f"The revision of dataset {label!r} is not locked: {message_of(error)}")
        else:
            if revision is not None:
                revisions[label] = revision
    return revisions


def source_of(path: Any) -> dict[str, Any] | None:
    """Return name, size and SHA-256 of a dataset's file; None without a file that can be read.

    The name has no folders: a run file does not disclose where files are.
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


def rename_fields(
    examples: Iterable[Mapping[str, Any]], fields: Mapping[str, str], name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the examples with fields read from other columns.

    A source is a column, or a dotted path into one (``outputs.0.text``). A column that is read
    whole is renamed: its old name is removed. A later row without the source has no such field.

    Raises:
        DatasetError: The first row does not have a source; the message lists its columns.
    """
    for position, example in enumerate(examples):
        if not isinstance(example, Mapping):  # the job source reports it, with its position
            yield example  # type: ignore[unreachable]
            continue
        values = {target: _look_up(example, source) for target, source in fields.items()}
        if position == 0:
            _require_sources(example, fields, values, name)
        sources = set(fields.values())
        renamed = {column: value for column, value in example.items() if column not in sources}
        renamed.update({name: value for name, value in values.items() if value is not _ABSENT})
        yield renamed


def _look_up(example: Mapping[str, Any], path: str) -> Any:
    if path in example:
        return example[path]
    value: Any = example
    for part in path.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list | tuple) and _is_index(part, len(value)):
            value = value[int(part)]
        else:
            return _ABSENT
    return value


def _is_index(text: str, length: int) -> bool:
    return text.lstrip("-").isdecimal() and -length <= int(text) < length


def _require_sources(
    example: Mapping[str, Any],
    fields: Mapping[str, str],
    values: Mapping[str, Any],
    name: str,
) -> None:
    """Check that the first row has every source."""
    for target, source in fields.items():
        if values[target] is not _ABSENT:
            continue
        columns = list(example)
        sentences = [f"--field {target}={source}: the first row of {name} has no {source!r}."]
        hint = did_you_mean(source, columns)
        if hint.startswith("Did"):
            sentences.append(hint)
        sentences.append(f"Its columns are: {', '.join(columns)}.")
        raise DatasetError(" ".join(sentences))

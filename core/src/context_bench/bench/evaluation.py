"""What :func:`~context_bench.bench.api.evaluate` does, once everything that it needs is imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import finalize

from context_bench.bench.baseline import with_baseline
from context_bench.bench.builders import (
    baseline_of,
    describe_examples,
    make_slots,
    make_stream,
    needs_threads,
    unpriced,
    with_reader,
)
from context_bench.bench.planner import Planner
from context_bench.bench.provenance import provenance
from context_bench.bench.requests import check_limits, check_reference, selection_of
from context_bench.bench.run import Session, now
from context_bench.bench.secrets import secrecy_of
from context_bench.bench.specs import DatasetSpec, SystemSpec, parse_dataset, parse_system
from context_bench.errors import ConfigurationError
from context_bench.metrics.registry import metrics_for
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.discovery import discover
from context_bench.plugins.hooks import Hooks
from context_bench.plugins.settings import PluginSettings
from context_bench.plugins.wiring import Choice, broken_plugins
from context_bench.prices import load_prices, read_prices
from context_bench.protocols import Evaluator, Metric
from context_bench.results import EvalResult
from context_bench.runner.admission import usual_workers
from context_bench.runner.agreement import asked_twice, find_reference
from context_bench.runner.parts import Stream
from context_bench.runner.progress import Progress
from context_bench.store.reuse import EarlierResponses
from context_bench.store.runfile import RunFile


def run_evaluation(
    systems: Any,
    dataset: Iterable[Mapping[str, Any]] | str | DatasetSpec | None,
    evaluators: Sequence[Evaluator | str] | None,
    *,
    metrics: Sequence[Metric | str] | None,
    also_metrics: Sequence[Metric | str],
    max_examples: int | None,
    progress: bool,
    text_fields: Sequence[str] | None,
    max_workers: int | None,
    cache_dir: str | os.PathLike[str] | None,
    datasets: Sequence[str | DatasetSpec] | Mapping[str, Iterable[Mapping[str, Any]]] | None,
    reader: str | SystemSpec | None,
    baseline: Any,
    reference_from: Any,
    prices: Mapping[str, Any] | str | os.PathLike[str] | None,
    isolate_prefixes: bool,
    also: Sequence[str],
    without: Sequence[str],
    options: Mapping[str, Mapping[str, Any]] | None,
    prefixes: Mapping[str, str] | None,
    allow: Sequence[str],
    fields: Mapping[str, str] | None,
    samples: int,
    score_field: str,
    threshold: float,
    sample: int | None,
    seed: int,
    ids: Sequence[str],
    order: str,
    keep_examples: bool,
    deadline: float | None,
    requests_per_minute: float | None,
    tokens_per_minute: float | None,
    max_cost: float | None,
    max_failed: float | None,
    log_format: str,
    run_file: str | os.PathLike[str] | None,
    on_warning: Callable[[str], None] | None,
) -> EvalResult:
    """Do what :func:`~context_bench.bench.api.evaluate` promises; the arguments are its own."""
    environ = os.environ
    catalog = discover(PluginSettings.read(environ=environ))
    told: list[str] = []
    tell = on_warning or _warn

    def warn(line: str) -> None:
        told.append(line)
        tell(line)

    _positive(max_examples=max_examples, max_workers=max_workers, samples=samples, sample=sample)
    chosen_metrics = metrics_for(catalog, metrics, also_metrics, without, score_field, threshold)
    selection = selection_of(max_examples, sample, seed, ids)
    check_limits(
        order=order,
        deadline=deadline,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        max_cost=max_cost,
        max_failed=max_failed,
    )
    asked = [parse_system(one) if isinstance(one, str) else one for one in _several(systems)]
    if isinstance(reader, str):
        reader = parse_system(reader)
    asked, label_of_baseline = with_baseline(catalog, asked, reader, baseline)
    asked, label_of_reference = with_baseline(catalog, asked, reader, reference_from, "reference")
    check_reference(label_of_reference, keep_examples)
    if reader is not None:
        asked = with_reader(catalog, asked, reader)
    objects, names = _sorted_evaluators(evaluators)
    if evaluators is None:
        for line in broken_plugins(catalog):
            warn(line)
    hooks = Hooks(catalog)
    choice = Choice(
        None if evaluators is None else tuple(names),
        tuple(also),
        frozenset(without),
        frozenset(_given_flags(catalog, options)),
        frozenset(allow),
        dict(prefixes or {}),
    )
    store, owner, earlier = _open(run_file, cache_dir, catalog)
    planner = Planner(catalog, choice, objects, options, environ, hooks, warn, store)
    streams: list[Stream] = []
    sources = _sources(dataset, datasets)
    for number, (label, source) in enumerate(sources):
        if isinstance(source, str | DatasetSpec):
            from attrs import evolve

            spec = parse_dataset(source) if isinstance(source, str) else source
            spec = evolve(spec, fields={**dict(fields or {}), **spec.fields})
            taken = [stream.label or stream.fallback for stream in streams]
            stream, facts = make_stream(catalog, spec, number, max_examples, environ, taken, selection)
            planner.know(facts)
            streams.append(stream)
        else:
            streams.append(
                Stream(number, label, _limited(source, max_examples), "", describe_examples(label, source), selection)
            )
    run = store.run()["id"]
    table = read_prices(prices or {}, "prices") if isinstance(prices, Mapping | None) else load_prices(Path(prices))
    isolate = warn if isolate_prefixes else None
    slots = make_slots(catalog, asked, run, environ, label_of_baseline, table, label_of_reference, samples, isolate)
    _check_resumed(store, slots)
    for line in unpriced(slots, table):
        warn(line)
    config = {"samples": samples, "score_field": score_field, "threshold": threshold, "run_file": str(run_file or "")}
    size = _size([source for _, source in sources], max_examples or sample or len(ids) or None)
    reference = find_reference(slots, label_of_reference, samples)
    if reference is not None:
        planner.refer(reference)
        cost = asked_twice(reference, size)
        if cost is not None:
            warn(cost)
    threads = needs_threads(catalog, asked)
    late: list[str] = []

    def tell_later(line: str) -> None:
        told.append(line)
        late.append(line)

    session = Session(
        store=store,
        slots=slots,
        streams=streams,
        planner=planner,
        hooks=hooks,
        metrics=chosen_metrics,
        max_workers=max_workers or usual_workers(slots, threads),
        samples=samples,
        text_fields=text_fields,
        score_field=score_field,
        threshold=threshold,
        config=config,
        progress=Progress(slots, None if size is None else size * samples, log_format=log_format) if progress else None,
        earlier=earlier,
        keep_bodies=keep_examples,
        owner=owner,
        deadline=deadline,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        max_cost=max_cost,
        prices=table,
        reference=reference,
        max_failed=max_failed,
        order=order,
        expected=None if size is None else size * len(slots) * samples,
        secrecy=secrecy_of(catalog, asked, [source for _, source in sources], options, environ),
        on_warning=warn if on_warning is not None else tell_later,
        baseline=baseline_of([slot.label for slot in slots], label_of_baseline),
    )
    result = session.run(told)
    for line in late:  # on the caller's thread: a warning may be an error there
        tell(line)
    return result


def _warn(line: str) -> None:
    import warnings

    warnings.warn(line, UserWarning, stacklevel=5)


def _several(systems: Any) -> list[Any]:
    return list(systems) if isinstance(systems, list | tuple) else [systems]


def _sorted_evaluators(evaluators: Sequence[Evaluator | str] | None) -> tuple[list[Evaluator], list[str]]:
    objects: list[Evaluator] = []
    names: list[str] = []
    if isinstance(evaluators, str):
        evaluators = [evaluators]
    for evaluator in evaluators or ():
        if isinstance(evaluator, str):
            names.append(evaluator)
        elif isinstance(evaluator, type) or not isinstance(evaluator, Evaluator):
            raise ConfigurationError(
                f"{evaluator!r} is no evaluator: it has no name and score(). A class must be called first."
            )
        else:
            objects.append(evaluator)
    return objects, names


def _given_flags(catalog: Any, options: Mapping[str, Mapping[str, Any]] | None) -> list[str]:
    given = options or {}
    return [
        option.flag.removeprefix("--")
        for component in catalog.of_kind("evaluators")
        for option in (component.facts.options if component.facts else {}).values()
        if option.flag and option.name in {**given.get(component.name, {}), **given.get(component.id, {})}
    ]


def _sources(dataset: Any, datasets: Any) -> list[tuple[str | None, Any]]:
    sources: list[tuple[str | None, Any]] = []
    if dataset is not None:
        sources.append((None, dataset))
    if isinstance(datasets, Mapping):
        sources += list(datasets.items())
    else:
        sources += [(None, one) for one in datasets or ()]
    if not sources:
        raise ConfigurationError("There is no dataset. Give an iterable of examples, or a name such as 'needle'.")
    return sources


def _limited(examples: Iterable[Mapping[str, Any]], limit: int | None) -> Iterable[Mapping[str, Any]]:
    from itertools import islice

    return examples if limit is None else islice(examples, limit)


def _size(sources: Sequence[Any], most: int | None) -> int | None:
    """Return how many examples there are at most, or None when nobody knows before the end."""
    lengths = [
        most
        if isinstance(source, str | DatasetSpec) or not isinstance(source, Sized)
        else min(len(source), most or len(source))
        for source in sources
    ]
    return None if None in lengths else sum(length or 0 for length in lengths)


def _positive(**numbers: Any) -> None:
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise ConfigurationError(f"{name} is {number!r}, but must be a whole number above zero.")


def _open(
    run_file: str | os.PathLike[str] | None, cache_dir: str | os.PathLike[str] | None, catalog: Catalog
) -> tuple[RunFile, object, EarlierResponses | None]:
    earlier = None
    owner: object = None
    if cache_dir is not None:
        folder = Path(cache_dir)
        folder.mkdir(parents=True, exist_ok=True)
        earlier = EarlierResponses(sorted(folder.glob("*.sqlite"), reverse=True))
    if run_file is not None:
        path = Path(run_file)
        if path.exists():
            return RunFile.open(path), owner, earlier
    elif cache_dir is not None:
        path = Path(cache_dir) / f"{now().replace(':', '').replace('+0000', 'Z')}-{uuid4().hex[:8]}.sqlite"
    else:
        owner = _TemporaryFolder()
        path = owner.path / "run.sqlite"
    surroundings = provenance(catalog) if owner is None else {}
    return RunFile.create(path, uuid4().hex, now(), {}, surroundings), owner, earlier


class _TemporaryFolder:
    """A folder that goes when nobody refers to it any more, quietly."""

    def __init__(self) -> None:
        from shutil import rmtree
        from tempfile import mkdtemp

        self.path = Path(mkdtemp(prefix="context-bench-"))
        finalize(self, rmtree, self.path, ignore_errors=True)


def _check_resumed(store: RunFile, slots: Sequence[Any]) -> None:
    before = [entry["label"] for entry in store.systems()]
    labels = [slot.label for slot in slots]
    if before and before != labels:
        raise ConfigurationError(
            f"The run file {store.path} holds a run of {', '.join(before)}, not of {', '.join(labels)}. Name another file."
        )

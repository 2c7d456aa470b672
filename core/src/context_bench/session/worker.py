"""A worker of an executor: it builds the components of a run from their names and options, and does
batches of rows.

Workers load components by entry point. What was sent once is kept by the process, so a batch costs
what its rows cost.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable, Mapping
from socket import gethostname
from threading import Lock
from time import perf_counter
from typing import Any

from attrs import evolve, frozen

from context_bench import __version__
from context_bench.errors import ConfigurationError
from context_bench.plan.run_config import RunConfig
from context_bench.plan.specs import SystemSpec
from context_bench.plan.systems import with_reader
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.component import Component
from context_bench.plugins.discovery import discover
from context_bench.protocols import Executor
from context_bench.redaction import Redactor, without_secrets
from context_bench.run.batches import Batches, Outcome, SentJob, SentLabel, packages_of
from context_bench.run.jobs import Job, LabelWiring, reported_cost
from context_bench.run.processor import RetryableCallError, RowProcessor
from context_bench.run.systems import RunSystem, endpoint_of
from context_bench.session.prepare import PreparedRun
from context_bench.session.provenance import dependencies
from context_bench.session.systems import build_requested
from context_bench.session.tokenizers import tokenizer_of
from context_bench.store.rows import StoredRow


@frozen
class Setup:
    """What a worker needs to build the components of a run.

    Attributes:
        folder: The working directory of the driver.
        paths: Where the driver finds modules.
        systems: Specs of the systems by number, with the ids of their components.
        labels: Labels of the systems by number.
        evaluators: Options of the evaluators, by id.
        tokenizer: Name of the tokenizer.
        text_fields: As in the request.
        packages: Packages of the systems.
        versions: Versions of these packages and of what they require, at the driver.
    """

    folder: str
    paths: tuple[str, ...]
    systems: Mapping[int, SystemSpec]
    labels: Mapping[int, str]
    evaluators: Mapping[str, Mapping[str, Any]]
    tokenizer: str
    text_fields: tuple[str, ...] | None
    packages: tuple[str, ...]
    versions: Mapping[str, str | None]


def batches_of(
    catalog: Catalog, prepared: PreparedRun, executor: Executor, processor: RowProcessor
) -> Batches:
    """Return the rows of a run that an executor does, once its workers have the driver's versions.

    Rows of systems that call an endpoint, that an extension replaced or derives, or that were given
    as objects stay with the driver. So do components with secret options: no secret is sent.

    Raises:
        ConfigurationError: A worker has other versions than the driver.
    """
    config = prepared.config
    systems: dict[int, SystemSpec] = {}
    is_priced_here = prepared.hooks.calls.cost_function(reported_cost) is not reported_cost
    if not prepared.hooks.replaces_systems and not is_priced_here:
        sources = with_reader(catalog, config.systems, config.reader)
        for number, source in enumerate(sources):
            spec = _sendable(catalog, source)
            if spec is not None and endpoint_of(prepared.systems[number].system) is None:
                systems[number] = spec
    evaluators = dict(_evaluators(catalog, config))
    packages = {"context-bench"}
    for spec in systems.values():
        packages.update(step.name.partition("/")[0] for step in (spec, *spec.steps))
    setup = Setup(
        folder=os.getcwd(),
        paths=tuple(os.path.abspath(path) for path in sys.path),
        systems=systems,
        labels={system.number: system.label for system in prepared.systems},
        evaluators=evaluators,
        tokenizer=prepared.tokenizer.name,
        text_fields=processor.text_fields,
        packages=tuple(sorted(packages)),
        versions=versions_of(packages),
    )
    for label in prepared.wiring.by_label.values():
        packages.update(packages_of(label.scorers))
    require_equal_versions(executor, sorted(packages))
    return Batches(
        executor,
        do_batch,
        pickle.dumps(setup),
        slots=systems,
        evaluators=evaluators,
        processor=processor,
        redactor=prepared.redactor,
        versions=versions_of,
    )


def _sendable(catalog: Catalog, source: Any) -> SystemSpec | None:
    """Return a spec with the ids of its components; None for an object, or with a secret."""
    if not isinstance(source, SystemSpec):
        return None
    component = catalog.find("systems", source.name)
    steps = [_sendable(catalog, step) for step in source.steps]
    if without_secrets([component], source.options) != dict(source.options) or None in steps:
        return None
    return evolve(source, name=component.id, steps=tuple(step for step in steps if step))


def _evaluators(catalog: Catalog, config: RunConfig) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield id and options of the evaluators that workers can build."""
    for component in catalog.of_kind("evaluators"):
        options = config.options_of(component)
        if without_secrets([component], options) == options:
            yield component.id, options


def versions_of(names: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of distributions and of what they require, as this process finds them."""
    from importlib_metadata import Distribution, PackageNotFoundError

    versions: dict[str, str | None] = {}
    found = dependencies(names)
    for name in names:
        try:
            versions[name] = str(Distribution.from_name(name).version)
        except PackageNotFoundError:
            versions[name] = None
        required = found.get(name, {})
        versions.update({other: version for other, version in required.items() if version})
    return versions | {"context-bench": __version__}


def require_equal_versions(executor: Executor, names: list[str]) -> None:
    """Check that all workers have the versions of the driver.

    Raises:
        ConfigurationError: One has not; the message is a table of what differs.
    """
    own = versions_of(names)
    lines: list[str] = []
    for worker, versions in executor.each(versions_of, names).items():
        lines += _differences(own, versions, worker)
    _require_none(lines)


def require_versions(names: Iterable[str], versions: Mapping[str, str | None]) -> None:
    """Check that this process, a worker, has the versions of the driver: it may have joined late,
    and a dataset may have brought a label that was not known before.

    Raises:
        ConfigurationError: It has not; the message is a table of what differs.
    """
    _require_none(_differences(versions, versions_of(names), f"{gethostname()}:{os.getpid()}"))


def _differences(
    own: Mapping[str, str | None], versions: Mapping[str, str | None], worker: str
) -> Iterable[str]:
    for name in sorted(own.keys() | versions.keys()):
        if own.get(name) != versions.get(name):
            here = own.get(name) or "absent"
            there = versions.get(name) or "absent"
            yield f"  {name:30} {here:12} {there:12} {worker}"


def _require_none(differences: Iterable[str]) -> None:
    lines = list(differences)
    if lines:
        head = f"  {'package':30} {'driver':12} {'worker':12}"
        raise ConfigurationError(
            "Workers have other versions than the driver, so their rows would differ:\n"
            + "\n".join([head, *lines])
            + "\nInstall the driver's versions there."
        )


class _Worker:
    """The components of a run in this process, built when a batch first needs them."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        if os.path.isdir(setup.folder):
            os.chdir(setup.folder)
        sys.path += [path for path in setup.paths if path not in sys.path]
        require_versions(setup.packages, setup.versions)
        self._catalog = discover()
        self._systems: dict[int, RunSystem] = {}
        self._evaluators: dict[str, Any] = {}
        self._labels: dict[bytes, LabelWiring] = {}
        self._processor = RowProcessor(
            tokenizer_of(self._catalog, setup.tokenizer), setup.text_fields, Redactor()
        )

    def do(self, labels: Mapping[int, bytes], jobs: Iterable[SentJob]) -> Outcome:
        """Return the rows of a batch."""
        started = perf_counter()
        wirings = {number: self._wiring(label) for number, label in labels.items()}
        rows: list[StoredRow | None] = []
        for sent in jobs:
            wiring = wirings[sent.label]
            job = Job(
                id=sent.id,
                slot=self._system(sent.slot),
                wiring=wiring,
                example=sent.example,
                key=sent.key,
                input_tokens=sent.input_tokens,
                example_key=sent.example_key,
                output=sent.output,
                latency=sent.latency,
                only=None if sent.only is None else wiring.numbered(sent.only),
                agrees=sent.agrees,
                unscored=sent.unscored,
                shown=sent.shown,
            )
            try:
                rows.append(self._processor.do(job)[0])
            except RetryableCallError:
                rows.append(None)
        seen = set(self._setup.text_fields or ()) - self._processor.unseen
        return Outcome(rows, perf_counter() - started, seen)

    def _system(self, number: int) -> RunSystem:
        if number not in self._systems:
            spec = self._setup.systems.get(number)
            if spec is None:  # its responses are only scored
                system: Any = _Silent()
                built = RunSystem(number, self._setup.labels[number], system, b"", shared=False)
            else:
                [built] = build_requested(self._catalog, [spec], run_id="")
            label = self._setup.labels[number]
            self._systems[number] = evolve(built, number=number, label=label)
        return self._systems[number]

    def _wiring(self, sent: bytes) -> LabelWiring:
        if sent not in self._labels:
            label: SentLabel = pickle.loads(sent)
            require_versions(label.packages, label.versions)
            scorers = [
                evolve(scorer, evaluator=self._evaluator(scorer.id)) for scorer in label.scorers
            ]
            self._labels[sent] = LabelWiring(
                label.number, label.label, tuple(scorers), label.primary
            )
        return self._labels[sent]

    def _evaluator(self, name: str) -> Any:
        if name not in self._evaluators:
            component: Component = self._catalog.find("evaluators", name)
            self._evaluators[name] = component.build(self._setup.evaluators[name])
        return self._evaluators[name]


class _Silent:
    """Stands for a system whose responses are only scored."""

    name = "silent"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Refuse."""
        raise ConfigurationError("This system cannot be built by a worker.")


_workers: dict[bytes, _Worker] = {}
"""The one run whose batches this process does, by its setup."""

_lock = Lock()


def do_batch(setup: bytes, batch: bytes) -> bytes:
    """Return the outcome of a batch; a worker calls it."""
    with _lock:  # a worker of a cluster may have several threads, for several runs
        worker = _workers.get(setup)
        if worker is None:
            _workers.clear()
            worker = _workers[setup] = _Worker(pickle.loads(setup))
    labels, jobs = pickle.loads(batch)
    return pickle.dumps(worker.do(labels, jobs), 5)

"""Rescoring: evaluators over the stored responses of a run, new or changed ones to be kept, the
same ones to be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import evolve

from context_bench.errors import RunStoppedError, StoreError
from context_bench.plan.extensions import default_extensions
from context_bench.plan.locked import known_extensions
from context_bench.plan.run_config import RunConfig, absent, without_aliases
from context_bench.plan.secrets import redactor_of
from context_bench.plan.value_types import AbsentObject
from context_bench.plan.wiring import WiringPlanner, load_wiring_hooks
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.manifest import REFERENCE
from context_bench.results.reading import read_result
from context_bench.results.registry import metrics_record
from context_bench.results.result import EvalResult
from context_bench.run.admission import Admission
from context_bench.run.jobs import LabelWiring
from context_bench.run.loop import RunLoop
from context_bench.run.processor import RowProcessor
from context_bench.run.second_pass import Reference, RescoreJobs
from context_bench.run.stopping import Signals
from context_bench.run.systems import RunSystem
from context_bench.runs import Run
from context_bench.session.hooks import RunHooks
from context_bench.session.session import INTERRUPTED
from context_bench.session.stores import session_of
from context_bench.session.trust import (
    Source,
    reason_to_leave_out,
    require_trust,
    source_of,
    without_consent,
)
from context_bench.session.wiring import OBJECT_RULE, Wiring
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader, raising_store_errors
from context_bench.store.runfile import Rescoring
from context_bench.tokens import WordTokenizer


def rescore(
    catalog: Catalog,
    path: Path,
    change: Callable[[RunConfig], RunConfig],
    *,
    force: bool = False,
    is_trusted: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Run new or changed evaluators over the stored responses of a run; no system is asked
    anything.

    Args:
        catalog: What is installed.
        path: The run file; the scores are added to it.
        change: Changes what the run said about evaluators.
        force: Whether to score again also what the same evaluators scored before.
        is_trusted: Whether the user trusts a run file that this installation did not write.
        on_warning: Is called with each warning.

    Raises:
        StoreError: The file is not a run file, or was written without its examples.
        UntrustedFileError: This installation did not write it, and the user does not trust it.
        ContextBenchError: The evaluators do not fit, or one of them cannot be used.
    """
    with closing(RunReader(path)) as reader, raising_store_errors(path):
        request = _stored_request(reader)
        if not reader.has_examples:
            raise StoreError(
                f"{path} was written without its examples, so its responses cannot be scored again."
            )
        source = source_of(reader, is_trusted=is_trusted)
        require_trust("rescore", source, path, catalog=catalog, config=request)
    current = without_aliases(catalog, _without_objects(change(request), path))
    request = evolve(current, locked=None)  # a lock is for a run
    try:
        with Signals() as signals:
            purpose = {"request": request.to_dict(catalog), "force": force}
            session = Rescoring(path, purpose, session_of(path))
            try:
                store = session.store
                extensions = known_extensions(catalog, request, on_warning)
                hooks = load_wiring_hooks(extensions, on_warning)
                reference = _reference(catalog, store)
                planner = WiringPlanner(catalog, request, hooks, on_warning)
                labels = store.labels()
                planner.know_stored(labels)
                wiring = Wiring(planner, store, reference)
                for label in labels:
                    wiring.wire(label.label)
                systems = _silent(store.systems())
                redactor = redactor_of(catalog, request)
                loop = RunLoop(
                    processor=RowProcessor(WordTokenizer(), redactor=redactor),
                    store=store,
                    workers=1,
                    signals=signals,
                    admission=Admission((), 1, stop=signals.stop),
                    on_rows=session.keep,
                )
                jobs = RescoreJobs(store, systems, wiring.wire, force=force, reference=reference)
                loop.run(jobs.jobs())
                store.settle_primary_scores()
                result = read_result(store.path, catalog=catalog)
                store.keep_metrics(
                    metrics_record(result.metrics, result.summary, result.keys_by_metric)
                )
                with signals.unheard():  # all at once, or a signal would leave the lock
                    session.publish()
            finally:
                with signals.unheard():
                    session.leave()
    except KeyboardInterrupt as error:
        message = (
            f"Interrupted. {path} shows its earlier scores; the same rescore goes on where this "
            "one ended."
        )
        raise RunStoppedError(message, None, getattr(error, "exit_code", INTERRUPTED)) from None
    return read_result(path, catalog=catalog)


def _stored_request(reader: RunReader) -> RunConfig:
    """Return the configuration of a run; for ``evaluate()`` of an earlier version, its
    evaluators."""
    config = reader.run()["config"]
    if "systems" in config:
        return RunConfig.from_dict(config)
    stored = reader.evaluators()
    objects = [entry["id"] for entry in stored if entry["provenance"].get("rule") == OBJECT_RULE]
    if not objects:
        return RunConfig()
    names = [entry["id"] for entry in stored if entry["id"] not in objects]
    return RunConfig(evaluators=(*names, *(AbsentObject("", name) for name in objects)))


def _without_objects(request: RunConfig, path: Path) -> RunConfig:
    """Return a request without the evaluators that were objects, which must be excluded by name.

    Raises:
        StoreError: An object is not excluded: its scores would be lost, and the primary score, too.
    """
    objects = [value for _, value in absent(request, "evaluators")]
    remaining = [item for item in objects if not {item.name, item.type} & set(request.exclude)]
    if remaining:
        named = " and ".join(f"the evaluator {item}" for item in remaining)
        leave = " ".join(f"--exclude {item.name or item.type}" for item in remaining)
        raise StoreError(
            f"{path} was scored with {named}, which evaluate() was given and no file can keep. "
            f"Choose other evaluators with --evaluators, or leave it out: {leave}."
        )
    if not objects:
        return request
    names = {item.name for item in objects} | {item.type for item in objects}
    return evolve(
        request,
        evaluators=tuple(spec for spec in request.evaluators or () if isinstance(spec, str)),
        exclude=tuple(name for name in request.exclude if name not in names),
    )


class Recomputation:
    """The scores of a run's deterministic, unchanged evaluators, computed again.

    Args:
        catalog: What is installed.
        run: The run.

    Evaluators that call the network, read a key or download are left out. Of a run file of somebody
    else's, so are all that need a capability or read a file; but code that a model wrote is run in
    the strongest sandbox that works here.

    Attributes:
        notes: Which scores were not computed again, and why; whole once :meth:`scores` has ended.
        left_out: How many stored scorings were not computed again, by id of the evaluator.
    """

    def __init__(self, catalog: Catalog, run: Run) -> None:
        self.notes: list[str] = []
        self.left_out: dict[str, int] = {}
        self._catalog = catalog
        self._run = run
        self._counts: dict[str, int] = {}
        self._keys = {entry["id"]: entry["key"] for entry in run.evaluators}

    def scores(self) -> Iterator[tuple[RowId, str, Mapping[str, float]]]:
        """Yield identity of the row, id of the evaluator, and scores.

        Raises:
            ContextBenchError: The evaluators do not fit any more, or the examples are not stored.
        """
        config = dict(self._run.request)
        request = RunConfig.from_dict(config) if "systems" in config else RunConfig()
        reader = RunReader(self._run.path)
        self._counts = reader.scorings()
        source = source_of(reader)
        known = self._usable(request, source)
        if not known:
            return
        request = evolve(request, evaluators=tuple(known), add_evaluators=(), allow=())
        if not source.is_trusted:
            request = evolve(request, options=without_consent(self._catalog, request.options))
        reference = _reference(self._catalog, reader)
        planner = WiringPlanner(self._catalog, request)
        labels = reader.labels()
        planner.know_stored(labels)
        wiring = Wiring(planner, reference=reference)
        wirings = {label.label: self._unchanged(wiring.wire(label.label)) for label in labels}
        processor = RowProcessor(WordTokenizer())
        again = RescoreJobs(
            reader,
            _silent(self._run.systems),
            wirings.__getitem__,
            force=True,
            reference=reference,
        )
        for job in again.jobs():
            names = {scorer.number: scorer.id for scorer in job.only or ()}
            for evaluation in processor.do(job)[0].evaluations:
                yield job.id, names[evaluation.evaluator], evaluation.scores

    def _usable(self, request: RunConfig, source: Source) -> list[str]:
        """Return the ids of the evaluators that may be built."""
        installed = {component.id: component for component in self._catalog.of_kind("evaluators")}
        usable = []
        for name in self._keys:
            reason: str | None = "it is no installed plugin"
            if "/" in name and name in installed:
                component = installed[name]
                reason = reason_to_leave_out(component, request.options_of(component), source)
            if reason is None:
                usable.append(name)
            else:
                self._leave_out(name, reason)
        return usable

    def _unchanged(self, wiring: LabelWiring) -> LabelWiring:
        """Return a wiring with those evaluators only that must score as they did."""
        scorers = []
        for scorer in wiring.scorers:
            if not scorer.deterministic:
                self._leave_out(scorer.id, "it is not deterministic")
            elif scorer.key != self._keys.get(scorer.id):
                self._leave_out(scorer.id, "it or its options have changed since")
            else:
                scorers.append(scorer)
        return evolve(wiring, scorers=tuple(scorers))

    def _leave_out(self, name: str, reason: str) -> None:
        self.left_out[name] = self._counts.get(name, 0)
        note = f"Scores of {name} were not computed again: {reason}."
        if note not in self.notes:
            self.notes.append(note)


def _reference(catalog: Catalog, store: RunReader) -> Reference | None:
    """Return the system of a run whose responses replace gold answers, or None."""
    reference = store.reference()
    if reference is None:
        return None
    [label] = [
        system["label"]
        for system in store.systems()
        if system["system_number"] == reference.system_number
    ]
    hooks = RunHooks(catalog, default_extensions(catalog, [REFERENCE]))
    return Reference(
        hooks.answer_source(),
        label,
        number=reference.system_number,
        samples=reference.repetitions,
    )


def _silent(systems: Iterable[Mapping[str, Any]]) -> list[RunSystem]:
    """Return the systems of a run, which must not be called."""
    return [
        RunSystem(
            number=system["system_number"],
            label=system["label"],
            system=Silent(system["label"]),
            key=system["key"],
            shared=False,
        )
        for system in systems
    ]


class Silent:
    """Replaces a system that must not be called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Refuse."""
        raise AssertionError(f"the system {self.name} was called again")

"""Runs of requests, begun in a new run file or finished in an old one: slots, streams and a planner become a result."""

from __future__ import annotations

import os
import sys
import warnings as python_warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import finalize

from attrs import define, field, frozen

from context_bench.console import warn
from context_bench.errors import (
    ConfigurationError,
    ContextBenchError,
    MissingValueError,
    RunStoppedError,
    StoreError,
    message_of,
)
from context_bench.plan import builders
from context_bench.plan.baseline import resolve_baselines
from context_bench.plan.extensions import names_conversations
from context_bench.plan.parameters import redact_errors, redactor_of, specs_in
from context_bench.plan.plan import Plan, check_plan, make_plan
from context_bench.plan.planner import Planner, metrics_of
from context_bench.plan.run_config import RunConfig, absent, require_sample
from context_bench.plan.run_hooks import RunHooks, summary_of
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.settings import PluginSettings
from context_bench.plugins.wiring import changes_of_plan
from context_bench.protocols import Tokenizer
from context_bench.records import AGREEMENT, ANY_KEY
from context_bench.redaction import is_redacted
from context_bench.results.reading import told_of
from context_bench.results.registry import RunMetric, metrics_record
from context_bench.results.result import EvalResult, StoredRows
from context_bench.results.summary import check_score_field
from context_bench.run.admission import Admission
from context_bench.run.examples import JobSource, bounded
from context_bench.run.loop import RunLoop
from context_bench.run.model import (
    Job,
    RunDataset,
    RunSystem,
    close_systems,
    endpoint_of,
    gold_among,
    reported_cost,
    talks,
    usual_workers,
)
from context_bench.run.processor import RowProcessor
from context_bench.run.stopping import CancelToken, CircuitBreaker, Failures, Signals
from context_bench.session.provenance import dependencies, provenance, used_distributions
from context_bench.store.keys import require_room
from context_bench.store.queries import EarlierResponses, unscored
from context_bench.store.reader import raising_store_errors
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.conversation import Conversations
    from context_bench.run.progress import Progress

INTERRUPTED = 130
_NO_THREAD = (
    "The system lets no more threads be started: their number (`ulimit -u`) or memory is bounded. End other programs, or ask "
    "for fewer calls at once (--max-workers)."
)


def run(
    catalog: Catalog,
    plan: Plan,
    path: Path,
    *,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Execute a plan into a new run file.

    Args:
        catalog: What is installed.
        plan: The plan.
        path: Where the run file is written.
        on_warning: Is told what the user should know; on any thread.

    Raises:
        ContextBenchError: Something is wrong with the request.
        RunStoppedError: The run ended early and can be resumed.
    """
    return Run(catalog, plan, RunLocation(path), Warnings(on_warning)).execute()


def resume(
    catalog: Catalog,
    path: Path,
    *,
    change: Callable[[RunConfig], RunConfig] = lambda request: request,
    on_warning: Callable[[str], None] | None = None,
) -> EvalResult:
    """Finish the run of a run file: rows that are answered are not asked again, failed ones are.

    Args:
        catalog: What is installed.
        path: The run file; nothing else is needed.
        change: Changes limits for the rest of the run, such as ``max_cost``.
        on_warning: As for :func:`run`.

    Raises:
        StoreError: The file is no run file, or was written by ``evaluate()`` with objects that no file can keep.
        ContextBenchError: Something that the run needs is not there any more.
        RunStoppedError: The run ended early again.
    """
    store = RunFile.open(path)
    recorded = store.run()
    again = f"Call evaluate() again with run_file={str(path)!r} and the same arguments."
    if "systems" not in recorded["config"]:
        raise StoreError(
            f"{path} was written by evaluate(), which holds objects that no file can keep. {again}"
        )
    with raising_store_errors(path):
        request = RunConfig.from_dict(recorded["config"])
    request = change(request)
    lost = [f"the {part} {one}" for part, one in absent(request)]
    if lost:
        raise StoreError(
            f"{path} was written by evaluate() with objects that no file can keep: {', '.join(lost)}. {again}"
        )
    told = Warnings(on_warning)
    try:
        with redact_errors(catalog, request):
            plan = make_plan(catalog, request)
        begun = Run(catalog, plan, RunLocation(path, store), told)
        _check_origins(store, begun.streams, told)
        return begun.execute()
    except ContextBenchError as error:
        error.args = (f"{message_of(error)}{_elsewhere(path, request, message_of(error))}",)
        raise


def _elsewhere(path: Path, request: RunConfig, trouble: str) -> str:
    """Return where to resume a run that names a file which is not here, but above its run file, or which its trouble is of."""
    specs = [
        spec
        for asked in (*request.systems, request.reader, *request.datasets)
        for spec in specs_in(asked)
    ]
    named = {str(text) for spec in specs for text in (spec.name, *spec.options.values())}
    away = [
        one
        for one in sorted(named)
        if "." in one and "://" not in one and not (one[0] in "/~" or os.path.exists(one))
    ]
    told = [
        f" {one} lies in {up}"
        for up in path.resolve().parents
        for one in away
        if os.path.exists(up / one)
    ]
    near = [
        one for one in away if one in trouble and os.path.splitext(one)[1][1:].isalpha()
    ]  # no version of a model
    told += [
        f" {one} is named as it is seen from the folder in which the run was begun" for one in near
    ]
    return "".join(f"{one}: resume the run from there." for one in told[:1])


def evaluate_request(arguments: Mapping[str, Any]) -> EvalResult:
    """Do what :func:`~context_bench.session.evaluate.evaluate` promises; the arguments are its own, by name."""
    from context_bench.plan.project import request_of_arguments
    from context_bench.plugins.discovery import remembered_catalog

    on_warning = arguments["on_warning"]
    told = Warnings(on_warning or _warn, on_one_thread=on_warning is None)
    settings = PluginSettings.read(environ=os.environ)
    catalog = remembered_catalog(settings)
    settings.require_known(catalog)
    request = request_of_arguments(catalog, arguments)
    require_sample(request)
    if request.evaluators is None:
        from context_bench.plugins.wiring import broken_plugins

        for line in broken_plugins(catalog):
            told.warn(line)
    with redact_errors(catalog, request):
        plan = make_plan(catalog, request)
    result = Run(catalog, plan, _place(request), told).execute()
    told.catch_up()  # on the caller's thread
    return result


def run_path(request: RunConfig) -> Path:
    """Return where a run file that is kept lies: as asked for, else a new TIME-ID-NAME.sqlite in the cache, else in runs."""
    if request.run_file is not None:
        return Path(request.run_file)
    asked = (*request.systems[:2], *request.datasets[:1])  # objects may have neither
    called = [str(getattr(one, "label", None) or getattr(one, "name", "")) for one in asked]
    names = [Path(name).name.partition(".")[0] for name in called if name]
    slug = "-".join("".join(c if c.isalnum() else "-" for c in name).strip("-") for name in names)
    stem = f"{datetime.now():%Y%m%d-%H%M%S}-{uuid4().hex[:6]}-{slug[:60] or 'run'}"  # others may begin in this second
    return Path(request.cache_dir or "runs", f"{stem}.sqlite")


def _earlier(request: RunConfig) -> EarlierResponses | None:
    """Return the responses that a run may take, those of a cache among them; None where it asks for no earlier one's."""
    cached = (
        []
        if request.cache_dir is None or not Path(request.cache_dir).exists()
        else [request.cache_dir]
    )
    places = [Path(place) for place in (*request.reuse, *cached)]
    if not places:
        return None
    from context_bench.runs import run_files

    return EarlierResponses(run_files(places))


def _place(request: RunConfig) -> RunLocation:
    if request.run_file is None and request.cache_dir is None:
        return RunLocation(None)
    path = run_path(request)
    return (
        RunLocation(path, RunFile.open(path), is_asked_anew=True)
        if path.exists()
        else RunLocation(path)
    )


def _warn(line: str) -> None:
    """Issue a warning at the line that called :func:`~context_bench.session.evaluate.evaluate`."""
    frame, level = sys._getframe(), 1
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == "context_bench"
    ):
        frame, level = frame.f_back, level + 1
    python_warnings.warn(line, UserWarning, stacklevel=level)


@define(eq=False)
class Warnings:
    """What the user should know, told and kept.

    Attributes:
        emit: Receives each line.
        on_one_thread: Whether ``emit`` may be called on the caller's thread alone, where it may raise: what other threads say
            waits for :meth:`catch_up`, and so does everything once rows are asked.
        has_rows: Whether rows are asked.
        messages: The lines so far.
        redact: Takes the secrets of the run out of a line.
    """

    emit: Callable[[str], None] | None = None
    on_one_thread: bool = False
    redact: Callable[[str], str] = str
    messages: list[str] = field(factory=list)
    has_rows: bool = False
    _waiting: list[str] = field(factory=list)

    def warn(self, line: str, waits: bool = False) -> None:
        """Tell a line, on the caller's thread unless it waits."""
        line = self.redact(line)
        self.messages.append(line)
        if self.on_one_thread and (waits or self.has_rows):
            self._waiting.append(line)
        elif self.emit is not None:
            self.emit(line)

    def warn_from_anywhere(self, line: str) -> None:
        """Tell a line, on any thread."""
        self.warn(line, waits=True)

    def catch_up(self) -> None:
        """Tell what waits; where Python takes warnings for errors none of them costs the rows, which are there by now."""
        while self._waiting and self.emit is not None:
            line = self._waiting.pop(0)
            try:
                self.emit(line)
            except Warning:
                warn(line)


@frozen(eq=False)
class RunLocation:
    """Where a run is kept.

    Attributes:
        path: The run file; None for one that nobody keeps, which goes with the result.
        store: The run file of a run that goes on; None for a new one.
        is_asked_anew: Whether the request of a run that goes on takes the place of the one that it began with.
    """

    path: Path | None
    store: RunFile | None = None
    is_asked_anew: bool = False

    def open(self, catalog: Catalog, run_id: str, recorded: Mapping[str, Any]) -> RunFile:
        """Return the run file, a new one with what is recorded about the request."""
        if self.store is not None:
            if self.is_asked_anew:
                self.store.keep_request(recorded)
            return self.store
        if self.path is not None:
            return RunFile.create(self.path, run_id, now(), recorded, provenance(catalog))
        from shutil import rmtree
        from tempfile import mkdtemp

        folder = Path(mkdtemp(prefix="context-bench-"))
        store = RunFile.create(folder / "run.sqlite", run_id, now(), recorded, {})
        finalize(store, rmtree, folder, ignore_errors=True)
        return store


class Run:
    """A run of a request: slots, streams and a planner, against a run file, become a result. It is the only way to one.

    Everything that can be found wrong before the first example is found while the run is made, and before its run file is:
    a run that could not begin leaves nothing.

    Args:
        catalog: What is installed.
        request: What to run.
        place: Where the run is kept.
        warnings: Is told what the user should know.

    Attributes:
        streams: The datasets.

    Raises:
        ContextBenchError: Something is wrong with the request, or something that it needs is not there.
    """

    def __init__(
        self, catalog: Catalog, plan: Plan, place: RunLocation, warnings: Warnings
    ) -> None:
        with redact_errors(catalog, plan.config):
            self._set_up(catalog, plan, place, warnings)

    def _set_up(self, catalog: Catalog, plan: Plan, place: RunLocation, warnings: Warnings) -> None:
        request = plan.config
        self._earlier = _earlier(request)
        check_plan(plan)
        self._hooks = hooks = RunHooks(catalog, plan.extensions, warnings.warn_from_anywhere)
        asked, request = request, resolve_baselines(catalog, hooks.prepare_systems(request))
        _require_everything(request)
        self._redactor = redactor_of(catalog, request)
        warnings.redact = self._redactor.of
        self._request, self._warnings, self._is_kept = request, warnings, place.path is not None
        for line in plan.warnings:
            warnings.warn(line)
        self._planner = planner = Planner(
            catalog,
            request,
            self._hooks,
            warnings.warn,
            place.store,
            is_locked=True,
            plans=plan.certain_wiring(),
        )
        self._before = {
            label.label: label.plan for label in (place.store.labels() if place.store else ())
        }
        systems = builders.with_reader(catalog, request.systems, request.reader)
        run_id = uuid4().hex if place.store is None else str(place.store.run()["id"])
        slots = builders.make_slots(
            catalog, systems, run_id, request.baseline, hooks.replace_systems(warnings.warn)
        )
        slots = [*slots, *builders.derived_slots(catalog, request, hooks, slots)]
        baseline = builders.baseline_of([slot.label for slot in slots], request.baseline)
        slots = hooks.describe_systems(slots, baseline)
        self._summaries = [summary_of(slot, baseline) for slot in slots]
        require_room(0, len(slots))
        self._tokenizer = builders.tokenizer_of(catalog, request.tokenizer)
        if place.store is not None:
            _require_the_same(place.store, slots, self._tokenizer)
        self._reference: Reference | None = None
        if request.reference is not None:
            from context_bench.run.second_pass import Reference

            number = [slot.label for slot in slots].index(request.reference)
            source = hooks.answer_source()
            reference = Reference(source, request.reference, number, request.repeat)
            self._reference = planner.reference = reference
            slots = reference.described(slots)
            notice = reference.part.notice(reference.label, reference.samples, request.size())
            if place.store is None and notice:
                warnings.warn(notice)
        if names_conversations(catalog, request):
            for slot in slots:
                if talks(slot.system):
                    hooks.drive_conversation(slot.system)
                    break
        self._slots, self.streams = slots, _streams(catalog, request, planner)
        self._metrics = metrics_of(catalog, request, warnings.warn)
        check_metrics(self._metrics, planner, self.streams)
        size = bounded(request.size, request.patience, "the dataset")
        self._expected = None if size is None else size * len(slots)
        self._workers = request.max_workers or usual_workers(
            slots, builders.needs_threads(catalog, systems)
        )
        recorded = (
            resolve_baselines(catalog, asked) if hooks.changes_systems else request
        ).to_dict(catalog)
        self._store = place.open(catalog, run_id, recorded)
        planner.attach(self._store)
        self._config = {
            "request": recorded,
            "run_file": str(self._store.path) if self._is_kept else "",
        }
        self._conversations: Conversations | None = None
        self._recorded_extensions: Mapping[str, Any] = {}
        self._progress: Progress | None = None
        if request.progress:
            from context_bench.run.progress import Progress

            self._progress = Progress(slots, size, log_format=request.log_format)

    def execute(self) -> EvalResult:
        """Do what is still to be done, and return the result of the whole run.

        Raises:
            RunStoppedError: The run ended early; everything finished so far is in the run file.
            MetricError: A metric asks for a score that no row has.
        """
        with Signals(self._progress.say if self._progress is not None else None) as signals:
            try:
                try:
                    seconds, skipped = self._work(signals)
                finally:
                    self._close()
                self._store.settle_headlines()
                self._tell_end("finished")
                self._end("finished")
            except BaseException as error:
                if (stopped := self._broken_off(error, signals)) is error:
                    raise
                raise stopped from (None if isinstance(error, KeyboardInterrupt) else error)
            try:
                result = self._result(seconds, skipped)
                code = self._hooks.exit_code(result, self._planner.controllers)
                if code is not None:
                    result.config["exit_code"] = code
                return result
            except KeyboardInterrupt as error:
                raise self._interrupted(error) from None
            except ContextBenchError as error:
                if self._is_kept:
                    error.args = (
                        f"{message_of(error)}\nThe run is complete: context-bench report {self._store.path}",
                    )
                raise
            finally:
                with signals.unheard():
                    self._store.close()

    def _work(self, signals: Signals) -> tuple[float, int]:
        """Do what is still to be done; return the seconds that it took, and how many rows were there already."""
        self._begin()
        request = self._request
        store, slots, wire = self._store, self._slots, self._planner.wire
        bill = self._hooks.calls.cost_function(reported_cost)
        processor = RowProcessor(self._tokenizer, request.text_fields, self._redactor, bill)
        processor.unseen |= (
            inputs := {name for stream in self.streams for name in stream.more_inputs}
        )
        unscored = self._unscored()
        asked = [slot for slot in slots if slot.source is None]
        find, keeps = self._earlier.find if self._earlier else None, request.store_examples
        of_run = (
            asked,
            self.streams,
            wire,
            processor,
            request.repeat,
            store,
            find,
            keeps,
            request.order,
        )
        feed = JobSource(
            *of_run, partial(self._converse, processor), unscored, self._reference, request.patience
        )
        started = perf_counter()
        with self._shown(admission := self._admission(signals.stop), feed):
            loop = RunLoop(
                processor,
                store,
                self._workers,
                signals,
                admission,
                self._watch(),
                request.row_timeout,
            )
            loop.run(feed.jobs())
            if len(asked) < len(slots):
                from context_bench.run.second_pass import DerivedRows

                self._tell_of_derived(admission)
                derived = DerivedRows(
                    store, slots, self.streams, wire, processor, request.repeat, unscored
                )
                loop.run(derived.jobs())
            if self._reference is not None and any(label.reference for label in store.labels()):
                from context_bench.run.second_pass import RescoreJobs

                loop.run(
                    RescoreJobs(
                        store, slots, wire, False, self._reference, agreement_only=True
                    ).jobs()
                )
        for name in sorted(processor.unseen if not feed.skipped else ()):
            is_shown, own = name in inputs, f"text field {name!r}, so it counts no token"
            told = f"field {name!r}, so --input shows systems nothing" if is_shown else own
            self._warnings.warn(f"No example and no output has the {told}.")
        return perf_counter() - started, feed.skipped

    def _converse(self, processor: RowProcessor, job: Job, seen: bytes) -> None:
        """Have a job asked as a conversation, by the extension for that, which is loaded with the first of them."""
        if self._conversations is None:
            from context_bench.run.conversation import Conversations

            drive = self._hooks.drive_conversation
            self._conversations = Conversations(drive, self._store, processor)
        self._conversations.take(job, seen)
        self._record_extensions()

    def _rates(self, *asked: Any) -> Any:
        """Return the rates of an endpoint. Where no system names one the rate limiter is loaded now: a system may refuse, too."""
        if self._request.locked is None:
            self._hooks.activate_rate_limiter()
        return self._hooks.rate_limiter(*asked)

    def _record_extensions(self) -> None:
        """Record the active extensions, those that were found to be needed while the run went on among them."""
        described = self._hooks.described
        if described != self._recorded_extensions:
            self._recorded_extensions = described
            self._store.add_provenance({"extensions": described})

    def _tell_of_derived(self, admission: Admission) -> None:
        """Say what readers of derived rows will be asked, and what it will cost if it costs as much as the sources did."""
        read = [slot for slot in self._slots if slot.source is not None and slot.model is not None]
        if read:
            counts = self._store.counts()
            pairs = [(slot.source or 0, slot.number) for slot in read]
            calls = sum(
                counts.get(source, (0, 0))[0] - counts.get(own, (0, 0))[0] for source, own in pairs
            )
            known = [admission.cost.get(source) for source, _ in pairs]
            money = sum(cost or 0.0 for cost in known)
            told = (
                f", about {money:.4g} {admission.currency} at what their sources cost"
                if any(known)
                else ""
            )
            self._warnings.warn(f"Derived rows ask the reader up to {calls} times{told}.")

    def _begin(self) -> None:
        """Record systems, datasets and the wiring that is known."""
        self._warnings.has_rows = True
        self._store.begin()
        self._store.expect(self._expected)
        for slot in self._slots:
            description = self._redactor.of_answer(slot.description)
            self._store.add_system(slot.number, slot.label, slot.key, slot.shared, description)
        for stream in self.streams:
            description = self._redactor.of_answer(stream.description)
            self._store.add_dataset(stream.number, stream.label or stream.fallback, description)
            if stream.label is not None:
                self._planner.wire(stream.label)
        self._record_dependencies()
        self._record_extensions()
        self._store.keep_metrics(metrics_record(self._metrics))
        warn = self._warnings.warn_from_anywhere
        self._hooks.run_started(self._config, self._summaries, self._store.path, warn)
        for line in self._hooks.before_first_call(self._slots, self._summaries, self._store):
            self._warnings.warn(line)

    @contextmanager
    def _shown(self, admission: Admission, feed: JobSource) -> Iterator[None]:
        """Show the work, and keep in the end what was learned."""
        if self._progress is not None:
            self._progress.watch(admission, feed, self._redactor.of)
            if not self._store.is_new:
                counts = self._store.counts()
                self._progress.resume(
                    {slot.number: counts.get(slot.number, (0, 0))[0] for slot in self._slots}
                )
        try:
            yield
        finally:
            if self._store.is_there:
                self._record_extensions()
                if admission.learned:
                    self._store.add_provenance({"limits": admission.learned})

    def _close(self) -> None:
        """Close the progress display and the systems."""
        if self._progress is not None:
            self._progress.close()
        for line in close_systems(self._slots):
            self._planner.warn(line)

    def _admission(self, stop: CancelToken) -> Admission:
        request, calls = self._request, self._hooks.calls
        limits = request.requests_per_minute, request.tokens_per_minute
        learned = self._store.run()["provenance"].get("limits", {})
        patience = request.keep_going, self._rates
        return Admission(self._slots, self._workers, *limits, calls, stop, learned, *patience)

    def _unscored(self) -> dict[int, set[int]]:
        """Return the evaluators that have said nothing of a response, by its packed identity.

        An earlier session ended between the commit of the response and that of its slow scores, or did not have them.
        """
        found: dict[int, set[int]] = {}
        for label in [] if self._store.is_new else self._store.labels():
            wiring = self._planner.wire(label.label)
            if changes := list(
                changes_of_plan(self._before.get(label.label, wiring.plan), wiring.plan)
            ):
                self._warnings.warn(
                    f"What scores {label.label or 'rows without a label'} has changed since the run began: "
                    f"{', '.join(changes)}. Rows that are done keep the scores that they have; "
                    f"`context-bench rescore {self._store.path}` scores all alike."
                )
            for scorer in wiring.scorers:
                if not scorer.agrees:  # agreement has a pass of its own
                    for row in unscored(self._store, label.number, scorer.number):
                        found.setdefault(row, set()).add(scorer.number)
        return found

    def _watch(self) -> Callable[[Sequence[StoredRow]], None]:
        """Return what is called with each group of rows that are stored: what shows them, then what may stop the run."""
        request = self._request
        observers: list[Callable[[Sequence[StoredRow]], None]] = []
        if self._progress is not None:
            observers.append(self._progress.rows)
        observers.append(self._show_rows)
        if request.max_failed is not None:
            observers.append(Failures(request.max_failed, self._expected).rows)
        if not request.keep_going:
            before = {} if self._store.is_new else self._store.counts()
            endpoints = {slot.number: endpoint_of(slot.system) for slot in self._slots}
            observers.append(CircuitBreaker(self._expected, before, endpoints).rows)

        def watch(rows: Sequence[StoredRow]) -> None:
            for observe in observers:
                observe(rows)

        return watch

    def _show_rows(self, rows: Sequence[StoredRow]) -> None:
        """Show rows, as they are stored, to the extensions that need them by now."""
        if self._hooks.needs_rows:
            for finished in self._store.rows_at(row.id.pack() for row in rows):
                self._hooks.row_finished(finished)

    def _record_dependencies(self) -> None:
        """Record the versions of what core and the plugins in use require, for a file that somebody keeps."""
        if not self._is_kept:
            return
        used = used_distributions(self._store)
        before = self._store.run()["provenance"].get("dependencies", {})
        if not used <= before.keys():
            self._store.add_provenance({"dependencies": before | dependencies(used)})

    def _end(self, status: str) -> None:
        """Record how the session ended."""
        self._record_dependencies()
        self._store.warn(self._warnings.messages)
        self._store.finish(status, now())

    def _broken_off(self, error: BaseException, signals: Signals) -> BaseException:
        """End a session that something has ended early, and return what to raise of it."""
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
        with suppress(KeyboardInterrupt):  # once more: what is left is our own
            self._tell_end(status)
        with signals.unheard():
            with suppress(
                StoreError
            ):  # it could not be recorded; what ended the session is told, and may be the same
                self._end(status)
            answered, failed = self._counted()
            has_turns = self._store.is_new and self._store.has_turns
            self._store.close()
            if (
                status == "stopped"
                and self._store.is_new
                and not answered
                and not failed
                and not has_turns
            ):
                self._store.discard()  # a run that could not begin leaves nothing
        if isinstance(error, KeyboardInterrupt):
            return self._interrupted(error)
        if isinstance(error, ContextBenchError):
            told, code = self._redactor.of(message_of(error)), error.exit_code
        elif message_of(error) == "can't start new thread":
            told, code = _NO_THREAD, StoreError.exit_code
        else:
            return error
        path = str(self._store.path) if (answered or has_turns) and self._store.is_there else None
        return RunStoppedError(told, path, code)

    def _interrupted(self, error: KeyboardInterrupt) -> RunStoppedError:
        return RunStoppedError(
            "Interrupted.", str(self._store.path), getattr(error, "exit_code", INTERRUPTED)
        )

    def _tell_end(self, status: str) -> None:
        """Tell the hooks how the run ended; what they warn of is still recorded."""
        answered, failed = self._counted()
        self._hooks.run_finished(status, answered + failed, failed)

    def _counted(self) -> tuple[int, int]:
        """Return how many rows are answered, and how many failed; none when the file is gone."""
        try:
            counts = self._store.counts().values()
        except StoreError:
            return 0, 0
        return sum(answered for answered, _ in counts), sum(failed for _, failed in counts)

    def _result(self, seconds: float, skipped: int) -> EvalResult:
        rows = StoredRows(self._store)
        done = len(rows) - skipped
        config = {
            **self._config,
            **told_of(self._store, self._metrics),
            "max_workers": self._workers,
            "score_field": self._request.score_field,
            "tokenizer": self._tokenizer.name,
        }
        timing = {
            "seconds": seconds,
            "rows_per_second": done / seconds if seconds else 0.0,
            "reused_rows": skipped,
        }
        result = EvalResult(rows, self._metrics, timing, config, warnings=self._store.warnings())
        self._store.keep_metrics(
            metrics_record(result.metrics, result.summary, result.keys_by_metric)
        )
        self._store.warn(result.findings)
        return result


def _streams(catalog: Catalog, request: RunConfig, planner: Planner) -> list[RunDataset]:
    streams: list[RunDataset] = []
    for number, dataset in enumerate(request.datasets):
        taken = [stream.label or stream.fallback for stream in streams]
        stream, facts = builders.make_stream(catalog, dataset, number, request, taken)
        if facts is not None:
            planner.know(facts)
        for name in gold_among(stream):
            where = stream.label or stream.fallback or "the dataset"
            planner.warn(
                f"--input {name} shows systems nothing: {name} holds the gold answers of {where}."
            )
        if stream.label is not None:
            planner.wire(stream.label)
        streams.append(stream)
    return streams


def _require_the_same(store: RunFile, slots: Sequence[RunSystem], tokenizer: Tokenizer) -> None:
    """Refuse to go on with a run of other systems, or whose tokens were counted otherwise."""
    labels, before = [slot.label for slot in slots], [entry["label"] for entry in store.systems()]
    if before and before != labels:
        raise ConfigurationError(
            f"The run file {store.path} holds a run of {', '.join(before)}, not of {', '.join(labels)}. Name another file."
        )
    counts = store.run()["config"].get("tokenizer", tokenizer.name)
    if counts != tokenizer.name:
        raise ConfigurationError(
            f"The run file {store.path} counts tokens with {counts}, not with {tokenizer.name}. Name another file."
        )


def _require_everything(request: RunConfig) -> None:
    """Refuse a request that lacks a dataset, or a secret that was taken out when it was kept."""
    if not request.datasets:
        raise MissingValueError(
            "dataset",
            "Pass --dataset NAME (see 'context-bench datasets list'), or give evaluate() an iterable of examples.",
        )
    asked = (*request.systems, request.reader, *request.datasets)
    given = [(spec.label or spec.name, spec.options) for one in asked for spec in specs_in(one)]
    for name, options in [*given, *request.options.items()]:
        for key, value in options.items():
            if is_redacted(value):
                raise ConfigurationError(
                    f"The {key} of {name} was given on the command line and is not kept. Put it into its environment "
                    "variable and run again: run files never hold secrets."
                )


def check_metrics(
    metrics: Sequence[RunMetric], planner: Planner, streams: Sequence[RunDataset]
) -> None:
    """Find a misspelt score before the first example, where every key is known by then.

    Raises:
        MetricError: A metric asks for a score that nothing of the run gives.
    """
    known = [key for wiring in planner.wirings.values() for key in wiring.keys]
    if any(stream.label is None for stream in streams):
        known += planner.possible_keys()
    if planner.reference is not None:
        known += [AGREEMENT + key for key in known]
    for metric in () if ANY_KEY in known else metrics:
        check_score_field(metric.metric, (), known)


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _check_origins(store: RunFile, streams: Iterable[RunDataset], warnings: Warnings) -> None:
    """Tell of datasets that are not in the edition any more which the run began with."""
    before = {entry["number"]: entry["description"] for entry in store.datasets()}
    for stream in streams:
        was, now_is = before.get(stream.number, {}), stream.description
        for name in ("source", "revision"):
            old, new = was.get(name), now_is.get(name)
            if old is not None and old != new:
                warnings.warn(
                    f"Dataset {stream.label or stream.fallback!r} has changed since the run began (another {name}): examples "
                    "that differ are asked again."
                )

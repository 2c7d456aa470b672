"""A run: slots, streams and a planner, against a run file, become a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from time import perf_counter
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from context_bench.bench.builders import baseline_of
from context_bench.bench.planner import Planner
from context_bench.bench.provenance import dependencies, told_of, used_distributions
from context_bench.bench.requests import Request
from context_bench.bench.run_parts import RunParts
from context_bench.errors import ContextBenchError, RunStoppedError, StoreError
from context_bench.metrics import check_score_field
from context_bench.metrics.registry import RunMetric, metrics_record
from context_bench.plugins.hooks import Hooks
from context_bench.protocols import Metric, Tokenizer
from context_bench.records import ANY_KEY
from context_bench.results import EvalResult, StoredRows
from context_bench.runner.admission import Admission, bill_of
from context_bench.runner.job_source import Feed
from context_bench.runner.parts import Scorer, Slot, Stream, is_slow
from context_bench.runner.stopping import Breaker, Failures, Signals, Stop
from context_bench.runner.systems import close_systems, endpoint_of, takes_turns
from context_bench.runner.work import Loop, Workbench
from context_bench.secrecy import Secrecy
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.runner.conversation import Transcripts
    from context_bench.runner.progress import Progress
    from context_bench.runner.stored_jobs import Reference
    from context_bench.store.questions import EarlierResponses

INTERRUPTED = 130


@define(eq=False)
class Warnings:
    """What the user should know, told and kept.

    Attributes:
        tell: Is told each line.
        on_one_thread: Whether ``tell`` may be called on the caller's thread alone: what other threads say waits for
            :meth:`catch_up`.
        told: The lines so far.
    """

    tell: Callable[[str], None] | None = None
    on_one_thread: bool = False
    told: list[str] = field(factory=list)
    _waiting: list[str] = field(factory=list)

    def warn(self, line: str) -> None:
        """Tell a line, on the caller's thread."""
        self.told.append(line)
        if self.tell is not None:
            self.tell(line)

    def warn_from_anywhere(self, line: str) -> None:
        """Tell a line, on any thread."""
        if not self.on_one_thread:
            self.warn(line)
            return
        self.told.append(line)
        self._waiting.append(line)

    def catch_up(self) -> None:
        """Tell what waits."""
        while self._waiting and self.tell is not None:
            self.tell(self._waiting.pop(0))


@frozen(eq=False)
class Run:
    """Everything that one run needs, as :func:`~context_bench.bench.preparation.prepare` puts it together.

    Attributes:
        request: What was asked for.
        store: The run file.
        slots: The systems.
        streams: The datasets.
        planner: Wires evaluators.
        hooks: Lifecycle hooks.
        described_hooks: What is recorded of them.
        parts: Preparers, governors and controllers that packages bring.
        metrics: What the rows are added up to.
        warnings: Is told what the user should know.
        tokenizer: Counts tokens.
        secrecy: Takes secrets out of whatever is written.
        workers: Calls in flight.
        grows: Whether an endpoint is asked fewer at once in the beginning: the user named no number.
        config: What is recorded about the request.
        reference: The system whose responses stand in for gold answers; None without one.
        progress: Shows how far the run is; None shows nothing.
        expected: Rows of the whole run, of all systems and samples; None when nobody knows.
        owner: Kept alive with the result; None where somebody keeps the run file.
    """

    request: Request
    store: RunFile
    slots: Sequence[Slot]
    streams: Sequence[Stream]
    planner: Planner
    hooks: Hooks
    described_hooks: Mapping[str, Mapping[str, Any]]
    parts: RunParts
    metrics: Sequence[Metric]
    warnings: Warnings
    tokenizer: Tokenizer
    secrecy: Secrecy
    workers: int
    config: Mapping[str, Any]
    reference: Reference | None = None
    progress: Progress | None = None
    expected: int | None = None
    owner: object = None
    grows: bool = False

    def execute(self, earlier: EarlierResponses | None = None) -> EvalResult:
        """Do what is still to be done, and return the result of the whole run.

        Args:
            earlier: Responses of earlier runs.

        Raises:
            RunStoppedError: The run ended early; everything finished so far is in the run file.
            MetricError: A metric asks for a score that no row has.
        """
        with Signals(self._say) as signals:
            try:
                try:
                    seconds, skipped = self._work(signals, earlier)
                finally:
                    self._close()
                self.store.settle_headlines()
                self._tell_end("finished")
                self._end("finished")
            except BaseException as error:
                if (stopped := self._broken_off(error, signals)) is error:
                    raise
                raise stopped from (None if isinstance(error, KeyboardInterrupt) else error)
            try:
                result = self._result(seconds, skipped)
                code = self.parts.exit_code(result, self.planner.controllers)
                if code is not None:
                    result.config["exit_code"] = code
                return result
            except KeyboardInterrupt as error:
                raise self._interrupted(error) from None
            finally:
                with signals.unheard():
                    self._leave()

    def _work(self, signals: Signals, earlier: EarlierResponses | None) -> tuple[float, int]:
        """Do what is still to be done; return the seconds that it took, and how many rows were there already."""
        self._begin()
        request = self.request
        bill = bill_of(self.parts.governors)
        workbench = Workbench(self.tokenizer, request.text_fields, secrecy=self.secrecy, bill=bill)
        transcripts = self._transcripts()
        unscored = self._unscored()
        asked = [slot for slot in self.slots if slot.source is None]
        of_run = asked, self.streams, self.planner.wire, workbench, request.samples, self.store.finished
        find, keeps = earlier.find if earlier else None, request.keep_examples
        feed = Feed(*of_run, find, keeps, request.order, transcripts, unscored, self.reference, request.patience)
        started = perf_counter()
        with self._shown(admission := self._admission(signals.stop), feed):
            loop = Loop(workbench, self.store, self.workers, signals, self._watch(), admission, request.deadline)
            try:
                loop.run(feed.jobs(self.store))
            finally:
                if transcripts is not None:
                    transcripts.close()
            if any(slot.source is not None for slot in self.slots):
                from context_bench.runner.stored_jobs import DerivedRows

                self._tell_of_derived(admission)
                of_rows = self.store, self.slots, self.streams, self.planner.wire, workbench, request.samples, unscored
                loop.run(DerivedRows(*of_rows).jobs())
            if self.reference is not None and any(label.reference for label in self.store.labels()):
                from context_bench.runner.stored_jobs import Again

                again = Again(self.store, self.slots, self.planner.wire, False, self.reference, agreement_only=True)
                loop.run(again.jobs())
        return perf_counter() - started, feed.skipped

    def _transcripts(self) -> Transcripts | None:
        """Return what keeps the turns of conversations; None where no system is asked turn by turn."""
        if not any(takes_turns(slot.system) for slot in self.slots):
            return None
        from context_bench.runner.conversation import Transcripts

        return Transcripts(self.store, self.secrecy)

    def _tell_of_derived(self, admission: Admission) -> None:
        """Say what readers of derived rows will be asked, and what it will cost if it costs as much as the sources did."""
        read = [slot for slot in self.slots if slot.source is not None and slot.model is not None]
        if read:
            counts = self.store.counts()
            pairs = [(slot.source or 0, slot.number) for slot in read]
            calls = sum(counts.get(source, (0, 0))[0] - counts.get(own, (0, 0))[0] for source, own in pairs)
            known = [admission.cost.get(source) for source, _ in pairs]
            money = sum(cost or 0.0 for cost in known)
            told = f", about {money:.4g} {admission.currency} at what their sources cost" if any(known) else ""
            self.warnings.warn(f"Derived rows ask the reader up to {calls} times{told}.")

    def _begin(self) -> None:
        """Record systems, datasets and the wiring that is known."""
        self.store.begin()
        self.store.expect(self.expected)
        for slot in self.slots:
            description = self.secrecy.of_answer(slot.description)
            self.store.add_system(slot.number, slot.label, slot.key, slot.shared, description)
        for stream in self.streams:
            description = self.secrecy.of_answer(stream.description)
            self.store.add_dataset(stream.number, stream.label or stream.fallback, description)
            if stream.label is not None:
                self.planner.wire(stream.label)
        self._record_dependencies()
        if self.parts.described:
            self.store.add_provenance({"run_parts": self.parts.described})
        if self.described_hooks:
            self.store.add_provenance({"hooks": self.described_hooks})
        self.store.keep_metrics(metrics_record(self.metrics))
        baseline = baseline_of([slot.label for slot in self.slots], self.request.baseline)
        told = [
            {"label": slot.label, "endpoint": endpoint_of(slot.system), "is_baseline": slot.label == baseline}
            for slot in self.slots
        ]
        self.hooks.run_started(dict(self.config), told, self.warnings.warn_from_anywhere)

    @contextmanager
    def _shown(self, admission: Admission, feed: Feed) -> Iterator[None]:
        """Show the work, and keep in the end what was learned."""
        if self.progress is not None:
            self.progress.watch(admission, feed, self.secrecy.of)
            if not self.store.is_new:
                counts = self.store.counts()
                self.progress.resume({slot.number: counts.get(slot.number, (0, 0))[0] for slot in self.slots})
        try:
            yield
        finally:
            admission.close()
            if admission.learned and self.store.is_there:
                self.store.add_provenance({"limits": admission.learned})

    def _close(self) -> None:
        """Show no more, and close the systems."""
        if self.progress is not None:
            self.progress.close()
        for line in close_systems(self.slots):
            self.planner.warn(line)

    def _admission(self, stop: Stop) -> Admission:
        governors = self.parts.governors
        for line in self.parts.begin(self.slots, self.store):
            self.warnings.warn(line)
        limits = self.request.requests_per_minute, self.request.tokens_per_minute
        learned = self.store.run()["provenance"].get("limits", {})
        is_patient = self.request.keep_going
        return Admission(self.slots, self.workers, *limits, governors, stop, self.grows, learned, is_patient)

    def _say(self, line: str) -> None:
        """Tell whoever watches the run what a signal does."""
        if self.progress is not None:
            self.progress.say(line)

    def _unscored(self) -> dict[int, set[int]]:
        """Return the slow evaluators that have said nothing of a response, by its packed identity.

        An earlier session ended between the commit of the response and that of its slow scores.
        """
        found: dict[int, set[int]] = {}
        if self.store.is_new:
            return found
        from context_bench.store.questions import unscored

        for label in self.store.labels():
            for scorer in filter(_is_late, self.planner.wire(label.label).scorers):
                for row in unscored(self.store, label.number, scorer.number):
                    found.setdefault(row, set()).add(scorer.number)
        return found

    def _watch(self) -> Callable[[StoredRow], None] | None:
        is_watched = self.hooks.watch_rows or bool(self.parts.controllers)
        if self.progress is None and not is_watched and self.request.max_failed is None and self.request.keep_going:
            return None
        failures = Failures(self.request.max_failed, self.expected)
        before = {} if self.store.is_new else self.store.counts()
        endpoints = {slot.number: endpoint_of(slot.system) for slot in self.slots}
        breaker = None if self.request.keep_going else Breaker(self.expected, before, endpoints)
        self.parts.started(self.store.path)

        def watch(row: StoredRow) -> None:
            failures.row(row)
            if breaker is not None:
                breaker.row(row)
            if self.progress is not None:
                self.progress.row(row)
            if self.hooks.watch_rows or self.parts.controllers:
                number = row.id.pack()
                for finished in self.store.rows(number, number):
                    self.hooks.row_finished(finished)
                    self.parts.row_finished(finished)

        return watch

    def _record_dependencies(self) -> None:
        """Record the versions of what core and the plugins in use require, for a file that somebody keeps."""
        if self.owner is not None:
            return
        used = used_distributions(self.store)
        before = self.store.run()["provenance"].get("dependencies", {})
        if not used <= before.keys():
            self.store.add_provenance({"dependencies": before | dependencies(used)})

    def _end(self, status: str) -> None:
        """Record how the session ended."""
        self._record_dependencies()
        self.store.warn(self.warnings.told)
        self.store.finish(status, now())

    def _broken_off(self, error: BaseException, signals: Signals) -> BaseException:
        """End a session that something has ended early, and return what to raise of it."""
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
        with suppress(KeyboardInterrupt):  # once more: what is left is our own
            self._tell_end(status)
        with signals.unheard():
            with suppress(StoreError):  # it could not be recorded; what ended the session is told, and may be the same
                self._end(status)
            answered, failed = self._counted()
            has_turns = self.store.is_new and self.store.has_turns
            self._leave(is_whole=False)
            if status == "stopped" and self.store.is_new and not answered and not failed and not has_turns:
                self.store.discard()  # a run that could not begin leaves nothing
        if isinstance(error, KeyboardInterrupt):
            return self._interrupted(error)
        if not isinstance(error, ContextBenchError):
            return error
        path = str(self.store.path) if (answered or has_turns) and self.store.is_there else None
        return RunStoppedError(str(error), path, error.exit_code)

    def _interrupted(self, error: KeyboardInterrupt) -> RunStoppedError:
        return RunStoppedError("Interrupted.", str(self.store.path), getattr(error, "exit_code", INTERRUPTED))

    def _tell_end(self, status: str) -> None:
        """Tell the hooks how the run ended; what they warn of is still recorded."""
        answered, failed = self._counted()
        self.hooks.run_finished(status, answered + failed, failed)

    def _leave(self, is_whole: bool = True) -> None:
        """Close the run file for writing; what is read of it from now on has no lock."""
        try:
            if self.owner is None:
                self.store.seal()
        except StoreError:
            if is_whole:
                raise  # else what ended the session is told
        finally:
            self.store.close()

    def _counted(self) -> tuple[int, int]:
        """Return how many rows are answered, and how many failed; none when the file is gone."""
        try:
            counts = self.store.counts().values()
        except StoreError:
            return 0, 0
        return sum(answered for answered, _ in counts), sum(failed for _, failed in counts)

    def _result(self, seconds: float, skipped: int) -> EvalResult:
        rows = StoredRows(self.store, self.owner)
        labels = self.store.labels()
        done = len(rows) - skipped
        config = {
            **self.config,
            **told_of(self.store, labels, self.metrics),
            "max_workers": self.workers,
            "score_field": self.request.score_field,
            "tokenizer": self.tokenizer.name,
        }
        timing = {"seconds": seconds, "rows_per_second": done / seconds if seconds else 0.0, "reused_rows": skipped}
        declared = [key for label in labels for key in label.keys]
        result = EvalResult(rows, self.metrics, timing, config, declared, self.store.warnings())
        self.store.keep_metrics(metrics_record(result.metrics, result.summary, result.said))
        self.store.warn(result.findings)
        return result


def check_metrics(metrics: Sequence[Metric], planner: Planner, streams: Sequence[Stream]) -> None:
    """Find a misspelt score before the first example, where every label and key is known by then.

    Raises:
        MetricError: A metric asks for a score that nothing of the run gives.
    """
    known = [key for wiring in planner.wirings.values() for key in wiring.keys]
    if ANY_KEY in known or any(stream.label is None for stream in streams):
        return
    for metric in metrics:
        check_score_field(metric.metric if isinstance(metric, RunMetric) else metric, (), known)


def _is_late(scorer: Scorer) -> bool:
    """Whether a scorer scores after the commit, and on its own: agreement has a pass of its own."""
    return is_slow(scorer) and not scorer.agrees


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")

"""A session: a prepared run is executed against its run file, from its first call to its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from context_bench.errors import ContextBenchError, RunStoppedError, StoreError, message_of
from context_bench.plugins.catalog import Catalog
from context_bench.plugins.wiring import changes_of_plan
from context_bench.results.reading import told_of
from context_bench.results.result import EvalResult, StoredRows
from context_bench.run.admission import Admission
from context_bench.run.examples import JobSource
from context_bench.run.jobs import Job, reported_cost
from context_bench.run.loop import RunLoop
from context_bench.run.processor import RowProcessor
from context_bench.run.stopping import Signals
from context_bench.run.systems import close_systems, most_resources, resources_of
from context_bench.session.location import RunLocation
from context_bench.session.observers import admission_of, combine, observers_of
from context_bench.session.prepare import PreparedRun
from context_bench.session.record import RunRecord
from context_bench.session.sources import require_unchanged
from context_bench.session.stores import address_of
from context_bench.session.warnings import Warnings
from context_bench.store.queries import unscored

if TYPE_CHECKING:
    from context_bench.run.batches import Batches
    from context_bench.run.conversation import Conversations
    from context_bench.run.progress import Progress

INTERRUPTED = 130
"""Exit code of a session that was interrupted."""
_NO_THREAD = (
    "The operating system starts no more threads: their number (`ulimit -u`) or memory is limited. "
    "End other programs, or make fewer calls at once (--max-workers)."
)


class RunSession:
    """One session of a run: starts a new run file or continues one, and returns the result of the
    whole run.

    Args:
        catalog: What is installed.
        prepared: The run.
        location: Where it is stored; a new run file is created now.
        warnings: Receives what the user should know.
    """

    def __init__(
        self,
        catalog: Catalog,
        prepared: PreparedRun,
        location: RunLocation,
        warnings: Warnings,
    ) -> None:
        self._catalog = catalog
        self._prepared = prepared
        self._warnings = warnings
        self._is_kept = location.is_kept
        self._store = location.open(catalog, prepared.run_id, prepared.recorded)
        self._record = RunRecord(prepared, self._store, location.is_kept)
        self._conversations: Conversations | None = None
        self._progress: Progress | None = None
        prepared.wiring.attach(self._store)
        if prepared.config.progress:
            from context_bench.run.progress import Progress

            self._progress = Progress(
                prepared.systems,
                prepared.rows_per_system,
                log_format=prepared.config.log_format,
            )

    def execute(self) -> EvalResult:
        """Do what is still to be done, and return the result of the whole run.

        Raises:
            RunStoppedError: The run stopped early; everything that was finished is in the run file.
            MetricError: A metric asks for a score that no row has.
        """
        progress = self._progress
        with Signals(None if progress is None else progress.say) as signals:
            try:
                try:
                    seconds, skipped = self._do_rows(signals)
                finally:
                    self._close()
                self._store.settle_primary_scores()
                self._show_end("finished")
                self._record.end("finished", self._warnings.messages)
            except BaseException as error:
                stopped = self._stop(error, signals)
                if stopped is error:
                    raise
                raise stopped from (None if isinstance(error, KeyboardInterrupt) else error)
            try:
                return self._finish(seconds, skipped)
            except KeyboardInterrupt as error:
                raise self._interrupted(error) from None
            finally:
                with signals.unheard():
                    self._store.close()

    def _do_rows(self, signals: Signals) -> tuple[float, int]:
        """Do the rows that are not stored; return the seconds that it took, and the number of
        stored rows."""
        self._begin()
        processor = self._processor()
        unscored_rows = self._unscored()
        jobs = self._job_source(processor, unscored_rows)
        started = perf_counter()
        admission = admission_of(self._prepared, self._store, signals.stop)
        with self._shown(admission, jobs), self._executor(processor) as batches:
            loop = RunLoop(
                processor=processor,
                store=self._store,
                workers=self._prepared.max_workers,
                signals=signals,
                admission=admission,
                on_rows=combine(observers_of(self._prepared, self._store, self._progress)),
                deadline=self._prepared.config.row_timeout,
                batches=batches,
            )
            loop.run(jobs.jobs())
            self._second_pass(loop, unscored_rows)
        require_unchanged(self._prepared.datasets)
        if not jobs.skipped:
            self._warn_of_unseen_fields(processor)
        return perf_counter() - started, jobs.skipped

    @contextmanager
    def _executor(self, processor: RowProcessor) -> Iterator[Batches | None]:
        """Open the executor of the session; None where this process does all rows."""
        requested = self._prepared.config.executor
        if requested in ("", "local"):
            yield None
            return
        from context_bench.session.executors import open_executor
        from context_bench.session.worker import batches_of

        systems = [run_system.system for run_system in self._prepared.systems]
        resources = most_resources(resources_of(system) for system in systems)
        with open_executor(self._catalog, requested, resources, self._warnings.warn) as executor:
            yield batches_of(self._catalog, self._prepared, executor, processor)

    def _begin(self) -> None:
        """Record the run, and show it to extensions."""
        prepared = self._prepared
        self._warnings.has_rows = True
        self._record.begin()
        summaries = prepared.summaries()
        prepared.hooks.run_started(
            config=self._config(),
            systems=summaries,
            run_file=self._store.path,
            warn=self._warnings.warn_from_anywhere,
        )
        for line in prepared.hooks.before_first_call(
            prepared.systems, summaries, prepared.score_keys, self._store
        ):
            self._warnings.warn(line)

    def _config(self) -> dict[str, Any]:
        return {
            "request": self._prepared.recorded,
            "run_file": str(self._store.path) if self._is_kept else "",
        }

    def _processor(self) -> RowProcessor:
        prepared = self._prepared
        processor = RowProcessor(
            prepared.tokenizer,
            prepared.config.text_fields,
            prepared.redactor,
            prepared.hooks.calls.cost_function(reported_cost),
        )
        processor.unseen |= self._more_inputs()
        return processor

    def _more_inputs(self) -> set[str]:
        return {name for dataset in self._prepared.datasets for name in dataset.more_inputs}

    def _job_source(
        self, processor: RowProcessor, unscored_rows: Mapping[int, set[int]]
    ) -> JobSource:
        prepared = self._prepared
        config = prepared.config
        return JobSource(
            systems=prepared.called_systems,
            datasets=prepared.datasets,
            wire=prepared.wiring.wire,
            processor=processor,
            samples=prepared.repeat,
            store=self._store,
            reuse=None if prepared.earlier is None else prepared.earlier.find,
            keep_bodies=config.store_examples,
            order=config.order,
            converse=partial(self._converse, processor),
            unscored=unscored_rows,
            reference=prepared.reference,
            timeout=config.patience,
            shard=config.shard,
        )

    def _converse(self, processor: RowProcessor, job: Job, example_key: bytes) -> None:
        """Have a job done as a conversation, by the extension for that, which is loaded with the
        first such job."""
        if self._conversations is None:
            from context_bench.run.conversation import Conversations

            drive = self._prepared.hooks.drive_conversation
            self._conversations = Conversations(drive, self._store, processor)
        self._conversations.take(job, example_key)
        self._record.extensions()

    def _unscored(self) -> dict[int, set[int]]:
        """Return the numbers of the evaluators that have not scored a stored response, by its
        packed identity.

        An earlier session stopped between the commit of the response and that of its scores, or did
        not have the evaluators.
        """
        prepared = self._prepared
        numbers: dict[int, set[int]] = {}
        if self._store.is_new:
            return numbers
        for label in self._store.labels():
            wiring = prepared.wiring.wire(label.label)
            earlier = prepared.plans.get(label.label, wiring.plan)
            changes = list(changes_of_plan(earlier, wiring.plan))
            if changes:
                self._warnings.warn(
                    f"The evaluators of {label.label or 'rows without a label'} have changed since "
                    f"the run started: {', '.join(changes)}. Finished rows keep their scores; "
                    f"`context-bench rescore {address_of(self._store.path)}` scores all rows again."
                )
            for scorer in wiring.scorers:
                if scorer.agrees:  # agreement is scored in the second pass
                    continue
                for row in unscored(self._store, label.number, scorer.number):
                    numbers.setdefault(row, set()).add(scorer.number)
        return numbers

    @contextmanager
    def _shown(self, admission: Admission, jobs: JobSource) -> Iterator[None]:
        """Show the progress, and record at the end what was learned."""
        if self._progress is not None:
            self._progress.watch(admission, jobs, self._prepared.redactor.of)
            if not self._store.is_new:
                counts = self._store.counts()
                self._progress.resume(
                    {
                        system.number: counts.get(system.number, (0, 0))[0]
                        for system in self._prepared.systems
                    }
                )
        try:
            yield
        finally:
            if self._store.is_there:
                self._record.calls(admission)

    def _second_pass(self, loop: RunLoop, unscored_rows: Mapping[int, set[int]]) -> None:
        """Derive rows from stored rows, and score the agreement with the reference."""
        prepared = self._prepared
        wire = prepared.wiring.wire
        if len(prepared.called_systems) < len(prepared.systems):
            from context_bench.run.second_pass import DerivedRows

            self._warn_of_derived(loop.admission)
            derived = DerivedRows(
                store=self._store,
                systems=prepared.systems,
                datasets=prepared.datasets,
                wire=wire,
                processor=loop.processor,
                samples=prepared.repeat,
                unscored=unscored_rows,
            )
            loop.run(derived.jobs())
        reference = prepared.reference
        if reference is not None and any(label.reference for label in self._store.labels()):
            from context_bench.run.second_pass import RescoreJobs

            agreement = RescoreJobs(
                self._store,
                prepared.systems,
                wire,
                reference=reference,
                agreement_only=True,
            )
            loop.run(agreement.jobs())

    def _warn_of_derived(self, admission: Admission) -> None:
        """Report how often readers of derived rows will be called, and the cost if the calls cost
        what their sources did."""
        sources = {
            system.number: system.source
            for system in self._prepared.systems
            if system.source is not None and system.model is not None
        }
        if not sources:
            return
        counts = self._store.counts()
        calls = 0
        cost = 0.0
        for number, source in sources.items():
            answered, _ = counts.get(source, (0, 0))
            stored, _ = counts.get(number, (0, 0))
            calls += answered - stored
            cost += admission.cost.get(source) or 0.0
        about = f", about {cost:.4g} {admission.currency} at the cost of their sources"
        self._warnings.warn(
            f"Derived rows call the reader up to {calls} times{about if cost else ''}."
        )

    def _warn_of_unseen_fields(self, processor: RowProcessor) -> None:
        more_inputs = self._more_inputs()
        for name in sorted(processor.unseen):
            effect = f"text field {name!r}, so it counts no token"
            if name in more_inputs:
                effect = f"field {name!r}, so --input shows systems nothing"
            self._warnings.warn(f"No example and no output has the {effect}.")

    def _close(self) -> None:
        """Close the progress display and the systems."""
        if self._progress is not None:
            self._progress.close()
        for line in close_systems(self._prepared.systems):
            self._warnings.warn(line)

    def _show_end(self, status: str) -> None:
        """Show extensions how the run ended; their warnings are still recorded."""
        answered, failed = self._record.count()
        self._prepared.hooks.run_finished(status, answered + failed, failed)

    def _stop(self, error: BaseException, signals: Signals) -> BaseException:
        """End a session that an error or a signal has stopped, and return the error to raise."""
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
        with suppress(KeyboardInterrupt):  # a further signal: what remains is our own work
            self._show_end(status)
        with signals.unheard():
            with suppress(StoreError):  # the run file may be the cause, which is raised below
                self._record.end(status, self._warnings.messages)
            answered, failed = self._record.count()
            has_turns = self._store.is_new and self._store.has_turns
            self._store.close()
            is_empty = not answered and not failed and not has_turns
            if status == "stopped" and self._store.is_new and is_empty:
                self._store.discard()  # a run that could not start leaves nothing
        if isinstance(error, KeyboardInterrupt):
            return self._interrupted(error)
        if isinstance(error, ContextBenchError):
            message = self._prepared.redactor.of(message_of(error))
            code = error.exit_code
        elif message_of(error) == "can't start new thread":
            message = _NO_THREAD
            code = StoreError.exit_code
        else:
            return error
        has_rows = not is_empty and self._store.is_there
        can_resume = has_rows and getattr(error, "can_resume", True)
        return RunStoppedError(message, address_of(self._store.path) if can_resume else None, code)

    def _interrupted(self, error: KeyboardInterrupt) -> RunStoppedError:
        code = getattr(error, "exit_code", INTERRUPTED)
        return RunStoppedError("Interrupted.", address_of(self._store.path), code)

    def _finish(self, seconds: float, skipped: int) -> EvalResult:
        """Return the result, with the exit code that extensions and evaluators set.

        Raises:
            ContextBenchError: A metric or an extension failed; the run file is complete.
        """
        try:
            result = self._result(seconds, skipped)
            evaluators = self._prepared.wiring.finishing
            code = None
            if self._prepared.config.shard is None:  # gates are for the whole run
                code = self._prepared.hooks.exit_code(result, evaluators)
        except ContextBenchError as error:
            if self._is_kept:
                report = f"The run is complete: context-bench report {address_of(self._store.path)}"
                error.args = (f"{message_of(error)}\n{report}",)
            raise
        if code is not None:
            result.config["exit_code"] = code
        return result

    def _result(self, seconds: float, skipped: int) -> EvalResult:
        prepared = self._prepared
        rows = StoredRows(self._store)
        config = {
            **self._config(),
            **told_of(self._store, prepared.metrics),
            "max_workers": prepared.max_workers,
            "tokenizer": prepared.tokenizer.name,
        }
        timing = {
            "seconds": seconds,
            "rows_per_second": (len(rows) - skipped) / seconds if seconds else 0.0,
            "reused_rows": skipped,
        }
        warnings = self._store.warnings()
        result = EvalResult(rows, list(prepared.metrics), timing, config, warnings=warnings)
        self._record.result(result)
        return result

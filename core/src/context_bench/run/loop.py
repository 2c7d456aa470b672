"""The loop of a run: it does jobs and commits their rows, on the caller's thread or concurrently.

One call at a time needs no second thread: systems, evaluators and commits then run on the caller's.
Everything else - several calls in flight, async code, a deadline, an endpoint with limits - is done
by :class:`~context_bench.run.concurrent_runner.ConcurrentRunner`.

On the caller's thread, rows whose calls took less than :data:`CHEAP` seconds are committed in
groups as soon as a group is a small share of the stored rows. So a kill loses next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING

from attrs import Factory, define, evolve

from context_bench.run.admission import Admission
from context_bench.run.jobs import Job, LabelWiring, needs_concurrency
from context_bench.run.processor import RetryableCallError, RowProcessor
from context_bench.run.stopping import Interruption, Signals
from context_bench.run.systems import RunSystem
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile

if TYPE_CHECKING:
    from context_bench.run.batches import Batches

CHEAP = 0.0002
_LARGEST_GROUP = 500
_SMALLEST_SHARE = 20
_ONE_BY_ONE = 128
"""A group is at most that part of the committed rows, and none of the first rows and examples waits
for another."""
_LONGEST_WAIT = 0.05


def largest_group(committed: int) -> int:
    """Return how many cheap rows may wait for their commit, after so many committed rows."""
    return 1 if committed < _ONE_BY_ONE else min(_LARGEST_GROUP, committed // _SMALLEST_SHARE)


OnRows = Callable[[Sequence[StoredRow]], None]


@define(eq=False)
class RunLoop:
    """Does jobs and commits their rows.

    Attributes:
        processor: Does a job.
        store: Where rows are committed.
        workers: Number of calls in flight. With one, systems are called on the caller's thread,
            unless a deadline, an endpoint or an evaluator asks for more.
        signals: Those that end the session.
        admission: Limits of the endpoints, hooks of calls, and the token that stops the run.
        on_rows: Called with each group of committed rows.
        deadline: Seconds for one row, from the first call until it is scored; None for no limit.
        batches: The rows that an executor does; None without an executor.
    """

    processor: RowProcessor
    store: RunFile
    workers: int
    signals: Signals
    admission: Admission
    on_rows: OnRows | None = None
    deadline: float | None = None
    batches: Batches | None = None
    _group: list[StoredRow | StoredExample] = Factory(list)
    _committed: int = 0
    _plain: set[RunSystem | LabelWiring] = Factory(set)

    def run(self, jobs: Iterable[Job]) -> None:
        """Do every job and return when all rows are committed.

        An error that stops the run - the job source cannot go on, the wiring is wrong, the disk is
        full - lets the calls in flight finish and be committed, and is raised then. So do the first
        Ctrl-C, SIGTERM and SIGHUP; the second does not wait.

        Raises:
            Interruption: A signal ended the run.
        """
        admission = self.admission
        signals = self.signals
        signals.in_flight = lambda: max(1, sum(admission.in_flight.values()))
        try:
            signals.is_at_once = False
            remaining: Iterable[Job] | None = jobs
            is_single = self.workers == 1 and self.batches is None
            if is_single and self.deadline is None and not admission.is_limited:
                remaining = self._do_on_this_thread(iter(jobs))
            if remaining is not None and not admission.stop.is_set():
                from context_bench.run.concurrent_runner import ConcurrentRunner

                ConcurrentRunner(self).run(remaining)
        finally:
            signals.in_flight = int
            signals.is_at_once = True
        if signals.number is not None:
            raise Interruption(signals.number)

    def _do_on_this_thread(self, jobs: Iterator[Job]) -> Iterator[Job] | None:
        """Do jobs on the caller's thread, which costs no hand-over.

        Returns:
            The jobs that are better done concurrently, or None.
        """
        pull = self.signals.pull
        do = self.processor.do
        oldest = 0.0
        group_size = 1
        try:
            while (job := pull(jobs)) is not None:
                if not self._is_plain(job):
                    return chain([job], jobs)
                if not self._group:
                    oldest = monotonic()
                if job.stored is not None:
                    self._group.append(job.stored)
                try:
                    row, _ = do(job)
                except RetryableCallError as error:
                    repeated = evolve(job, stored=None, failed_attempt=error.attempt)
                    return chain([repeated], jobs)
                self._group.append(row)
                is_cheap = row.latency < CHEAP and row.output is not None
                is_full = len(self._group) >= group_size
                if not is_cheap or is_full or monotonic() - oldest > _LONGEST_WAIT:
                    self._commit()
                    group_size = largest_group(self._committed)
        finally:
            self._commit()
        return None

    def _is_plain(self, job: Job) -> bool:
        """Whether a job can run on the caller's thread; the answer is stored until the next
        commit."""
        plain = self._plain
        is_called = job.output is None
        is_known = job.wiring in plain and (job.slot in plain or not is_called)
        if is_known and job.only is None:
            return True
        if needs_concurrency(job):
            return False
        plain.add(job.wiring)
        if is_called:
            plain.add(job.slot)
        return True

    def _commit(self) -> None:
        self._plain.clear()  # an evaluator may have cost enough by now for another process
        if not self._group:
            return
        group = self._group
        self._group = []  # before: a second signal may come once they are committed
        self.store.commit(group)
        self._committed += len(group)
        if self.on_rows is not None:
            self.on_rows([item for item in group if isinstance(item, StoredRow)])

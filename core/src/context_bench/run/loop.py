"""The loop of a run: jobs are done and their rows committed, on the caller's thread or many at
once.

One call at a time needs no second thread: systems, evaluators and commits then run on the caller's.
Everything else - several calls in flight, async code, a deadline, an endpoint with limits - is done
by :class:`~context_bench.run.concurrent_runner.ConcurrentRunner`.

On the caller's thread rows whose calls took less than :data:`CHEAP` seconds are committed in
groups, when enough rows lie safe that a group is a small share of them: what a kill costs then is
next to nothing of what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from time import monotonic

from attrs import Factory, define, evolve

from context_bench.run.admission import Admission
from context_bench.run.jobs import Job, LabelWiring, needs_concurrency
from context_bench.run.processor import RetryableCallError, RowProcessor
from context_bench.run.stopping import Interruption, Signals
from context_bench.run.systems import RunSystem
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile

CHEAP = 0.0002
_LARGEST_GROUP = 500
_SMALLEST_SHARE = 20
_ONE_BY_ONE = 128
"""A group is at most that part of what is committed, and none of the first rows and examples waits
for another."""
_LONGEST_WAIT = 0.05


def largest_group(committed: int) -> int:
    """Return how many cheap rows may wait for their commit, of a session that has committed so many
    rows."""
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
    """

    processor: RowProcessor
    store: RunFile
    workers: int
    signals: Signals
    admission: Admission
    on_rows: OnRows | None = None
    deadline: float | None = None
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
        admission, signals = self.admission, self.signals
        signals.in_flight = lambda: max(1, sum(admission.in_flight.values()))
        try:
            signals.is_at_once = False
            rest: Iterable[Job] | None = jobs
            if self.workers == 1 and self.deadline is None and not admission.is_limited:
                rest = self._do_here(iter(jobs))
            if rest is not None and not admission.stop.is_set():
                from context_bench.run.concurrent_runner import ConcurrentRunner

                ConcurrentRunner(self).run(rest)
        finally:
            signals.in_flight, signals.is_at_once = int, True
        if signals.number is not None:
            raise Interruption(signals.number)

    def _do_here(self, jobs: Iterator[Job]) -> Iterator[Job] | None:
        """Do jobs on the caller's thread, which costs no hand-over; return those that are better
        done concurrently, or None."""
        pull, plain, oldest, most, do = self.signals.pull, self._plain, 0.0, 1, self.processor.do
        try:
            while (job := pull(jobs)) is not None:
                is_asked = job.output is None
                if (
                    job.wiring not in plain
                    or (is_asked and job.slot not in plain)
                    or job.only is not None
                ):
                    if needs_concurrency(job):
                        return chain([job], jobs)
                    plain.update((job.wiring, job.slot) if is_asked else (job.wiring,))
                if not self._group:
                    oldest = monotonic()
                if job.stored is not None:
                    self._group.append(job.stored)
                try:
                    row = do(job)
                except RetryableCallError as error:
                    repeated = evolve(job, stored=None, failed_attempt=error.attempt)
                    return chain([repeated], jobs)
                self._group.append(row)
                is_cheap = row.latency < CHEAP and row.output is not None
                if not is_cheap or len(self._group) >= most or monotonic() - oldest > _LONGEST_WAIT:
                    self._commit()
                    most = largest_group(self._committed)
        finally:
            self._commit()
        return None

    def _commit(self) -> None:
        self._plain.clear()  # an evaluator may have cost enough by now to be run elsewhere
        if not self._group:
            return
        group = self._group
        self._group = []  # before: a second signal may come once they are committed
        self.store.commit(group)
        self._committed += len(group)
        if self.on_rows is not None:
            self.on_rows([item for item in group if isinstance(item, StoredRow)])

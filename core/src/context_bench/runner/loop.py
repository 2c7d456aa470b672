"""The loop: jobs are done and their rows committed, on the caller's thread or on several of our own.

A job holds one place of a bounded window from before its system is called until its row is committed. So a run that is
killed repeats at most as many calls as there are places, and a slow disk slows the calls down instead of filling the
memory. A call that took less than :data:`CHEAP` seconds costs less to repeat than to wait for: such rows are committed in
groups when they come from the caller's own thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from time import monotonic

from attrs import evolve

from context_bench.runner.admission import Admission
from context_bench.runner.parts import Job, LabelWiring, Slot, needs_lanes
from context_bench.runner.stopping import Interruption, Signals
from context_bench.runner.work import AskedTooOftenError, Workbench
from context_bench.store.runfile import RunFile
from context_bench.store.stored_rows import StoredExample, StoredRow

CHEAP = 0.0002
_LARGEST_GROUP = 500
_LONGEST_WAIT = 0.05

OnRow = Callable[[StoredRow], None]


class Loop:
    """Does jobs and commits their rows.

    Args:
        workbench: Does a job.
        store: Where rows are committed.
        workers: Number of calls in flight. With one, systems are called on the caller's thread, unless a deadline, an
            endpoint or an evaluator asks for more.
        signals: Those that end the session.
        on_row: Called with each committed row.
        admission: Limits of the endpoints, governors, and the token that stops the run; None for none.
        deadline: Seconds for one row; None for no limit.
    """

    def __init__(
        self,
        workbench: Workbench,
        store: RunFile,
        workers: int,
        signals: Signals,
        on_row: OnRow | None = None,
        admission: Admission | None = None,
        deadline: float | None = None,
    ) -> None:
        self._workbench = workbench
        self._store = store
        self._workers = workers
        self._on_row = on_row
        self._signals = signals
        self._admission = admission or Admission((), workers, stop=signals.stop)
        self._deadline = deadline

    def run(self, jobs: Iterable[Job]) -> None:
        """Do every job and return when all rows are committed.

        An error that stops the run - the job source cannot go on, the wiring is wrong, the disk is full - lets the calls in
        flight finish and be committed, and is raised then. So do the first Ctrl-C, SIGTERM and SIGHUP; the second does not wait.

        Raises:
            Interruption: A signal ended the run.
        """
        admission, signals = self._admission, self._signals
        signals.in_flight = lambda: max(1, sum(admission.in_flight.values()))
        try:
            signals.is_at_once = False
            rest: Iterable[Job] | None = jobs
            if self._workers == 1 and self._deadline is None and not admission.is_limited:
                rest = _Inline(self._workbench, self._store, self._on_row, signals).run(iter(jobs))
            if rest is not None and not admission.stop.is_set():
                from context_bench.runner.lanes import Lanes

                of_run = self._workbench, self._store, self._workers
                Lanes(*of_run, admission, signals, self._deadline, self._on_row).run(rest)
        finally:
            signals.in_flight, signals.is_at_once = int, True
        if signals.number is not None:
            raise Interruption(signals.number)


class _Inline:
    """Everything on the caller's thread, which costs no hand-over."""

    def __init__(self, workbench: Workbench, store: RunFile, on_row: OnRow | None, signals: Signals) -> None:
        self._workbench, self._store, self._on_row, self._signals = workbench, store, on_row, signals
        self._group: list[StoredRow | StoredExample] = []
        self._oldest = 0.0
        self._plain: dict[LabelWiring, set[Slot]] = {}

    def run(self, jobs: Iterator[Job]) -> Iterator[Job] | None:
        """Do jobs until one is better done in the lanes; return that one and the rest, or None."""
        signals = self._signals
        try:
            while True:
                signals.is_at_once = True
                job = next(jobs, None) if signals.number is None else None
                signals.is_at_once = False
                if job is None:
                    break
                if job.slot not in self._plain.get(job.wiring, ()) or job.only is not None:
                    if needs_lanes(job):
                        return chain([job], jobs)
                    self._plain.setdefault(job.wiring, set()).add(job.slot)
                if not self._group:
                    self._oldest = monotonic()
                if job.stored is not None:
                    self._group.append(job.stored)
                try:
                    row = self._workbench.do(job)
                except AskedTooOftenError:
                    return chain([evolve(job, stored=None)], jobs)
                self._group.append(row)
                if (
                    row.latency >= CHEAP
                    or row.output is None
                    or len(self._group) >= _LARGEST_GROUP
                    or monotonic() - self._oldest > _LONGEST_WAIT
                ):
                    self._commit()
        finally:
            signals.is_at_once = False
            self._commit()
        return None

    def _commit(self) -> None:
        self._plain.clear()  # an evaluator may have cost enough by now to be run elsewhere
        if self._group:
            group, self._group = self._group, []  # before: a second signal may come once they are committed
            self._store.commit(group)
            if self._on_row is not None:
                for item in group:
                    if isinstance(item, StoredRow):
                        self._on_row(item)

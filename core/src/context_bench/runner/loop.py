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
from typing import TYPE_CHECKING

from attrs import evolve

from context_bench.runner.parts import LabelWiring, Slot
from context_bench.runner.refusals import CallRefusedError
from context_bench.runner.routes import needs_lanes
from context_bench.runner.work import Job, Workbench
from context_bench.store.runfile import RunFile
from context_bench.store.stored_rows import StoredExample, StoredRow

if TYPE_CHECKING:
    from context_bench.runner.admission import Traffic

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
        on_row: Called with each committed row.
        traffic: Limits of the endpoints; None for none.
        deadline: Seconds for one row; None for no limit.
    """

    def __init__(
        self,
        workbench: Workbench,
        store: RunFile,
        workers: int,
        on_row: OnRow | None = None,
        traffic: Traffic | None = None,
        deadline: float | None = None,
    ) -> None:
        self._workbench = workbench
        self._store = store
        self._workers = workers
        self._on_row = on_row
        self._traffic = traffic
        self._deadline = deadline

    def run(self, jobs: Iterable[Job]) -> None:
        """Do every job and return when all rows are committed.

        An error that stops the run - the feed cannot go on, the wiring is wrong, the disk is full - lets the calls in
        flight finish and be committed, and is raised then. So does the first Ctrl-C; the second does not wait.
        """
        is_limited = self._traffic is not None and self._traffic.is_limited
        if self._workers == 1 and self._deadline is None and not is_limited:
            rest = _Inline(self._workbench, self._store, self._on_row).run(iter(jobs))
            if rest is None:
                return
            jobs = rest
        self._lanes(jobs)

    def _lanes(self, jobs: Iterable[Job]) -> None:
        from context_bench.runner.admission import Traffic
        from context_bench.runner.lanes import Lanes

        traffic = self._traffic or Traffic((), self._workers)
        Lanes(self._workbench, self._store, self._workers, traffic, self._deadline, self._on_row).run(jobs)


class _Inline:
    """Everything on the caller's thread, which costs no hand-over."""

    def __init__(self, workbench: Workbench, store: RunFile, on_row: OnRow | None) -> None:
        self._workbench, self._store, self._on_row = workbench, store, on_row
        self._group: list[StoredRow | StoredExample] = []
        self._oldest = 0.0
        self._plain: dict[LabelWiring, set[Slot]] = {}

    def run(self, jobs: Iterator[Job]) -> Iterator[Job] | None:
        """Do jobs until one is better done in the lanes; return that one and the rest, or None."""
        try:
            for job in jobs:
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
                except CallRefusedError:
                    return chain([evolve(job, stored=None)], jobs)
                self._group.append(row)
                if (
                    row.latency >= CHEAP
                    or len(self._group) >= _LARGEST_GROUP
                    or monotonic() - self._oldest > _LONGEST_WAIT
                ):
                    self._commit()
        finally:
            self._commit()
        return None

    def _commit(self) -> None:
        if self._group:
            self._store.commit(self._group)
            group, self._group = self._group, []
            if self._on_row is not None:
                for item in group:
                    if isinstance(item, StoredRow):
                        self._on_row(item)

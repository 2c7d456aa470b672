"""Lanes: rows on their way through systems, scorers and the writer, many at once.

A row holds one place of a bounded window from before its system is called until its response is committed. So a run
that is killed repeats at most as many calls as there are places, and a slow disk slows the calls down instead of filling
the memory. Systems that block run on threads, those with ``aprocess`` on an event loop. What scores quickly scores before
the commit; evaluators in batches, async ones and those in processes of their own score after it, in a second window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from threading import Event, Semaphore, Thread
from time import perf_counter
from typing import TYPE_CHECKING

from attrs import evolve

from context_bench.records import Failure, shown_seconds
from context_bench.run.calls import RowTask, adrive, drive
from context_bench.run.model import (
    Job,
    LabelWiring,
    Scorer,
    Timing,
    is_async,
    scorers_of,
    slow_scorers,
)
from context_bench.run.scoring import Later, claim
from context_bench.run.stopping import CaughtError, call_on, capture
from context_bench.run.threads import EventLoop, Finished, Threads, Window, Writer
from context_bench.store.rows import StoredRow

if TYPE_CHECKING:
    from context_bench.run.loop import RunLoop

_TICK = 0.02
_TICK_OF_MAIN = 0.25
_SCORING_THREADS = 1
_MOST_LATER = 1 << 16
_QUICK = 0.0003


class Lanes:
    """Does the jobs of a loop, many at once, and commits their rows."""

    def __init__(self, loop: RunLoop) -> None:
        self._workbench, self._admission, self._signals = (
            loop.processor,
            loop.admission,
            loop.signals,
        )
        self._deadline, self._on_row = loop.deadline, loop.on_row
        self._stop = loop.admission.stop
        self._error: BaseException | None = None
        self._open: dict[int, RowTask] = {}
        self._scorers: dict[LabelWiring, tuple[list[Scorer], list[Scorer]]] = {}
        self._is_async = cache(is_async)
        self._window = Window(loop.workers, self._start, self._stop)
        self._pace: dict[LabelWiring, float] = {}
        self._is_draining = False
        self._group = max(1, loop.workers // 64)
        self._later_window = min(max(256, 2 * loop.workers), _MOST_LATER)
        self._later_places = Semaphore(self._later_window)
        self._writer = Writer(loop.store, self._broken)
        self._threads = Threads(self._work, loop.workers)
        self._scoring = Threads(self._work, _SCORING_THREADS)
        self._loop: EventLoop | None = None
        self._later = Later(
            self._workbench, self._deadline, self._said, self._event_loop, self._stop
        )
        self._has_ended = Event()

    def run(self, jobs: Iterable[Job]) -> None:
        """Do every job and return when all rows are committed; see :meth:`context_bench.run.loop.RunLoop.run`."""
        clock = Thread(target=self._keep_time, name="context-bench-clock", daemon=True)
        interruption: BaseException | None = None
        try:
            try:
                clock.start()
                self._feed(iter(jobs))
            except BaseException as error:  # noqa: BLE001 - raised again below, once rows are safe
                interruption = error
                self._stop.set()
            self._drain()
            self._close(is_patient=True)
        except KeyboardInterrupt:
            self._stop.set()
            with self._signals.unheard():
                self._close(is_patient=False)
            raise
        if cause := self._error or interruption:
            raise cause

    def _close(self, is_patient: bool) -> None:
        self._has_ended.set()
        self._threads.close()
        self._scoring.close()
        self._later.close()
        if self._loop is not None:
            self._loop.close(1.0 if is_patient else 0.1)
        self._writer.close(None if is_patient else 1.0)

    def _feed(self, jobs: Iterator[Job]) -> None:
        while not self._stop.is_set() and (job := self._signals.pull(jobs)) is not None:
            if job.stored is not None:
                self._writer.hold((None, job.stored))
            ticket = RowTask(job, *self._parted(job))
            if ticket.slow:
                self._take_later_place()
            self._window.wait()
            if self._stop.is_set():
                if ticket.slow:
                    self._later_places.release()
                return
            self._window.add(ticket)

    def _start(self, ticket: RowTask) -> None:
        self._open[id(ticket)] = ticket
        try:
            if ticket.job.output is not None:
                self._scoring.put(ticket)
            elif self._is_async(ticket.job.slot):
                self._event_loop().put(partial(self._ask, ticket, ticket.turn))
            else:
                self._threads.put(ticket)
        except Exception as error:  # noqa: BLE001 - no thread is to be had, no file for an event loop
            self._broken(error)

    def _drain(self) -> None:
        self._window.drain()
        for _ in range(self._later_window):
            self._take_later_place()

    def _take_later_place(self) -> None:
        """Take a place, waking up now and then: a Ctrl-C may reach another thread, and on Windows no lock ends for it."""
        while not self._later_places.acquire(timeout=_TICK_OF_MAIN):
            pass

    def _parted(self, job: Job) -> tuple[list[Scorer], list[Scorer]]:
        """Return the scorers that score before the commit, and those that score after it."""
        found = self._scorers.get(job.wiring) if job.only is None else None
        if found is None or any(scorer.effort.is_high for scorer in found[0]):
            slow = slow_scorers(job, self._deadline is not None)
            found = ([scorer for scorer in scorers_of(job) if scorer not in slow], slow)
            if job.only is None:
                self._scorers[job.wiring] = found
        return found

    def _event_loop(self) -> EventLoop:
        if self._loop is None:
            self._loop = EventLoop()
        return self._loop

    # A thread does all of this.

    def _work(self, ticket: RowTask) -> bool:
        """Do a ticket on the calling thread; return False when it was abandoned meanwhile."""
        is_call = ticket.answer is None and ticket.job.output is None
        ticket.cancel = self._threads.abandon if is_call else self._scoring.abandon
        if ticket.is_settled:
            return True
        try:
            if is_call and self._pace.get(ticket.job.wiring, 1.0) < _QUICK:
                # Many calls end together. What little is left to do is done faster by one thread than by all of these,
                # which would stand in each other's way.
                row = ticket.failed if drive(ticket, self._admission, self._workbench) else None
                if ticket.answer is not None and not ticket.is_settled:
                    ticket.cancel = None
                    self._scoring.put(ticket)
                    return True
            else:
                row = self._row(ticket)
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self._broken(error)
            row = None
        # Whoever scores commits, too, and with it what others left: one hand-over less for each row.
        if not self._end(ticket, row, self._writer.hold):
            return False
        if is_call or self._scoring.is_idle or self._writer.waiting >= self._group:
            self._writer.drain()
        return True

    def _row(self, ticket: RowTask) -> StoredRow | None:
        job, processor = ticket.job, self._workbench
        if job.output is not None:
            ticket.start()
            ticket.take(processor.take(job, job.output, Timing(0.0)))
        elif ticket.answer is None and not drive(ticket, self._admission, processor):
            return None
        answer = ticket.answer
        if answer is None or ticket.is_settled:
            return ticket.failed
        started = perf_counter()
        found = processor.score(job, ticket.quick, answer)
        self._pace[job.wiring] = max(
            perf_counter() - started, 0.9 * self._pace.get(job.wiring, 0.0)
        )
        return processor.row(job, answer, *found)

    # The event loop calls the system; threads score.

    async def _ask(self, ticket: RowTask, turn: int) -> bool:
        """Ask a ticket's system; return whether the task may go on with another."""
        if ticket.turn != turn:
            return True
        task = asyncio.current_task()
        assert task is not None
        ticket.cancel = partial(call_on, asyncio.get_running_loop(), task.cancel)
        is_cancelled = False
        try:
            if await adrive(ticket, self._admission, self._workbench) and ticket.answer is not None:
                ticket.cancel = None
                if self._deadline is None and self._pace.get(ticket.job.wiring, 1.0) < _QUICK:
                    self._finish(ticket)
                else:
                    self._scoring.put(ticket)
                return ticket.late is None
        except asyncio.CancelledError:
            is_cancelled = True
            if ticket.is_settled:
                return False
            if not self._stop.is_set():
                error = TimeoutError("the call was cancelled by the system itself.")
                ticket.failed = self._workbench.failed(
                    ticket.job, error, ticket.seconds, ticket.attempts
                )
        except BaseException as raised:  # noqa: BLE001 - handed to the caller's thread
            self._broken(raised)
        if ticket.turn != turn:
            return False
        self._end(ticket, ticket.failed, self._writer.put)
        return not is_cancelled

    def _finish(self, ticket: RowTask) -> None:
        """Score on the loop's own thread what is scored in less time than a hand-over takes, and commit it."""
        if not self._end(ticket, self._row(ticket), self._writer.hold):
            return
        if self._writer.waiting >= self._group:
            self._writer.drain()
        elif not self._is_draining:
            self._is_draining = True
            asyncio.get_running_loop().call_soon(self._drain_here)

    def _drain_here(self) -> None:
        self._is_draining = False
        self._writer.drain()

    # How rows end.

    def _end(
        self, ticket: RowTask, row: StoredRow | None, hand_over: Callable[[Finished], None]
    ) -> bool:
        """End a row and hand it to the writer; return False when it has ended already."""
        if not ticket.settle():
            self._note_late(ticket)
            return False
        self._open.pop(id(ticket), None)
        hand_over((partial(self._safe, ticket), row))
        return True

    def _safe(self, ticket: RowTask, row: StoredRow | None) -> None:
        """Go on when a row is committed, or was dropped."""
        self._window.leave()
        answer = ticket.answer
        if ticket.slow:
            if (
                row is not None
                and answer is not None
                and ticket.late is None
                and not self._stop.is_set()
            ):
                self._later.put(ticket.job, answer, ticket.slow, row)
                return
            self._later_places.release()  # what was stopped is scored on resume
        if row is None:
            return
        if self._on_row is not None:
            self._on_row(row)
        if answer is None and ticket.place is not None:
            ticket.place.end()

    def _said(self, job: Job, row: StoredRow | None, first: StoredRow) -> None:
        """Write what the slow scorers said; None when the run was stopped before."""
        if row is None:
            self._later_places.release()
            return
        scorers = {scorer.number: scorer for scorer in job.wiring.scorers}
        owners: dict[str, str] = {}
        try:
            for evaluation in (*first.evaluations, *row.evaluations):
                claim(owners, scorers[evaluation.evaluator], evaluation)
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self._broken(error)
        self._writer.put((partial(self._scored, first), row))

    def _scored(self, first: StoredRow, row: StoredRow | None) -> None:
        """Go on when what the slow scorers said is committed."""
        self._later_places.release()
        if row is not None and self._on_row is not None:
            self._on_row(first)

    def _broken(self, error: BaseException) -> None:
        self._error = self._error or error
        self._stop.set()

    def _keep_time(self) -> None:
        while not self._has_ended.wait(_TICK):
            if isinstance(found := capture(self._tick), CaughtError):
                self._broken(found.error)

    def _tick(self) -> None:
        """Fail the rows whose time is up; when the run is stopped, drop those that nobody has begun, and perhaps nobody can."""
        if self._stop.is_set():
            for ticket in list(self._open.values()):
                if ticket.started is None:
                    self._end(ticket, None, self._writer.put)
        if self._loop is not None and self._deadline is not None and self._loop.is_stuck:
            self._replace_loop(self._loop)
        self._scoring.relieve()
        if self._deadline is None:
            return
        self._later.keep_time()
        for ticket in list(self._open.values()):
            if ticket.started is not None and ticket.seconds > self._deadline and ticket.settle():
                self._give_up(ticket, self._deadline)

    def _replace_loop(self, stuck: EventLoop) -> None:
        """Leave a loop that something blocks to itself; what it has not begun begins on another."""
        self._loop = EventLoop()
        others = stuck.leave()
        for ticket in list(self._open.values()):
            if (
                ticket.started is None
                and ticket.job.output is None
                and self._is_async(ticket.job.slot)
            ):
                ticket.turn += 1
                if ticket.steps is not None:
                    capture(ticket.steps.close)  # it stands in line no more
                self._loop.put(partial(self._ask, ticket, ticket.turn))
        for make in others:
            self._loop.put(make)

    def _give_up(self, ticket: RowTask, deadline: float) -> None:
        ticket.late = self._workbench.late(
            ticket.job, ticket.answer, deadline, ticket.seconds, ticket.attempts
        )
        if ticket.place is not None:
            ticket.place.leave()
        self._open.pop(id(ticket), None)
        self._writer.put((partial(self._safe, ticket), ticket.late))
        if ticket.job.transcript is not None:
            ticket.job.transcript.give_up()
        if ticket.cancel is not None:
            ticket.cancel()

    def _note_late(self, ticket: RowTask) -> None:
        """Say in the failure that the system did answer, too late to count."""
        row = ticket.late
        if (
            row is None
            or row.output is not None
            or row.again
            or ticket.answer is None
            or self._has_ended.is_set()
        ):
            return
        late = f"An answer came {shown_seconds(ticket.seconds)} after the call; it was not counted."
        failures: list[tuple[int, Failure]] = [
            (number, evolve(failure, traceback=f"{failure.traceback}{late}\n"))
            for number, failure in row.failures
        ]
        self._writer.put((None, evolve(row, failures=failures)))

"""The concurrent runner: many rows at once, each a task of one event loop on a thread of its own.

The loop drives rows through their steps - admission, call, scoring, commit, deferred scoring - and
keeps deadlines. It never runs the code of others that may block: systems and evaluators are called
on threads, on a second event loop or in processes (:mod:`context_bench.run.workers`), and rows are
committed by a writer. So whatever hangs is left behind, counted as a failure of its row, and keeps
neither the other rows nor the end of the process.

A row holds one place of a bounded window from before its system is called until its response is
committed. So a run that is killed repeats at most as many calls as there are places, and a slow
disk slows the calls down instead of filling the memory.

A task is started for each row. A fixed set of tasks that take rows from a queue would have to be
refilled whenever a row is left behind.

A row of a sync system that nothing limits is called and scored on one thread, as on the caller's
thread, but for what slow evaluators say of it. Where such a row takes less than a hand-over, a
thread does several of them in turn, and they are committed together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import Event, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

from attrs import evolve

from context_bench.answers import parted_output
from context_bench.records import Failure, shown_seconds
from context_bench.run.calls import FailedCall, Reply, RowTask, SystemCalls
from context_bench.run.deferred_scoring import DROPPED, DeferredScoring, make_scoring
from context_bench.run.jobs import (
    Answer,
    Job,
    LabelWiring,
    Scorer,
    Timing,
    scorers_of,
    slow_scorers,
)
from context_bench.run.loop import largest_group
from context_bench.run.processor import RetryableCallError
from context_bench.run.scoring import claim, scores_only, why_unscored
from context_bench.run.stopping import CaughtError, capture
from context_bench.run.systems import RunSystem
from context_bench.run.workers import CoroutineHost, Mailbox, WorkerPool
from context_bench.run.writer import Writer
from context_bench.store.encoding import isolate
from context_bench.store.keys import score_key
from context_bench.store.rows import StoredEvaluation, StoredRow

if TYPE_CHECKING:
    from context_bench.run.loop import RunLoop

_TICK = 0.25
"""Seconds after which a wait looks up: on Windows a Ctrl-C ends no wait."""

_LEAST_AHEAD, _MOST_AHEAD = 32, 256
"""Rows that lie ready to be started: as many as there are places, within these bounds."""

_DEFERRED_ROWS = 256
"""Rows, or twice the places where these are more, that wait for deferred scoring at most."""

_CHEAP_SCORING = 0.002
"""Seconds of scoring a row; rows that take less, and whose replies come together, are scored on one
thread in turn."""

_CHEAP_ROW = 0.002
"""Seconds of a whole row that is done on a thread together with others: handing it over alone would
cost as much where threads wait for each other."""

_BATCH_WAIT = 0.02
"""Seconds for which rows for the executor wait for others."""

_LARGEST_GROUP = 32
"""Rows at most that are done on a thread together."""


class ConcurrentRunner:
    """Does the jobs of a loop, many at once, and commits their rows."""

    def __init__(self, loop: RunLoop) -> None:
        self._processor = loop.processor
        self._admission = loop.admission
        self._signals = loop.signals
        self._deadline = loop.deadline
        self._stop = loop.admission.stop
        self._error: BaseException | None = None
        self._workers = self._free_places = loop.workers
        self._is_plain = loop.deadline is None and not loop.admission.is_limited
        ahead = min(max(_LEAST_AHEAD, loop.workers), _MOST_AHEAD)
        self._window = loop.workers + ahead
        self._enough = loop.workers + ahead // 2
        self._batches = loop.batches
        self._free_batches = 0
        self._is_batch_due = False
        self._batch_timer: asyncio.TimerHandle | None = None
        if self._batches is not None:
            self._free_batches = self._batches.places
            self._window = max(self._window, self._batches.window)
            self._enough = self._window - self._window // 4
        self._deferred_window = max(_DEFERRED_ROWS, 2 * loop.workers)
        # Counts of rows: the first two are the caller's thread's, the others the event loop's.
        self._fed = self._fed_deferred = 0
        self._started = self._committed = self._ended = self._ended_deferred = 0
        self._has_failed = False
        self._is_awaited: Callable[[], bool] = bool
        self._news = Event()
        self._split: dict[LabelWiring, tuple[list[Scorer], list[Scorer]]] = {}
        self._scoring_seconds: dict[LabelWiring, float] = {}
        self._replies: list[tuple[RowTask, Reply, asyncio.Future[Any]]] = []
        self._row_seconds: dict[RunSystem, float] = {}
        self._ready: deque[RowTask] = deque()
        self._open: set[RowTask] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._scorings: dict[int, DeferredScoring] = {}
        self._host: CoroutineHost | None = None
        self._loop = asyncio.new_event_loop()
        self._mailbox = Mailbox(self._loop)
        self._pool = WorkerPool("context-bench-worker", loop.workers, self._mailbox)
        self._scoring_pool = WorkerPool("context-bench-scoring", 0, self._mailbox)
        self._calls = SystemCalls(self._admission, self._pool, self._get_host)
        self._is_over = False
        self._writer = Writer(loop.store, self._mailbox, loop.on_rows, self._break)
        self._thread = Thread(target=self._serve, name="context-bench-loop", daemon=True)

    def run(self, jobs: Iterable[Job]) -> None:
        """Do every job and return when all rows are committed; see
        :meth:`context_bench.run.loop.RunLoop.run`."""
        interruption: BaseException | None = None
        wake = partial(self._mailbox.post, self._end_waits)
        try:
            try:
                self._writer.start()
                self._thread.start()
                self._stop.add(wake)
                self._feed(iter(jobs))
            except BaseException as error:  # noqa: BLE001 - raised again below, once rows are safe
                interruption = error
                self._stop.set()
            self._wait(self._has_ended)
            self._close(is_patient=True)
        except KeyboardInterrupt:
            self._stop.set()
            with self._signals.unheard():
                self._close(is_patient=False)
            raise
        finally:
            self._stop.discard(wake)
        if cause := self._error or interruption:
            raise cause

    # What follows runs on the caller's thread.

    def _feed(self, jobs: Iterator[Job]) -> None:
        while not self._stop.is_set() and (job := self._signals.pull(jobs)) is not None:
            if job.stored is not None:
                self._writer.put(job.stored)
            quick, slow = self._split_scorers(job)
            self._wait_for_room(bool(slow))
            if self._stop.is_set():
                return
            self._fed += 1
            self._fed_deferred += bool(slow)
            self._mailbox.post(partial(self._add, RowTask(job, quick, slow)))

    def _split_scorers(self, job: Job) -> tuple[list[Scorer], list[Scorer]]:
        """Return the scorers that score before the commit, and those that score after it."""
        split = self._split.get(job.wiring) if job.only is None else None
        if split is None or any(scorer.cost.is_high for scorer in split[0]):
            slow = slow_scorers(job, self._deadline is not None)
            split = [scorer for scorer in scorers_of(job) if scorer not in slow], slow
            if job.only is None:
                self._split[job.wiring] = split
        return split

    def _wait_for_room(self, is_deferred: bool) -> None:
        """Wait until there is room for another row, or the run is stopped; then there is room for
        several."""
        if self._fed - self._committed >= self._window:
            self._wait(lambda: self._fed - self._committed <= self._enough or self._stop.is_set())
        if is_deferred and self._fed_deferred - self._ended_deferred >= self._deferred_window:
            self._wait(
                lambda: (
                    self._fed_deferred - self._ended_deferred < self._deferred_window
                    or self._stop.is_set()
                )
            )

    def _has_ended(self) -> bool:
        """Whether all rows have ended, or some never will."""
        return self._ended == self._fed or self._has_failed or not self._thread.is_alive()

    def _wait(self, is_met: Callable[[], bool]) -> None:
        self._is_awaited = is_met
        while not is_met():
            self._news.wait(_TICK)
            self._news.clear()
        self._is_awaited = bool

    def _close(self, is_patient: bool) -> None:
        self._mailbox.post(self._shut_down)
        if self._host is not None:
            self._host.close(1.0 if is_patient else 0.1)
        self._writer.close(None if is_patient else 1.0)
        self._is_over = True
        self._mailbox.post(self._loop.stop)
        if self._thread.is_alive():
            self._thread.join(1.0 if is_patient else 0.1)
        elif self._thread.ident is None:  # it could not be started
            self._loop.close()

    def _break(self, error: BaseException) -> None:
        """End the run with an error. May be called on any thread."""
        self._error = self._error or error
        self._stop.set()

    # What follows runs on the event loop.

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.call_later(_TICK, self._tick)
            while not self._is_over:
                try:
                    self._loop.run_forever()
                except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
                    self._break(error)
            finish_tasks(self._loop, self._tasks)
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    def _add(self, task: RowTask) -> None:
        self._ready.append(task)
        self._start_rows()

    def _start_rows(self) -> None:
        while self._ready and (self._free_places or self._stop.is_set()):
            if not self._stop.is_set() and self._is_batched(self._ready[0]):
                if not self._start_batch():
                    return
                continue
            task = self._ready.popleft()
            self._free_places -= 1
            self._open.add(task)
            if self._is_plain_row(task) and not self._stop.is_set():
                task.followers = self._take_followers()
                self._create(self._do_group(task))
            else:
                self._create(self._do(task))
            self._started += 1 + len(task.followers)

    def _is_plain_row(self, task: RowTask) -> bool:
        """Whether a row is done as on the caller's thread: nothing limits its call."""
        is_callable = task.job.output is not None or not self._calls.is_async(task.job.slot)
        return self._is_plain and is_callable and task.job.failed_attempt is None

    def _is_batched(self, task: RowTask) -> bool:
        """Whether the executor does a row."""
        if self._batches is None or task.slow or not self._is_plain_row(task):
            return False
        return self._batches.takes(task.job)

    def _start_batch(self) -> bool:
        """Send the rows that are ready to the executor; return whether it has room, and they are
        enough or have waited for long enough."""
        assert self._batches is not None
        size = self._batches.size(self._ready[0].job)
        if not self._free_batches:
            return False
        if len(self._ready) < size and not self._is_batch_due:
            if self._batch_timer is None:
                self._batch_timer = self._loop.call_later(_BATCH_WAIT, self._send_batch)
            return False
        resources = self._batches.resources(self._ready[0].job)
        tasks: list[RowTask] = []
        others: list[RowTask] = []
        while self._ready and len(tasks) < size and self._is_batched(self._ready[0]):
            task = self._ready.popleft()
            is_alike = self._batches.resources(task.job) == resources
            (tasks if is_alike else others).append(task)
        self._ready.extendleft(reversed(others))
        first = tasks[0]
        first.followers = tasks[1:]
        self._free_batches -= 1
        self._started += len(tasks)
        self._open.add(first)
        self._create(self._do_batch(first, tasks))
        return True

    def _send_batch(self) -> None:
        """Send rows that have waited for others."""
        self._batch_timer = None
        self._is_batch_due = True
        self._start_rows()
        self._is_batch_due = False

    async def _do_batch(self, first: RowTask, tasks: list[RowTask]) -> None:
        """Have the executor do rows, and commit them; those that it cannot do are started again."""
        assert self._batches is not None
        rows: list[StoredRow] = []
        try:
            rows = await self._batches.rows([task.job for task in tasks])
        except asyncio.CancelledError:  # the run has ended
            raise
        except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
            self._break(error)
        finally:
            self._free_batches += 1
        done = {row.id for row in rows}
        again = [
            RowTask(task.job, task.quick, task.slow) for task in tasks if task.job.id not in done
        ]
        self._free_places -= 1  # which a batch has not taken, and the end of a row gives back
        if first.finish():
            await self._end(first, rows, again)

    def _take_followers(self) -> list[RowTask]:
        """Take the rows that are done on one thread and committed together, as each takes next to
        no time."""
        limit = largest_group(self._committed) - (self._started - self._committed)
        share = len(self._ready) // self._workers  # what other threads may do at once is left
        followers: list[RowTask] = []
        while self._ready and len(followers) < min(limit, share, _LARGEST_GROUP):
            task = self._ready[0]
            is_cheap = self._row_seconds.get(task.job.slot, _CHEAP_ROW) < _CHEAP_ROW
            if not is_cheap or not self._is_plain_row(task):
                break
            followers.append(self._ready.popleft())
        return followers

    def _create(self, coroutine: Any) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        """Let go of a task that has ended; an error that nobody expected ends the run."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._has_failed = True
            self._break(error)

    async def _do_group(self, task: RowTask) -> None:
        """Do a row and its followers on a thread, and commit them; those that are not done are
        started again."""
        rows: list[StoredRow] = []
        again: list[RowTask] = []
        slot = task.job.slot
        in_flight = self._admission.in_flight
        is_called = task.job.output is None
        if is_called:
            in_flight[slot.number] += 1
        try:
            work = task.begin(self._pool.submit(partial(self._do_in_turn, task, rows, again)))
            result = await work.future
            if isinstance(result, CaughtError):
                raise result.error
            self._row_seconds[slot] = work.seconds / max(1, len(rows))
        except asyncio.CancelledError:  # the run has ended
            raise
        except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
            self._break(error)
        finally:
            if is_called:
                in_flight[slot.number] -= 1
        if task.finish():
            await self._end(task, rows, again)

    def _do_in_turn(self, first: RowTask, rows: list[StoredRow], again: list[RowTask]) -> None:
        """Do a row and its followers, but for what slow evaluators say, until one of them takes
        long or the run is stopped; on a thread."""
        waiting = deque([first, *first.followers])
        is_cheap = True
        while waiting and is_cheap and not self._stop.is_set():
            started = perf_counter()
            task = waiting.popleft()
            try:
                task.row, task.answer = self._processor.do(task.job, task.quick)
                rows.append(task.row)
            except RetryableCallError as error:
                self._is_plain = False
                job = evolve(task.job, stored=None, failed_attempt=error.attempt)
                again.append(RowTask(job, task.quick, task.slow))
            is_cheap = perf_counter() - started < _CHEAP_ROW
        again += [RowTask(task.job, task.quick, task.slow) for task in waiting]

    async def _do(self, task: RowTask) -> None:
        """Do a row, from the call of its system to the commit of what evaluators say."""
        if self._deadline is not None:
            task.timer = self._loop.call_later(self._deadline, self._check_time, task)
        try:
            task.row = await self._evaluate(task)
        except asyncio.CancelledError:  # the run has ended
            raise
        except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
            self._break(error)
        if task.finish():
            await self._end(task, [] if task.row is None else [task.row])
        elif task.answer is not None:
            self._note_late(task)

    async def _evaluate(self, task: RowTask) -> StoredRow | None:
        """Return the row of a task; None when the run is stopping, or the row's time was up."""
        job = task.job
        if self._stop.is_set():
            return None
        if job.output is not None:
            return await self._score(task, Reply(job.output, Timing(0.0)))
        outcome = await self._calls.call(task)
        if isinstance(outcome, FailedCall):
            return self._processor.failed(job, outcome.error, task.seconds, task.attempts)
        if outcome is None:
            return None
        return await self._score(task, outcome)

    async def _score(self, task: RowTask, reply: Reply) -> StoredRow | None:
        """Return the row of a reply."""
        if (
            self._deadline is None
            and self._scoring_seconds.get(task.job.wiring, 1.0) < _CHEAP_SCORING
        ):
            future: asyncio.Future[Any] = self._loop.create_future()
            self._replies.append((task, reply, future))
            if len(self._replies) == 1:
                self._create(self._score_replies())
        else:
            future = task.begin(self._pool.submit(partial(self._process, task, reply))).future
        row = await future
        if isinstance(row, CaughtError):
            self._break(row.error)
            return None
        return row  # type: ignore[no-any-return]

    async def _score_replies(self) -> None:
        """Have the replies that came together scored on one thread."""
        group = self._replies[:_LARGEST_GROUP]
        del self._replies[:_LARGEST_GROUP]
        if self._replies:
            self._create(self._score_replies())
        try:
            results = await self._pool.submit(partial(self._process_all, group)).future
        except RuntimeError as error:  # not even one thread can be started
            results = [CaughtError(error)] * len(group)
        for (_, _, future), result in zip(group, results):
            if not future.done():
                future.set_result(result)

    def _process_all(self, group: list[tuple[RowTask, Reply, asyncio.Future[Any]]]) -> list[Any]:
        return [capture(self._process, task, reply) for task, reply, _ in group]

    def _process(self, task: RowTask, reply: Reply) -> StoredRow:
        """Take a system's answer and score it; on a thread."""
        job = task.job
        started = perf_counter()
        answer = self._processor.take(job, reply.output, reply.timing)
        if isinstance(answer, StoredRow):
            return answer
        task.answer = answer
        if task.is_done:
            return self._processor.row(job, answer)
        evaluations, failures = self._processor.score(job, answer, task.quick)
        row = self._processor.row(job, answer, evaluations, failures)
        seconds = perf_counter() - started
        before = self._scoring_seconds.get(job.wiring, 0.0)
        self._scoring_seconds[job.wiring] = max(seconds, 0.9 * before)
        return row

    async def _end(
        self, task: RowTask, rows: list[StoredRow], again: Sequence[RowTask] = ()
    ) -> None:
        """Commit rows, give their place to others, and have the slow evaluators score them.

        Args:
            task: The row that has the place.
            rows: What is committed: its row and those of its followers.
            again: Those of them that are started again.
        """
        tasks = [task, *task.followers]
        deferred = [(one, one.row) for one in tasks if one.row is not None and one.is_scored_later]
        is_free = {id(row): _is_free(one.job) for one, row in deferred}
        shown = [row for row in rows if id(row) not in is_free]
        stored = [row for row in rows if not is_free.get(id(row))]
        is_committed = not stored or await self._writer.commit(stored, shown)
        self._open.discard(task)
        self._started -= len(again)
        self._committed += len(tasks) - len(again)
        self._free_places += 1
        self._ready.extendleft(reversed(again))
        self._start_rows()
        if not is_committed or self._stop.is_set():
            deferred = []
        for one, row in deferred:
            self._create(self._end_deferred(one, row))
        self._ended += len(tasks) - len(again) - len(deferred)
        slow = sum(bool(one.slow) for one in tasks) - sum(bool(one.slow) for one in again)
        self._ended_deferred += slow - len(deferred)
        if self._is_awaited():
            self._news.set()

    async def _end_deferred(self, task: RowTask, row: StoredRow) -> None:
        """Have the slow evaluators score a row; it has ended then."""
        try:
            await self._score_deferred(task, row)
        except asyncio.CancelledError:  # the run has ended
            raise
        except Exception as error:  # noqa: BLE001 - raised on the caller's thread
            self._break(error)
        self._ended += 1
        self._ended_deferred += 1
        if self._is_awaited():
            self._news.set()

    async def _score_deferred(self, task: RowTask, first: StoredRow) -> None:
        """Have the slow evaluators score a row, and commit what they say.

        Raises:
            WiringError: Two evaluators gave the same key.
        """
        assert task.answer is not None
        job = task.job
        asked = [(scorer, self._ask(scorer, job, task.answer)) for scorer in task.slow]
        evaluations: list[StoredEvaluation] = []
        failures: list[tuple[int, Failure]] = []
        for scorer, said in asked:
            verdict: StoredEvaluation | tuple[int, Failure]
            if isinstance(said, StoredEvaluation):
                verdict = said
            elif (result := await said) is DROPPED:
                continue
            else:
                verdict = self._processor.judge(job, scorer, task.answer, result)
            if isinstance(verdict, StoredEvaluation):
                evaluations.append(verdict)
            else:
                failures.append(verdict)
        if not evaluations and not failures:
            return
        scorers = {scorer.number: scorer for scorer in job.wiring.scorers}
        owners: dict[str, str] = {}
        for evaluation in (*first.evaluations, *evaluations):
            claim(owners, scorers[evaluation.evaluator], evaluation)
        if _is_free(job):
            row = evolve(
                first,
                evaluations=[*first.evaluations, *evaluations],
                failures=[*first.failures, *failures],
            )
        else:
            row = scores_only(job, evaluations, failures)
        await self._writer.commit([row], shown=[first])

    def _ask(
        self, scorer: Scorer, job: Job, answer: Answer
    ) -> StoredEvaluation | asyncio.Future[Any]:
        """Ask a slow evaluator; return the future of what it returns, or that it can say
        nothing."""
        missing = why_unscored(job, scorer, answer.output)
        if missing:
            key = score_key(job.key, answer.digest, scorer.key, job.gold_key(scorer.reads))
            return StoredEvaluation(evaluator=scorer.number, key=key, unscored=missing)
        if scorer.number not in self._scorings:
            self._scorings[scorer.number] = make_scoring(
                scorer, self._deadline, self._stop, self._scoring_pool, self._get_host
            )
        return self._scorings[scorer.number].score(
            lambda: (isolate(job.example), isolate(parted_output(answer.output)))
        )

    def _get_host(self) -> CoroutineHost:
        if self._host is None:
            self._host = CoroutineHost(self._mailbox)
        return self._host

    # How rows end early.

    def _check_time(self, task: RowTask) -> None:
        """Fail a row whose time is up; its time begins with the first call of somebody else's
        code."""
        assert self._deadline is not None
        left = self._deadline - task.seconds
        if task.started is None or left > 0:
            task.timer = self._loop.call_later(max(left, 0.001), self._check_time, task)
        elif task.finish():
            self._give_up(task, self._deadline)

    def _give_up(self, task: RowTask, deadline: float) -> None:
        task.late = self._processor.late(
            task.job, task.answer, deadline, task.seconds, task.attempts
        )
        if task.permit is not None:
            task.permit.leave()
        if task.job.transcript is not None:
            task.job.transcript.give_up()
        if task.work is not None:
            task.work.leave()
        self._create(self._end(task, [task.late]))

    def _note_late(self, task: RowTask) -> None:
        """Record in the failure that the system did answer, too late to count."""
        row = task.late
        if row is None or row.output is not None or row.again or self._is_over:
            return
        note = f"An answer came {shown_seconds(task.seconds)} after the call; it was not counted."
        failures = [
            (number, evolve(failure, traceback=f"{failure.traceback}{note}\n"))
            for number, failure in row.failures
        ]
        self._writer.put(evolve(row, failures=failures))

    def _end_waits(self) -> None:
        """End what waits when the run is stopped, and drop the rows that nobody has begun, and
        perhaps nobody can."""
        for task in list(self._open):
            task.wake()
            if task.work is not None and task.started is None and task.finish():
                task.work.leave()
                self._create(self._end(task, []))
        self._start_rows()

    def _tick(self) -> None:
        """Replace the event loop for coroutines when one of them blocks it; what it has not begun
        begins on another."""
        self._loop.call_later(_TICK, self._tick)
        if self._host is not None and self._deadline is not None and self._host.is_blocked():
            waiting = self._host.abandon()
            self._host = CoroutineHost(self._mailbox)
            for work in waiting:
                self._host.take(work)

    def _shut_down(self) -> None:
        self._pool.close()
        self._scoring_pool.close()
        for scoring in self._scorings.values():
            scoring.close()


def _is_free(job: Job) -> bool:
    """Whether a response costs nothing to have again. It is committed with all of its scores, and
    not before the slow evaluators score it."""
    return job.output is not None or job.slot.is_recorded


def finish_tasks(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks and run a loop until they have ended.

    Tasks leave their set as they end, so a copy of it is waited for: a set that becomes empty
    before the wait begins cannot be waited for.
    """
    open_tasks = set(tasks)
    for task in open_tasks:
        task.cancel()
    if open_tasks:
        loop.run_until_complete(asyncio.wait(open_tasks))

"""The call of one row's system: admission, attempts and the pauses between them.

The rules are told once, as coroutines on the run's event loop. The system itself is called
elsewhere: on a thread, or on the event loop for the coroutines of others. Every wait ends when the
run is stopped or the row's time is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import cache, partial
from time import monotonic
from typing import Any

from attrs import define, frozen

from context_bench.errors import CallRefusedError
from context_bench.run.admission import Admission, CallPermit
from context_bench.run.jobs import Answer, FailedAttempt, Job, Scorer, Timing
from context_bench.run.stopping import CaughtError
from context_bench.run.systems import is_async
from context_bench.run.workers import CoroutineHost, Work, WorkerPool
from context_bench.store.encoding import private
from context_bench.store.rows import StoredRow

_LONGEST_SLEEP = 3600.0


@define(eq=False)
class RowTask:
    """A row on its way. It ends once: by its result, or because its time is up, whichever comes
    first.

    Attributes:
        job: What is to be done.
        quick, slow: Evaluators that score before the commit, and after it.
        first: The first call of somebody else's code, with which the row's time begins; it may have
            failed on another thread.
        work: The one that is under way.
        attempts: How often the system was called.
        permit: Leave to make the call that is under way.
        waiting: Seconds for which a rate kept the first attempt from being sent.
        answer: What the system answered; kept when scoring takes too long.
        row: What is committed of it.
        followers: Rows that the same thread does after it and that are committed together with it.
        late: The row, when its time was up.
        sleep: Ends a sleep of the row, when its result is set.
        timer: Looks whether the row's time is up.
        is_done: Whether it is known how the row ended.
    """

    job: Job
    quick: Sequence[Scorer] = ()
    slow: Sequence[Scorer] = ()
    first: Work | FailedAttempt | None = None
    work: Work | None = None
    attempts: int = 1
    permit: CallPermit | None = None
    waiting: float = 0.0
    answer: Answer | None = None
    row: StoredRow | None = None
    followers: Sequence[RowTask] = ()
    late: StoredRow | None = None
    sleep: asyncio.Future[None] | None = None
    timer: asyncio.TimerHandle | None = None
    is_done: bool = False

    @property
    def is_scored_later(self) -> bool:
        """Whether the slow evaluators have something to score."""
        return bool(self.slow) and self.answer is not None and self.late is None

    @property
    def started(self) -> float | None:
        """When its system was first called, by the monotonic clock; None before."""
        return None if self.first is None else self.first.began

    @property
    def seconds(self) -> float:
        """Seconds since its system was first called."""
        return 0.0 if self.started is None else monotonic() - self.started

    def finish(self) -> bool:
        """Claim the row's end; False when it has ended already."""
        if self.is_done:
            return False
        self.is_done = True
        if self.timer is not None:
            self.timer.cancel()
        self.wake()
        return True

    def begin(self, work: Work) -> Work:
        """Note that foreign code is called for the row."""
        self.work = work
        if self.first is None:
            self.first = work
        return work

    def wake(self) -> None:
        """End a sleep of the row."""
        if self.sleep is not None and not self.sleep.done():
            self.sleep.set_result(None)

    async def pause(self, seconds: float) -> None:
        """Sleep for so many seconds, or until :meth:`wake`."""
        loop = asyncio.get_running_loop()
        self.sleep = loop.create_future()
        timer = loop.call_later(seconds, self.wake)
        try:
            await self.sleep
        finally:
            timer.cancel()
            self.sleep = None


@frozen
class Reply:
    """What a system returned.

    Attributes:
        output: The value, whatever it is.
        timing: When it came.
    """

    output: Any
    timing: Timing


@frozen
class FailedCall:
    """The error of a row's last attempt."""

    error: BaseException


class SystemCalls:
    """Calls systems, through their admission.

    Args:
        admission: Lets calls go, and learns from them.
        pool: Threads for systems that block.
        host: Returns the event loop for async systems.
    """

    def __init__(
        self, admission: Admission, pool: WorkerPool, host: Callable[[], CoroutineHost]
    ) -> None:
        self._admission = admission
        self._stop = admission.stop
        self._pool = pool
        self._host = host
        self.is_async = cache(is_async)

    async def call(self, task: RowTask) -> Reply | FailedCall | None:
        """Return what a row's system returned, or why it failed; None when the run is stopping or
        the row has ended.

        Raises:
            CallRefusedError: An extension does not let the call be made; the run stops.
        """
        attempt = 1
        while not self._is_over(task):
            entry = self._admission.enter(task.job, attempt)
            permit = (
                await self._wait_for_permit(task, attempt) if isinstance(entry, float) else entry
            )
            if permit is None:
                return None
            task.permit = permit
            try:
                outcome = await self._attempt(task, permit, attempt)
                if not isinstance(outcome, CaughtError):
                    return outcome
                error = outcome.error
                if isinstance(error, CallRefusedError):  # the next turn of a conversation
                    raise error
                latest = task.work or task.first
                seconds = 0.0 if latest is None else latest.seconds
                pause = permit.refused(error, seconds, attempt)
                if pause is None:
                    return FailedCall(error)
            finally:
                permit.leave()
            until = monotonic() + pause
            while (left := until - monotonic()) > 0 and not self._is_over(task):
                await task.pause(left)
            attempt += 1
        return None

    async def _attempt(
        self, task: RowTask, permit: CallPermit, attempt: int
    ) -> Reply | CaughtError | None:
        """Call the system once; return None when the run is stopping.

        The first attempt may have failed on the caller's thread.
        """
        if attempt == 1 and task.job.failed_attempt is not None:
            task.first = task.job.failed_attempt
            return CaughtError(task.first.error)
        if permit.has_hooks:
            admitted = await self._pool.submit(permit.admit).future
            if isinstance(admitted, CaughtError):
                raise admitted.error
            if self._stop.is_set():
                return None
        task.attempts = attempt  # an attempt that is never sent, as the row's time is up, is none
        work = task.begin(self._start(task.job))
        result = await work.future
        if type(result) is CaughtError:  # isinstance would ask a foreign object for its class
            return self._caught(task, result)
        before = work.sent - (work if task.first is None else task.first).sent
        permit.answered(result, work.seconds)
        return Reply(result, Timing(work.seconds, attempt, before, task.waiting + before))

    def _start(self, job: Job) -> Work:
        if self.is_async(job.slot):
            return self._host().submit(partial(_awaited, job))
        return self._pool.submit(lambda: private(job.call_system()))

    def _caught(self, task: RowTask, result: CaughtError) -> CaughtError | None:
        if isinstance(result.error, asyncio.CancelledError):
            if self._is_over(task):
                return None
            return CaughtError(TimeoutError("the call was cancelled by the system itself."))
        return result

    async def _wait_for_permit(self, task: RowTask, attempt: int) -> CallPermit | None:
        """Queue for leave to call; return None when there is none any more: the run stops, or the
        row has ended."""
        queue = self._admission.state_of(task.job.slot).queue
        waiter = queue.join(task.wake, attempt > 1, monotonic())
        try:
            while not self._is_over(task):
                if not queue.is_first(waiter):
                    await task.pause(_LONGEST_SLEEP)
                    continue
                permit = self._admission.enter(task.job, attempt, is_first=True)
                if not isinstance(permit, float):
                    return permit
                await task.pause(permit)
            return None
        finally:
            seconds = queue.leave(waiter, monotonic())
            if attempt == 1:  # later ones count as a whole, from the first sending on
                task.waiting += seconds

    def _is_over(self, task: RowTask) -> bool:
        return task.is_done or self._stop.is_set()


async def _awaited(job: Job) -> Any:
    output = job.call_async_system()
    if hasattr(output, "__await__"):
        output = await output
    return private(output)

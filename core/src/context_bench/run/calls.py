"""The call of one row: admission, attempts and the pauses between them, told as steps. A thread or an event loop does them.

So the rules stand once. What a step needs - waiting, asking - is done by :func:`drive` on a thread, by :func:`adrive` on an
event loop; both end every wait when the run is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from inspect import isawaitable
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import Any

from attrs import Factory, define

from context_bench.errors import CallRefusedError
from context_bench.run.admission import Admission, AskAgainError, PauseEndedError, Place
from context_bench.run.loop import RowProcessor
from context_bench.run.model import Answer, Job, Scorer, Timing, private
from context_bench.run.stopping import CancelToken, CaughtError, call_on, capture, is_control_flow
from context_bench.store.rows import StoredRow

_LONGEST_SLEEP = 3600.0

Step = float | Callable[[], Any] | None
"""Seconds to wait, or until somebody wakes the call; something to do that may wait by itself; or None: ask the system.

What was done or asked returned, or :class:`CaughtError`, is sent back.
"""

Steps = Generator[Step, Any, bool]


@define(eq=False)
class RowTask:
    """A row on its way. It ends once: whoever :meth:`settle`s it first says how, and whoever comes later is not heard.

    Attributes:
        job: What is to be done.
        quick, slow: Who scores before the commit, and who after it.
        started: When its system was called, by the monotonic clock; None before.
        answer: What the system said, once it has; kept when scoring takes too long.
        failed: The row, when the system failed.
        attempts: How often the runner asked.
        place: Leave to make the call that is under way; None before the first.
        sent: When the first attempt was sent, by the performance counter.
        waiting: Seconds for which a rate kept the first attempt from being sent.
        steps: The steps of the call, where an event loop does them.
        late: The row, when its time was up.
        turn: How often it was handed to an event loop; a loop that was too late for its turn leaves it alone.
        cancel: Stops what is under way, where that can be done; None for a thread.
    """

    job: Job
    quick: Sequence[Scorer] = ()
    slow: Sequence[Scorer] = ()
    started: float | None = None
    answer: Answer | None = None
    failed: StoredRow | None = None
    attempts: int = 1
    place: Place | None = None
    sent: float = 0.0
    waiting: float = 0.0
    steps: Steps | None = None
    late: StoredRow | None = None
    turn: int = 0
    cancel: Callable[[], Any] | None = None
    _end: Lock = Factory(Lock)

    def start(self) -> None:
        """Start the row's clock."""
        self.started = monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the system was called."""
        return 0.0 if self.started is None else monotonic() - self.started

    @property
    def is_settled(self) -> bool:
        """Whether it is known how the row ended."""
        return self._end.locked()

    def settle(self) -> bool:
        """Claim the row's end; False when somebody has already."""
        return self._end.acquire(blocking=False)

    def take(self, found: Answer | StoredRow) -> None:
        """Keep what the system said, or the row of its failure."""
        if isinstance(found, StoredRow):
            self.failed = found
        else:
            self.answer = found


def steps_of(
    ticket: RowTask, admission: Admission, processor: RowProcessor, wake: Callable[[], None]
) -> Steps:
    """Yield what the call of a ticket needs; return False when the run is stopping, or somebody else has ended the row.

    The ticket then holds what the system said, or the row of its failure.

    Args:
        ticket: The ticket.
        admission: Lets calls go, and learns from them.
        processor: Makes rows.
        wake: Ends a sleep of this call, from any thread.

    Raises:
        CallRefusedError: An extension does not let the call be made; the run stops.
    """
    job, stop = ticket.job, admission.stop
    attempt = 1
    error: BaseException | None = None
    while not ticket.is_settled and not stop.is_set():
        place = admission.enter(job, attempt)
        if isinstance(place, float):
            place = yield from _line_up(ticket, attempt, admission, wake)
        if place is None:
            if error is None or stop.is_set() or ticket.is_settled:
                return False
            ticket.failed = processor.failed(job, error, ticket.seconds, ticket.attempts)
            return True
        ticket.place = place
        try:
            if place.has_hooks:
                found = yield place.govern
                if isinstance(found, CaughtError):
                    raise found.error
                if stop.is_set():
                    return False
            started = perf_counter()
            ticket.attempts = (
                attempt  # one that is never sent, because the row's time is up, is none
            )
            if ticket.started is None:
                ticket.start()
                ticket.sent = started
            found = yield None
            seconds = perf_counter() - started
            if type(found) is not CaughtError:
                place.answered(found, seconds)
                before = started - ticket.sent
                ticket.take(
                    processor.take(
                        job, found, Timing(seconds, attempt, before, ticket.waiting + before)
                    )
                )
                if ticket.answer is not None:
                    place.prove()
                return True
            error = found.error
            if isinstance(error, CallRefusedError):
                raise error
            if isinstance(error, PauseEndedError):
                return False
            pause = place.refused(error, seconds, attempt)
            if isinstance(error, AskAgainError):
                error = error.__cause__ or error
            if pause is None:
                ticket.failed = processor.failed(job, error, ticket.seconds, attempt)
                return True
        finally:
            place.leave()
        until = monotonic() + pause
        while (left := until - monotonic()) > 0 and not stop.is_set() and not ticket.is_settled:
            yield left
        attempt += 1
    return False


def _line_up(
    ticket: RowTask, attempt: int, admission: Admission, wake: Callable[[], None]
) -> Generator[Step, Any, Place | None]:
    """Wait for leave to call; return None when there is none any more: the run is stopping, or nobody is to ask again."""
    line = admission.road(ticket.job.slot).line
    waiter = line.join(wake, attempt > 1, monotonic())
    try:
        while not admission.stop.is_set() and not ticket.is_settled:
            if not line.is_first(waiter):
                yield _LONGEST_SLEEP
                continue
            found = admission.enter(ticket.job, attempt, is_first=True)
            if not isinstance(found, float):
                return found
            yield found
        return None
    finally:
        seconds = line.leave(waiter, monotonic())
        if attempt == 1:  # later ones count as a whole, from the first sending on
            ticket.waiting += seconds


def drive(ticket: RowTask, admission: Admission, processor: RowProcessor) -> bool:
    """Do the call of a ticket on the calling thread; see :func:`steps_of`."""
    sleeper = _ThreadSleeper(admission.stop)
    steps = steps_of(ticket, admission, processor, sleeper.wake)
    found: Any = None
    try:
        while True:
            step = steps.send(found)
            if isinstance(step, float):
                sleeper.sleep(step)
                found = None
            else:
                found = private(capture(step or ticket.job.ask))
    except StopIteration as end:
        return bool(end.value)
    finally:
        steps.close()


async def adrive(ticket: RowTask, admission: Admission, processor: RowProcessor) -> bool:
    """Do the same on an event loop."""
    sleeper = _LoopSleeper(admission.stop)
    ticket.steps = steps = steps_of(ticket, admission, processor, sleeper.wake)
    found: Any = None
    try:
        while True:
            step = steps.send(found)
            if isinstance(step, float):
                await sleeper.sleep(step)
                found = None
            elif step is not None:
                found = await asyncio.to_thread(capture, step)
            else:
                try:
                    found = ticket.job.aask()
                    found = private(await found if isawaitable(found) else found)
                except asyncio.CancelledError:
                    raise
                except BaseException as error:
                    if is_control_flow(error):
                        raise
                    found = CaughtError(error)
    except StopIteration as end:
        return bool(end.value)
    finally:
        steps.close()


class _ThreadSleeper:
    """Sleeps on a thread, until it is woken or the run is stopped."""

    def __init__(self, stop: CancelToken) -> None:
        self._stop = stop
        self._woken: Event | None = None

    def wake(self) -> None:
        if self._woken is not None:
            self._woken.set()

    def sleep(self, seconds: float) -> None:
        if self._woken is None:
            self._woken = Event()
            return  # whoever woke us before was not heard: look again first
        with self._stop.calling(self.wake):
            self._woken.wait(seconds)
        self._woken.clear()


class _LoopSleeper:
    """Sleeps on the running event loop, until it is woken or the run is stopped."""

    def __init__(self, stop: CancelToken) -> None:
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._woken: asyncio.Event | None = None

    def wake(self) -> None:
        if self._woken is not None:
            call_on(self._loop, self._woken.set)

    async def sleep(self, seconds: float) -> None:
        if self._woken is None:
            self._woken = asyncio.Event()
            return  # whoever woke us before was not heard: look again first
        with self._stop.calling(self.wake), suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)
        self._woken.clear()

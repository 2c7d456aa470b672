"""Where the code of others runs: a pool of threads for what blocks, and an event loop for
coroutines.

The run's own event loop hands work over and never runs it, so nothing that hangs can hold up
deadlines, pauses or commits. Work that hangs is left behind: a thread that blocks for ever is
replaced, and so is an event loop that a coroutine blocks. All threads are daemons, so the process
can end without them.

Every method is called on the run's event loop, unless it says otherwise.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from queue import SimpleQueue
from threading import Thread
from time import monotonic, perf_counter
from typing import Any

from attrs import define

from context_bench.run.stopping import CaughtError, call_on

_BLOCKED_AFTER = 1.0
"""Seconds without an answer after which an event loop counts as blocked."""

_TIDYING_SECONDS = 0.25
"""Seconds that cancelled coroutines get to tidy up when the run ends; twice, as the first may be
swallowed."""


class Mailbox:
    """Calls functions on an event loop for any thread; many that come together cost one wake-up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._functions: deque[Callable[[], object]] = deque()
        self._is_woken = False

    def post(self, function: Callable[[], object]) -> None:
        """Call a function soon, on the loop. May be called on any thread."""
        self._functions.append(function)
        if not self._is_woken:
            self._is_woken = True
            call_on(self._loop, self._call_all)

    def _call_all(self) -> None:
        self._is_woken = False
        while self._functions:
            self._functions.popleft()()


@define(eq=False)
class Work:
    """A call of foreign code.

    Attributes:
        function: What is called; it may return an awaitable where it runs on an event loop.
        future: Gets what the call returns, or a :class:`CaughtError`; a future of the run's event
            loop.
        began: When it began, by the monotonic clock; None before.
        sent: The same by the performance counter.
        seconds: What it took.
        is_left: Whether the caller has stopped waiting for it.
        task: The task that runs it, on an event loop.
        owner: Where it runs.
    """

    function: Callable[[], Any]
    future: asyncio.Future[Any]
    owner: WorkerPool | CoroutineHost
    began: float | None = None
    sent: float = 0.0
    seconds: float = 0.0
    is_left: bool = False
    task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Note that it begins; called where it runs."""
        self.began = monotonic()
        self.sent = perf_counter()

    def leave(self) -> None:
        """Wait no longer for it."""
        self.owner.leave(self)

    def end(self, result: Any) -> None:
        """Hand the result over."""
        if not self.future.done():
            self.future.set_result(result)


async def result_within(work: Work, seconds: float | None) -> Any:
    """Return the result of a call; its time counts from its beginning, not while it waits for a
    thread.

    Raises:
        TimeoutError: It took longer.
    """
    if seconds is None:
        return await work.future
    while not work.future.done():
        left = seconds if work.began is None else work.began + seconds - monotonic()
        if left <= 0:
            raise TimeoutError
        await asyncio.wait((work.future,), timeout=left)
    return work.future.result()


class WorkerPool:
    """Threads for code that blocks, started as they are needed.

    Args:
        name: Name of the threads.
        limit: Threads at most; those that were left behind do not count.
        mailbox: Brings results to the run's event loop.
    """

    def __init__(self, name: str, limit: int, mailbox: Mailbox) -> None:
        self.limit = limit
        self._name = name
        self._mailbox = mailbox
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._running = 0
        self._open = 0

    def submit(self, function: Callable[[], Any]) -> Work:
        """Have a thread call a function.

        Raises:
            RuntimeError: Not even one thread can be started.
        """
        work = Work(function, asyncio.get_running_loop().create_future(), self)
        self._start_if_needed(self._open + 1)
        self._open += 1
        self._queue.put(work)
        return work

    def leave(self, work: Work) -> None:
        """Wait no longer for a call; another thread takes the place of the one that it hangs on."""
        if work.is_left or work.future.done():
            return
        work.is_left = True
        self._open -= 1
        if work.began is not None:
            self._running -= 1
            with suppress(RuntimeError):  # no more are to be had; the others go on alone
                self._start_if_needed(self._open)

    def close(self) -> None:
        """Let the threads end when they have nothing to do; those that hang are not waited for."""
        for _ in range(self._running):
            self._queue.put(None)

    def _start_if_needed(self, calls: int) -> None:
        if self._running >= min(self.limit, calls):
            return
        try:
            Thread(target=self._serve, name=self._name, daemon=True).start()
        except RuntimeError:  # no more are to be had
            if not self._running:
                raise
        else:
            self._running += 1

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            if work.is_left:
                continue
            work.begin()
            result = _call(work.function)
            work.seconds = perf_counter() - work.sent
            self._mailbox.post(partial(self._returned, work, result))
            if self._is_replaced(work):
                return

    def _is_replaced(self, work: Work) -> bool:
        """Whether another thread took this one's place while it was called."""
        return work.is_left

    def _returned(self, work: Work, result: Any) -> None:
        if not work.is_left:
            self._open -= 1
        work.end(result)


def _call(function: Callable[[], Any]) -> Any:
    """Return what a function returns; whatever it raises is caught, as no signal is raised on this
    thread."""
    try:
        return function()
    except BaseException as error:  # noqa: BLE001 - handed to the run's event loop
        return CaughtError(error)


class CoroutineHost:
    """An event loop on a thread for the coroutines of others.

    Args:
        mailbox: Brings results to the run's event loop.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._results = mailbox
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._mailbox = Mailbox(self._loop)
        self._open: set[Work] = set()
        self._is_over = False
        self._answered = self._questioned = monotonic()
        self._thread = Thread(target=self._run, name="context-bench-coroutines", daemon=True)
        self._thread.start()

    def submit(self, function: Callable[[], Any]) -> Work:
        """Run what a function returns, an awaitable or a result."""
        work = Work(function, asyncio.get_running_loop().create_future(), self)
        self.take(work)
        return work

    def take(self, work: Work) -> None:
        """Run work that another loop has not begun."""
        work.owner = self
        self._open.add(work)
        self._mailbox.post(partial(self._start, work))

    def leave(self, work: Work) -> None:
        """Wait no longer for a coroutine, and cancel it."""
        work.is_left = True
        self._mailbox.post(partial(_cancel, work))

    def is_blocked(self) -> bool:
        """Whether a coroutine blocks the loop; it is measured between two questions, so ask now and
        then."""
        now = monotonic()
        if self._answered >= self._questioned:
            self._questioned = now
            call_on(self._loop, self._answer)
            return False
        return now - self._questioned > _BLOCKED_AFTER

    def abandon(self) -> list[Work]:
        """Leave a blocked loop behind, and return the work that it has not begun."""
        self._stop()
        waiting = [work for work in self._open if work.began is None and not work.is_left]
        self._open.difference_update(waiting)
        return waiting

    def close(self, seconds: float) -> None:
        """Cancel what is running and end the loop; wait at most so many seconds for it."""
        self._stop()
        self._thread.join(seconds)

    def _stop(self) -> None:
        self._is_over = True
        call_on(self._loop, self._loop.stop)

    def _answer(self) -> None:
        self._answered = monotonic()

    # The rest runs on the thread of the host.

    def _start(self, work: Work) -> None:
        if work not in self._open or self._is_over:
            return
        work.task = self._loop.create_task(self._serve(work))
        work.task.add_done_callback(partial(self._ended, work))

    def _ended(self, work: Work, task: asyncio.Task[None]) -> None:
        """Start work again that somebody's code cancelled before its first step."""
        if work.began is None and not work.is_left:
            self._start(work)

    async def _serve(self, work: Work) -> None:
        work.begin()
        result: Any
        try:
            result = work.function()
            if isawaitable(result):
                result = await result
        except BaseException as error:  # noqa: BLE001 - handed to the run's event loop
            result = CaughtError(error)
        work.seconds = perf_counter() - work.sent
        self._open.discard(work)
        self._results.post(partial(work.end, result))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            while not self._is_over:  # a coroutine of somebody else's may stop the loop
                self._loop.run_forever()
            is_left = {work.task for work in self._open if work.is_left}
            self._cancel_all(asyncio.all_tasks(self._loop) - is_left)
            self._cancel_all(asyncio.all_tasks(self._loop))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    def _cancel_all(self, tasks: set[asyncio.Task[Any]]) -> None:
        for task in tasks:
            task.cancel()
        open_tasks = asyncio.all_tasks(self._loop)
        if open_tasks:
            self._loop.run_until_complete(asyncio.wait(open_tasks, timeout=_TIDYING_SECONDS))


def _cancel(work: Work) -> None:
    if work.task is not None:
        work.task.cancel()


class _DaemonThreads(ThreadPoolExecutor):
    """Runs each blocking call of a coroutine (``asyncio.to_thread``) on its own thread.

    As many calls run as are in flight. Python waits for no such thread at its end: one that hangs
    is left.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> ThreadFuture[Any]:
        future: ThreadFuture[Any] = ThreadFuture()
        Thread(
            target=_fulfil,
            args=(future, partial(fn, *args, **kwargs)),
            name="context-bench-blocking",
            daemon=True,
        ).start()
        return future


def _fulfil(future: ThreadFuture[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
        future.set_exception(error)

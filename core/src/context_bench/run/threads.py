"""Threads of our own: for systems that block, for scoring and for commits, and an event loop. One that hangs is replaced."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from context_bench.run.calls import RowTask
from context_bench.run.stopping import CancelToken, call_on
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile

_UNMOVED = 5


class Threads:
    """A queue of tickets and the threads that work on them, started as they are needed.

    Args:
        work: Does a ticket; it must raise nothing. It returns whether the thread is still wanted.
        most: Threads at most.
    """

    def __init__(self, work: Callable[[RowTask], bool], most: int) -> None:
        self._work = work
        self._most = most
        self._queue: SimpleQueue[RowTask | None] = SimpleQueue()
        self._lock = Lock()
        self._running = 0
        self._idle = 0
        self._is_closed = False
        self._taken = self._taken_before = self._unmoved = 0

    def put(self, ticket: RowTask) -> None:
        """Queue a ticket, and start a thread for it when all are busy."""
        self._queue.put(ticket)
        if self._running < self._most and self._idle < self._queue.qsize():
            self.add()

    def add(self) -> None:
        """Start another thread, in place of one that hangs or because all are busy."""
        with self._lock:
            if self._is_closed or self._running >= self._most:
                return
            try:
                Thread(target=self._serve, name="context-bench-worker", daemon=True).start()
            except RuntimeError:  # no more are to be had
                if not self._running:
                    raise
                self._most = self._running
            else:
                self._running += 1

    def abandon(self) -> None:
        """Count a thread no more, and start another in its place if one is needed."""
        with self._lock:
            self._running -= 1
        if self._queue.qsize():
            self.add()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is queued."""
        return not self._queue.qsize()

    def relieve(self) -> None:
        """Allow another thread when nothing was begun for a while though something waits; ask this now and then."""
        is_moving = self._taken != self._taken_before or not self._queue.qsize()
        self._unmoved = 0 if is_moving else self._unmoved + 1
        self._taken_before = self._taken
        if self._unmoved >= _UNMOVED:
            self._unmoved = 0
            with self._lock:
                self._most += 1
            self.add()

    def close(self) -> None:
        """Let the threads go when they have done what is queued; those that hang are not waited for."""
        with self._lock:
            self._is_closed = True
            for _ in range(self._running):
                self._queue.put(None)

    def _serve(self) -> None:
        while True:
            try:
                ticket = self._queue.get_nowait()
            except Empty:
                with self._lock:
                    self._idle += 1
                ticket = self._queue.get()
                with self._lock:
                    self._idle -= 1
            self._taken += 1
            if ticket is None or not self._work(ticket):
                return


_STUCK = 1.0


class EventLoop:
    """Runs coroutines that are handed to it from any thread.

    A coroutine returns whether the task that ran it may go on with another, which saves the making of a task for each.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_Apart())
        self._inbox: deque[Callable[[], Coroutine[Any, Any, bool]]] = deque()
        self._is_woken = self._is_over = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._fresh: dict[asyncio.Task[None], Callable[[], Coroutine[Any, Any, bool]]] = {}
        self._beat = self._asked = monotonic()
        self._thread = Thread(target=self._run, name="context-bench-loop", daemon=True)
        self._thread.start()

    def put(self, make: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Run a coroutine, made on the loop's own thread."""
        self._inbox.append(make)
        if not self._is_woken:
            self._is_woken = True
            call_on(self._loop, self._take)

    @property
    def is_stuck(self) -> bool:
        """Whether something has been blocking the loop; ask now and then, it is measured between two questions."""
        now = monotonic()
        stuck = self._beat < self._asked and now - self._asked > _STUCK
        if not stuck and self._beat >= self._asked:
            self._asked = now
            call_on(self._loop, self._answer)
        return stuck

    def leave(self) -> list[Callable[[], Coroutine[Any, Any, bool]]]:
        """Abandon the loop, and return what it has not begun."""
        left = []
        while self._inbox:
            left.append(self._inbox.popleft())
        self._stop()
        return left

    def close(self, seconds: float) -> None:
        """Cancel what is running and end the loop; wait at most so many seconds for it."""
        self._stop()
        self._thread.join(seconds)

    def _stop(self) -> None:
        self._is_over = True
        call_on(self._loop, self._loop.stop)

    def _take(self) -> None:
        self._is_woken = False
        while self._inbox:
            make = self._inbox.popleft()
            task = self._loop.create_task(self._serve(make))
            self._tasks.add(task)
            self._fresh[task] = make
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget a task; what it was to do is begun again where somebody's code cancelled it before its first step."""
        self._tasks.discard(task)
        make = self._fresh.pop(task, None)
        if make is not None and not self._is_over:
            self.put(make)

    async def _serve(self, make: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        del self._fresh[asyncio.current_task()]  # type: ignore[arg-type]
        while await make() and self._inbox:
            make = self._inbox.popleft()

    def _answer(self) -> None:
        self._beat = monotonic()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            while not self._is_over:  # a coroutine of somebody else's may stop the loop
                self._loop.run_forever()
            for _ in range(2):  # the second one ends what takes long to tidy up
                for task in self._tasks:
                    task.cancel()
                if self._tasks:
                    self._loop.run_until_complete(asyncio.wait(list(self._tasks), timeout=0.25))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()


class _Apart(ThreadPoolExecutor):
    """Runs each blocking call of a coroutine (``asyncio.to_thread``) on a thread of its own.

    As many calls run as are in flight. Python waits for no such thread at its end: one that hangs is left.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        Thread(
            target=_fulfil,
            args=(future, fn, args, kwargs),
            name="context-bench-blocking",
            daemon=True,
        ).start()
        return future


def _fulfil(future: Future[Any], function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function(*args, **kwargs))
    except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
        future.set_exception(error)


_LARGEST_GROUP = 500
_LONGEST_WAIT = 0.02

Safe = Callable[[StoredRow | None], None]

Finished = tuple[Safe, StoredRow | None] | tuple[None, StoredRow | StoredExample]
"""Who waits for a row, and the row: without a row it was dropped, without a waiter it is a note, or an example."""


class Writer:
    """Commits what is put into it: examples, and rows with those who wait for them.

    Args:
        store: Where rows are committed.
        broken: Called with an error that keeps rows from being committed.
    """

    def __init__(self, store: RunFile, broken: Callable[[BaseException], None]) -> None:
        self._store, self._broken = store, broken
        self._waiting: deque[Finished] = deque()
        self._wanted = Event()
        self._lock = Lock()
        self._is_closing = False
        self._thread = Thread(target=self._write, name="context-bench-writer", daemon=True)
        self._thread.start()

    def put(self, item: Finished) -> None:
        """Have something committed soon."""
        self._waiting.append(item)
        if not self._wanted.is_set():
            self._wanted.set()

    def hold(self, item: Finished) -> None:
        """Have something committed by the caller's next :meth:`drain`, or soon at the latest."""
        self._waiting.append(item)

    @property
    def waiting(self) -> int:
        """How much is waiting to be committed."""
        return len(self._waiting)

    def drain(self) -> None:
        """Commit what is waiting on the calling thread, unless another does so already."""
        while self._waiting and self._lock.acquire(blocking=False):
            try:
                group: list[Finished] = []
                while self._waiting and len(group) < _LARGEST_GROUP:
                    group.append(self._waiting.popleft())
                self._commit(group)
            finally:
                self._lock.release()

    def close(self, seconds: float | None = None) -> None:
        """Commit what is there and end; wait at most so many seconds for it."""
        self._is_closing = True
        self._wanted.set()
        self._thread.join(seconds)
        patience = -1 if seconds is None else seconds
        if self._lock.acquire(timeout=patience):  # another thread may still be telling of its rows
            self._lock.release()

    def _write(self) -> None:
        while True:
            self._wanted.wait(_LONGEST_WAIT)
            self._wanted.clear()
            self.drain()
            if self._is_closing and not self._waiting:
                return

    def _commit(self, group: list[Finished]) -> None:
        entries = [entry for _, entry in group if entry is not None]
        finished = [item for item in group if item[0] is not None]
        try:
            if entries:
                self._store.commit(entries)
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            self._broken(error)
            finished = [(safe, None) for safe, _ in finished]
        for safe, row in finished:
            try:
                safe(row)
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
                self._broken(error)


_GLANCE = 0.25
_AHEAD, _AT_ONCE = 256, 64


class Window:
    """Holds each row's place from before its system is called until its row is committed.

    Whoever frees a place starts the next row at once; the feed only keeps some rows ready, and is woken when several of
    these have gone.

    Args:
        places: Rows under way at most.
        start: Starts a row; called on the thread that fed it or that freed its place.
        stop: Ends the waiting for room.
    """

    def __init__(self, places: int, start: Callable[[RowTask], None], stop: CancelToken) -> None:
        self._start = start
        self._stop = stop
        ahead = max(2, min(places, _AHEAD))
        self._most = places + ahead
        self._enough = self._most - max(1, min(_AT_ONCE, ahead // 2))
        self._free = places
        self._ready: deque[RowTask] = deque()
        self._lock = Lock()
        self._rows = 0
        self._has_room = Event()

    def wait(self) -> None:
        """Wait until there is room for another row, or the run is stopped. Only the feeding thread may ask."""
        while self._rows >= self._most and not self._stop.is_set():
            self._has_room.clear()
            if self._rows > self._enough:
                self._has_room.wait(_GLANCE)

    def drain(self) -> None:
        """Wait until every row has ended."""
        self._enough = 0
        while self._rows:  # it wakes up now and then: on Windows no lock ends for a Ctrl-C
            self._has_room.clear()
            if self._rows:
                self._has_room.wait(_GLANCE)

    def add(self, ticket: RowTask) -> None:
        """Start a row, or keep it ready."""
        with self._lock:
            self._rows += 1
            if not self._free:
                self._ready.append(ticket)
                return
            self._free -= 1
        self._start(ticket)

    def leave(self) -> None:
        """Give back the place of a row that has ended, and start the next."""
        with self._lock:
            self._rows -= 1
            ticket = self._ready.popleft() if self._ready else None
            if ticket is None:
                self._free += 1
            has_room = self._rows == self._enough
        if has_room:
            self._has_room.set()
        if ticket is not None:
            self._start(ticket)

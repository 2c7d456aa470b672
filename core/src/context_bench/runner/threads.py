"""Threads of our own: for systems that block, and for scoring. A thread that hangs is abandoned and replaced."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from context_bench.runner.ticket import Ticket

_UNMOVED = 5


class Threads:
    """A queue of tickets and the threads that work on them, started as they are needed.

    Args:
        work: Does a ticket; it must raise nothing. It returns whether the thread is still wanted.
        most: Threads at most.
    """

    def __init__(self, work: Callable[[Ticket], bool], most: int) -> None:
        self._work = work
        self._most = most
        self._queue: SimpleQueue[Ticket | None] = SimpleQueue()
        self._lock = Lock()
        self._running = 0
        self._idle = 0
        self._is_closed = False
        self._taken = self._taken_before = self._unmoved = 0

    def put(self, ticket: Ticket) -> None:
        """Queue a ticket, and start a thread for it when all are busy."""
        self._queue.put(ticket)
        if self._running < self._most and self._idle < self._queue.qsize():
            self.add()

    def add(self) -> None:
        """Start another thread, in place of one that hangs or because all are busy."""
        with self._lock:
            if self._is_closed or self._running >= self._most:
                return
            self._running += 1
        Thread(target=self._serve, name="context-bench-worker", daemon=True).start()

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

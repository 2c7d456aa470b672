"""An event loop on a thread of its own, which therefore works where the caller's thread runs one already."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from threading import Thread
from time import monotonic
from typing import Any

_STUCK = 1.0


class EventLoop:
    """Runs coroutines that are handed to it from any thread.

    A coroutine returns whether the task that ran it may go on with another, which saves the making of a task for each.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._inbox: deque[Callable[[], Coroutine[Any, Any, bool]]] = deque()
        self._is_woken = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._beat = self._asked = monotonic()
        self._thread = Thread(target=self._run, name="context-bench-loop", daemon=True)
        self._thread.start()

    def put(self, make: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        """Run a coroutine, made on the loop's own thread."""
        self._inbox.append(make)
        if not self._is_woken:
            self._is_woken = True
            self._call(self._take)

    @property
    def is_stuck(self) -> bool:
        """Whether something has been blocking the loop; ask now and then, it is measured between two questions."""
        now = monotonic()
        stuck = self._beat < self._asked and now - self._asked > _STUCK
        if not stuck and self._beat >= self._asked:
            self._asked = now
            self._call(self._answer)
        return stuck

    def leave(self) -> list[Callable[[], Coroutine[Any, Any, bool]]]:
        """Abandon the loop, and return what it has not begun."""
        left = []
        while self._inbox:
            left.append(self._inbox.popleft())
        self._call(self._loop.stop)
        return left

    def close(self, seconds: float) -> None:
        """Cancel what is running and end the loop; wait at most so many seconds for it."""
        self._call(self._stop)
        self._thread.join(seconds)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(function)
        except RuntimeError:  # it is closed
            pass

    def _take(self) -> None:
        self._is_woken = False
        while self._inbox:
            task = self._loop.create_task(self._serve(self._inbox.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, make: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        while await make() and self._inbox:
            make = self._inbox.popleft()

    def _answer(self) -> None:
        self._beat = monotonic()

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            if self._tasks:
                for task in self._tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(list(self._tasks), timeout=0.5))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

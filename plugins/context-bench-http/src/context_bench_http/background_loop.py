"""The event loop that carries the requests of threads: one for a process, on a daemon thread."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from typing import TypeVar

_Result = TypeVar("_Result")
_SECONDS_TO_CLOSE = 1.0


class BackgroundLoop:
    """An event loop on a daemon thread, started by its first use. A forked process starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether it was started and not closed."""
        return self._loop is not None

    def run(self, work: Coroutine[object, object, _Result]) -> _Result:
        """Return the result of a coroutine, which the calling thread waits for.

        An exception that interrupts the waiting thread cancels the coroutine.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._started_loop())
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """End the loop, and close what is open on it."""
        with self._lock:
            loop = self._loop
            thread = self._thread
            self._loop = None
            self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_SECONDS_TO_CLOSE)

    def forget(self) -> None:
        """Leave the loop to the process that this one was forked from: its thread is not here.

        Nothing of it is closed, because the two processes share what the loop watches its sockets with.
        """
        _of_parent_processes.append(self._loop)
        self._lock = threading.Lock()
        self._loop = None
        self._thread = None

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="context-bench-http", daemon=True
                )
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    try:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


_of_parent_processes: list[asyncio.AbstractEventLoop | None] = []
BACKGROUND = BackgroundLoop()
atexit.register(BACKGROUND.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=BACKGROUND.forget)

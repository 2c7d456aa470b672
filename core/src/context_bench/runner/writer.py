"""The writer: one thread that commits finished rows in groups, and tells those who wait when they are safe."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock, Thread

from context_bench.store.runfile import RunFile
from context_bench.store.stored_rows import StoredExample, StoredRow

_LARGEST_GROUP = 500
_LONGEST_WAIT = 0.02

Safe = Callable[[StoredRow | None], None]

Finished = tuple[Safe | None, StoredRow | None]
"""Who waits for a row, and the row: without a row it was dropped, without a waiter it is a note."""


class Writer:
    """Commits what is put into it: examples, and rows with those who wait for them.

    Args:
        store: Where rows are committed.
        broken: Called with an error that keeps rows from being committed.
    """

    def __init__(
        self,
        store: RunFile,
        broken: Callable[[BaseException], None],
    ) -> None:
        self._store, self._broken = store, broken
        self._waiting: deque[Finished | StoredExample] = deque()
        self._wanted = Event()
        self._lock = Lock()
        self._is_closing = False
        self._thread = Thread(target=self._write, name="context-bench-writer", daemon=True)
        self._thread.start()

    def put(self, item: Finished | StoredExample) -> None:
        """Have something committed soon."""
        self._waiting.append(item)
        if not self._wanted.is_set():
            self._wanted.set()

    def hold(self, item: Finished | StoredExample) -> None:
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
                group: list[Finished | StoredExample] = []
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
        if self._lock.acquire(
            timeout=-1 if seconds is None else seconds
        ):  # another thread may still be telling of its rows
            self._lock.release()

    def _write(self) -> None:
        while True:
            self._wanted.wait(_LONGEST_WAIT)
            self._wanted.clear()
            self.drain()
            if self._is_closing and not self._waiting:
                return

    def _commit(self, group: list[Finished | StoredExample]) -> None:
        entries: list[StoredRow | StoredExample] = []
        finished: list[tuple[Safe, StoredRow | None]] = []
        for item in group:
            if isinstance(item, StoredExample):
                entries.append(item)
                continue
            safe, row = item
            if row is not None:
                entries.append(row)
            if safe is not None:
                finished.append((safe, row))
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

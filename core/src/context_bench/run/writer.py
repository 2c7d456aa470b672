"""The writer: finished rows are committed in groups, on a thread, and those who wait for them go on
after the commit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from threading import Event, Thread

from attrs import frozen

from context_bench.run.workers import Mailbox
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile

_LARGEST_GROUP = 500


@frozen
class Entry:
    """Something to be committed at once.

    Attributes:
        items: The rows or examples.
        shown: The rows that watchers of the run are shown after the commit.
        future: Is done when the row is committed.
    """

    items: Sequence[StoredRow | StoredExample]
    shown: Sequence[StoredRow] = ()
    future: asyncio.Future[bool] | None = None


class Writer:
    """Commits rows and examples. What comes while a group is committed is the next group.

    Args:
        store: Where they are committed.
        mailbox: Brings the news to the run's event loop.
        on_rows: Called with each group of rows that are shown, on the writer's thread; None shows
            none.
        on_error: Called with what keeps rows from being committed, or what ``on_rows`` raises.
    """

    def __init__(
        self,
        store: RunFile,
        mailbox: Mailbox,
        on_rows: Callable[[Sequence[StoredRow]], None] | None,
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._mailbox = mailbox
        self._on_rows = on_rows
        self._on_error = on_error
        self._waiting: deque[Entry] = deque()
        self._is_wanted = Event()
        self._is_closing = False
        self._is_broken = False
        self._thread = Thread(target=self._serve, name="context-bench-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def commit(self, rows: Sequence[StoredRow], shown: Sequence[StoredRow]) -> bool:
        """Return whether rows are committed; False where the store cannot be written any more.

        Args:
            rows: The rows.
            shown: What watchers of the run are shown then.
        """
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(Entry(rows, shown, future))
        self._is_wanted.set()
        return await future

    def put(self, item: StoredRow | StoredExample) -> None:
        """Commit something that nobody waits for, with or before the next row. May be called on any
        thread."""
        self._waiting.append(Entry((item,)))

    def close(self, seconds: float | None) -> None:
        """Commit what is there and end; wait at most so many seconds for it. May be called on any
        thread."""
        self._is_closing = True
        self._is_wanted.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _serve(self) -> None:
        while not self._is_closing or self._waiting:
            self._is_wanted.wait()
            if not self._is_closing:
                self._is_wanted.clear()
            while self._waiting:
                group: list[Entry] = []
                while self._waiting and len(group) < _LARGEST_GROUP:
                    group.append(self._waiting.popleft())
                self._commit(group)

    def _commit(self, group: list[Entry]) -> None:
        try:
            if not self._is_broken:
                self._store.commit(list(chain.from_iterable(entry.items for entry in group)))
        except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
            self._is_broken = True
            self._on_error(error)
        shown = list(chain.from_iterable(entry.shown for entry in group))
        if shown and not self._is_broken:
            self._show(shown)
        futures = [entry.future for entry in group if entry.future is not None]
        self._mailbox.post(partial(_end, futures, not self._is_broken))

    def _show(self, rows: list[StoredRow]) -> None:
        try:
            if self._on_rows is not None:
                self._on_rows(rows)
        except BaseException as error:  # noqa: BLE001 - raised on the caller's thread
            self._on_error(error)


def _end(futures: list[asyncio.Future[bool]], is_committed: bool) -> None:
    for future in futures:
        if not future.done():
            future.set_result(is_committed)

"""The window: rows between feed and commit. So many are under way, and some more stand ready for the places they free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock

from context_bench.runner.stopping import Stop
from context_bench.runner.ticket import Ticket

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

    def __init__(self, places: int, start: Callable[[Ticket], None], stop: Stop) -> None:
        self._start = start
        self._stop = stop
        ahead = max(2, min(places, _AHEAD))
        self._most = places + ahead
        self._enough = self._most - max(1, min(_AT_ONCE, ahead // 2))
        self._free = places
        self._ready: deque[Ticket] = deque()
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

    def add(self, ticket: Ticket) -> None:
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

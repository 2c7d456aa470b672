"""The window between feed and commit: so many rows are under way, each with a ticket; some more stand ready."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from context_bench.runner.answer import Answer
from context_bench.runner.parts import Job, Scorer
from context_bench.runner.stopping import Stop
from context_bench.runner.work import Workbench
from context_bench.store.stored_rows import StoredRow

if TYPE_CHECKING:
    from context_bench.runner.admission import Place


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


class Ticket:
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

    __slots__ = (
        "_end", "answer", "attempts", "cancel", "failed", "job", "late", "place", "quick", "sent", "slow", "started", "steps",
        "turn", "waiting",
    )  # fmt: skip

    def __init__(self, job: Job, quick: Sequence[Scorer] = (), slow: Sequence[Scorer] = ()) -> None:
        self.job, self.quick, self.slow = job, quick, slow
        self.started: float | None = None
        self.answer: Answer | None = None
        self.failed: StoredRow | None = None
        self.attempts = 1
        self.cancel: Callable[[], Any] | None = None
        self.late: StoredRow | None = None
        self.turn = 0
        self.place: Place | None = None
        self.sent = self.waiting = 0.0
        self.steps: Generator[Any, Any, bool] | None = None
        self._end = Lock()

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

    def late_row(self, workbench: Workbench, deadline: float) -> StoredRow:
        """Return the row of a ticket whose time is up: an answer is kept, what is missing has failed."""
        job = self.job
        reason = TimeoutError(f"it took longer than the deadline of {deadline:g} s.")
        if job.only is not None:
            return workbench.unfinished(job, None, job.only, reason)
        if self.answer is None:
            return workbench.failed(job, reason, self.seconds, self.attempts)
        return workbench.unfinished(job, self.answer, job.wiring.scorers, reason)

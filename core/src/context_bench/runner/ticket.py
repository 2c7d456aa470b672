"""A ticket: one row on its way through the lanes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from context_bench.runner.answer import Answer
from context_bench.runner.job import Job
from context_bench.runner.work import Workbench
from context_bench.store.stored_rows import StoredRow

if TYPE_CHECKING:
    from context_bench.runner.admission import Place


class Ticket:
    """A row on its way. It ends once: whoever :meth:`settle`s it first says how, and whoever comes later is not heard.

    Attributes:
        job: What is to be done.
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
        "_end", "answer", "attempts", "cancel", "failed", "job", "late", "place", "sent", "started", "steps", "turn", "waiting",
    )  # fmt: skip

    def __init__(self, job: Job) -> None:
        self.job = job
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

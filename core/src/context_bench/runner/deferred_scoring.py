"""Later: what evaluators say after the response is committed - in batches, on the event loop, in other processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from attrs import Factory, define

from context_bench.runner.parts import Job, Scorer, async_way, takes_batches
from context_bench.runner.scoring import scores_only, why_unscored
from context_bench.runner.stopping import Raised, Stop, guarded
from context_bench.runner.systems import Answer
from context_bench.runner.threads import EventLoop
from context_bench.runner.work import Workbench
from context_bench.store.encoding import isolate
from context_bench.store.keys import score_key
from context_bench.store.rows import StoredEvaluation, StoredRow

if TYPE_CHECKING:
    from context_bench.runner.children import Children

BATCH = 64
_LONGEST_WAIT = 0.05

Said = Callable[[Job, "StoredRow | None", StoredRow], None]


@define(eq=False)
class Pending:
    """A response that waits for what its slow scorers say."""

    job: Job
    answer: Answer
    first: StoredRow
    _open: int
    _said: Said
    _workbench: Workbench
    _is_dropped: bool = False
    _evaluations: list[StoredEvaluation] = Factory(list)
    _failures: list[Any] = Factory(list)
    _lock: Any = Factory(Lock)

    @property
    def pair(self) -> tuple[Any, Any]:
        """Private copies of the example and the output."""
        return isolate(self.job.example), isolate(self.answer.parted)

    def add(self, scorer: Scorer, found: Any) -> None:
        """Take what an evaluator returned, or the exception that it raised."""
        self.take(self._workbench.judge(self.job, scorer, self.answer, found))

    def take(self, result: Any) -> None:
        """Take a finished evaluation or failure; the last one ends the row."""
        with self._lock:
            (self._evaluations if isinstance(result, StoredEvaluation) else self._failures).append(result)
            self._open -= 1
            if self._open or self._is_dropped:
                return
        self._evaluations.sort(key=lambda evaluation: evaluation.evaluator)
        self._failures.sort(key=lambda failure: failure[0])
        self._said(self.job, scores_only(self.job, self._evaluations, self._failures), self.first)

    def drop(self) -> None:
        """Leave the rest unsaid: the run was stopped, and says it when it is resumed."""
        with self._lock:
            if self._is_dropped or not self._open:
                return
            self._is_dropped = True
        self._said(self.job, None, self.first)


@define(eq=False)
class Later:
    """Scores committed responses.

    Attributes:
        workbench: Turns what evaluators return into evaluations.
        deadline: Seconds for one evaluation; None for no limit.
        said: Called with the job, what its slow scorers said, and the row that is committed.
        event_loop: Returns the event loop.
        stop: Says that nothing more is to be begun.
    """

    _workbench: Workbench
    _deadline: float | None
    _said: Said
    _event_loop: Callable[[], EventLoop]
    _stop: Stop
    _helpers: dict[int, _Batches | Children] = Factory(dict)

    def put(self, job: Job, answer: Answer, scorers: Sequence[Scorer], first: StoredRow) -> None:
        """Score a response."""
        pending = Pending(job, answer, first, len(scorers), self._said, self._workbench)
        for scorer in scorers:
            missing = why_unscored(job, scorer, answer.output)
            if missing:
                key = score_key(job.key, answer.digest, scorer.key, job.gold_key(scorer.reads))
                pending.take(StoredEvaluation(scorer.number, key, {}, unscored=missing))
            elif scorer.cpu_bound or takes_batches(scorer):
                self._helper(scorer).put(pending)
            else:
                self._event_loop().put(partial(self._ask, pending, scorer))

    def keep_time(self) -> None:
        """Fail what takes longer than the deadline."""
        for helper in list(self._helpers.values()):
            if isinstance(helper, _Batches):
                helper.keep_time()

    def close(self) -> None:
        """End threads and processes."""
        for helper in self._helpers.values():
            helper.close()

    def _helper(self, scorer: Scorer) -> _Batches | Children:
        """Return the threads that give an evaluator batches, or the processes that it scores in."""
        if scorer.number not in self._helpers:
            limits = self._deadline, self._stop
            if scorer.cpu_bound:
                from context_bench.runner.children import Children

                self._helpers[scorer.number] = Children(scorer, os.cpu_count() or 1, *limits)
            else:
                self._helpers[scorer.number] = _Batches(scorer, *limits)
        return self._helpers[scorer.number]

    async def _ask(self, pending: Pending, scorer: Scorer) -> bool:
        if self._stop.is_set():
            pending.drop()
            return True
        score: Any = async_way(scorer.evaluator, "score")
        try:
            found = await asyncio.wait_for(score(*pending.pair), self._deadline)
        except asyncio.TimeoutError:
            found = TimeoutError(f"it took longer than the deadline of {self._deadline:g} s.")
        except asyncio.CancelledError:
            return False
        except BaseException as error:  # noqa: BLE001 - an evaluator may raise anything; it is this row's failure
            found = error
        pending.add(scorer, found)
        return True


class _Batches:
    """One thread that gives an evaluator batches. A batch that fails is tried again one by one, to find the culprit."""

    def __init__(self, scorer: Scorer, deadline: float | None, stop: Stop) -> None:
        self._scorer = scorer
        self._deadline = deadline
        self._stop = stop
        self._queue: SimpleQueue[Pending | None] = SimpleQueue()
        self._lock = Lock()
        self._batch: list[Pending] = []
        self._until = float("inf")
        self._start()
        self.put = self._queue.put

    def close(self) -> None:
        self._queue.put(None)

    def keep_time(self) -> None:
        """Fail a batch whose time is up, and leave its thread to itself."""
        with self._lock:
            if monotonic() < self._until:
                return
            batch, self._batch, self._until = self._batch, [], float("inf")
            self._start()
        late = TimeoutError(f"its batch took longer than the deadline of {self._deadline:g} s a row.")
        for pending in batch:
            pending.add(self._scorer, late)

    def _start(self) -> None:
        Thread(target=self._serve, name="context-bench-batches", daemon=True).start()

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, is_last = self._gather(first)
            if not self._score(batch) or is_last:
                return

    def _gather(self, first: Pending) -> tuple[list[Pending], bool]:
        batch = [first]
        until = monotonic() + _LONGEST_WAIT
        while len(batch) < BATCH:
            try:
                item = self._queue.get(timeout=max(0.0, until - monotonic()))
            except Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _score(self, batch: list[Pending]) -> bool:
        """Score a batch; return False when its time was up meanwhile."""
        if self._stop.is_set():
            for pending in batch:
                pending.drop()
            return True
        with self._lock:
            self._batch = batch
            if self._deadline is not None:
                self._until = monotonic() + self._deadline * len(batch)
        found = self._ask(batch)
        if len(batch) > 1 and isinstance(found[0], BaseException):
            found = [self._ask([pending])[0] for pending in batch]
        with self._lock:
            if self._batch is not batch:
                return False
            self._batch, self._until = [], float("inf")
        for pending, result in zip(batch, found, strict=True):
            pending.add(self._scorer, result)
        return True

    def _ask(self, batch: list[Pending]) -> list[Any]:
        evaluator: Any = self._scorer.evaluator
        pairs = [pending.pair for pending in batch]
        found = guarded(lambda: list(evaluator.score_batch(pairs)))
        if isinstance(found, Raised):
            return [found.error] * len(batch)
        if len(found) != len(batch):
            return [ValueError(f"score_batch returned {len(found)} results for {len(batch)} pairs.")] * len(batch)
        return list(found)

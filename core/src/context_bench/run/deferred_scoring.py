"""Deferred scoring: evaluators that score committed responses - async ones, in batches, or in
processes.

Each is a queue with a limit of calls in flight; the kinds differ in how the evaluator is called. A
call that takes too long is left behind: a coroutine is cancelled, a thread is replaced, a process
is killed.
"""

from __future__ import annotations

import asyncio
import math
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from threading import Lock
from time import perf_counter
from typing import Any

from context_bench.run.child import Child
from context_bench.run.cores import usable_cores
from context_bench.run.jobs import Scorer, takes_batches
from context_bench.run.said import BATCH_SECONDS, EachOf
from context_bench.run.stopping import CancelToken, CaughtError
from context_bench.run.systems import async_method
from context_bench.run.workers import CoroutineHost, WorkerPool, result_within

BATCH = 64
_LONGEST_WAIT = 0.05
"""Seconds for which the first pair of a batch waits for others."""

Pair = tuple[Any, Any]
"""Private copies of an example and an output."""

DROPPED = object()
"""What stands in for a result when the run is stopping: the pair is scored when the run is
resumed."""

Waiting = tuple[Callable[[], Pair], "asyncio.Future[Any]"]
"""What makes a pair, and the future of its result."""


class _BatchFailedError(Exception):
    """A call failed as a whole.

    Attributes:
        cause: Its error.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


class DeferredScoring:
    """A queue of pairs before one evaluator.

    Args:
        scorer: The evaluator.
        deadline: Seconds for one pair; None for no limit.
        stop: Says that nothing more is to be begun.
        pool: Threads for evaluators.
    """

    batch_size = 1

    def __init__(
        self, scorer: Scorer, deadline: float | None, stop: CancelToken, pool: WorkerPool
    ) -> None:
        self._scorer = scorer
        self._deadline = deadline
        self._stop = stop
        self._pool = pool
        self._limit = self._calls_in_flight()
        self._in_flight = 0
        self._waiting: deque[Waiting] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        if self._limit < math.inf:
            pool.limit += int(self._limit)

    def score(self, make_pair: Callable[[], Pair]) -> asyncio.Future[Any]:
        """Return the future of what the evaluator returns for a pair, the exception that it raises,
        or :data:`DROPPED`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if self.batch_size > 1 and not self._waiting:
            loop.call_later(_LONGEST_WAIT, self._begin, True)
        self._waiting.append((make_pair, future))
        self._begin()
        return future

    def close(self) -> None:
        """Let go of what the evaluator was called with."""

    def _calls_in_flight(self) -> float:
        return 1

    async def _call(self, pairs: list[Pair]) -> Sequence[Any]:
        """Return a result for each of the first pairs, and for one at least.

        Raises:
            TimeoutError: It took too long.
            _BatchFailedError: There is no result for any pair.
        """
        raise NotImplementedError

    def _share(self) -> int:
        """Return how many of the waiting pairs the next call gets."""
        return self.batch_size

    def _begin(self, is_due: bool = False) -> None:
        if not is_due and len(self._waiting) < self.batch_size:
            return
        while self._waiting and self._in_flight < self._limit:
            count = min(self._share(), len(self._waiting))
            group = [self._waiting.popleft() for _ in range(count)]
            self._in_flight += 1
            task = asyncio.get_running_loop().create_task(self._serve(group))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, group: list[Waiting]) -> None:
        results: Sequence[Any] = [DROPPED] * len(group)
        try:
            if not self._stop.is_set():
                results = await self._results(group)
        finally:
            self._in_flight -= 1
            self._waiting.extendleft(reversed(group[len(results) :]))
            self._begin(is_due=True)
            for (_, future), result in zip(group, results):
                if not future.done():
                    future.set_result(result)

    async def _results(self, group: list[Waiting]) -> Sequence[Any]:
        """Return the results of a group; one that fails as a whole is called pair by pair, to find
        the culprit."""
        try:
            results = await self._call([make_pair() for make_pair, _ in group])
        except _BatchFailedError as error:
            if len(group) > 1:
                return [(await self._results([waiting]))[0] for waiting in group]
            results = [error.cause]
        except TimeoutError:
            results = [TimeoutError(self._late_message())] * len(group)
        except Exception as error:  # noqa: BLE001 - no thread is to be had
            results = [error] * len(group)
        return results

    def _late_message(self) -> str:
        return f"it took longer than the deadline of {self._deadline:g} s."


class AsyncScoring(DeferredScoring):
    """Awaits an async evaluator, for as many pairs at once as its ``max_in_flight`` says.

    Args:
        host: Returns the event loop for coroutines of others.
    """

    def __init__(
        self,
        scorer: Scorer,
        deadline: float | None,
        stop: CancelToken,
        pool: WorkerPool,
        host: Callable[[], CoroutineHost],
    ) -> None:
        super().__init__(scorer, deadline, stop, pool)
        self._host = host

    def _calls_in_flight(self) -> float:
        limit = getattr(self._scorer.evaluator, "max_in_flight", None)
        return limit if type(limit) is int and limit > 0 else math.inf

    async def _call(self, pairs: list[Pair]) -> Sequence[Any]:
        score: Any = async_method(self._scorer.evaluator, "score")
        work = self._host().submit(partial(score, *pairs[0]))
        try:
            result = await result_within(work, self._deadline)
        except TimeoutError:
            work.leave()
            raise
        if not isinstance(result, CaughtError):
            return [result]
        if not isinstance(result.error, asyncio.CancelledError):
            return [result.error]
        if self._stop.is_set():
            return [DROPPED]
        return [RuntimeError("the call was cancelled by the evaluator itself.")]


class BatchScoring(DeferredScoring):
    """Gives an evaluator batches, one after another."""

    batch_size = BATCH

    async def _call(self, pairs: list[Pair]) -> Sequence[Any]:
        work = self._pool.submit(partial(_score_batch, self._scorer.evaluator, pairs))
        seconds = None if self._deadline is None else self._deadline * len(pairs)
        try:
            result = await result_within(work, seconds)
        except TimeoutError:
            work.leave()
            raise
        if isinstance(result, CaughtError):
            raise _BatchFailedError(result.error)
        if len(result) != len(pairs):
            message = f"score_batch returned {len(result)} results for {len(pairs)} pairs."
            raise _BatchFailedError(ValueError(message))
        return list(result)

    def _late_message(self) -> str:
        return f"its batch took longer than the deadline of {self._deadline:g} s a row."


def _score_batch(evaluator: Any, pairs: list[Pair]) -> list[Any]:
    return list(islice(evaluator.score_batch(pairs), len(pairs) + 1))


class ProcessScoring(DeferredScoring):
    """Scores in child processes, each led by a thread, with as many at once as there are
    processors.

    They are started one after another. Meanwhile an evaluator scores on a thread of this process,
    unless its time is limited, as a thread cannot be killed, or it has ended a process, as it may
    end this one. So it does where no process can be started, and where the evaluator cannot be
    pickled.
    """

    def __init__(
        self, scorer: Scorer, deadline: float | None, stop: CancelToken, pool: WorkerPool
    ) -> None:
        super().__init__(scorer, deadline, stop, pool)
        self._lock = Lock()
        self._idle: list[Child] = []
        self._children: set[Child] = set()
        self._starting: asyncio.Future[Any] | None = None
        self._has_lost_child = False
        self._is_closed = False
        self._row_seconds = scorer.cost.seconds / max(1, scorer.cost.rows)
        self._each = EachOf(scorer.evaluator, scorer.id)
        pool.limit += 1  # a thread that starts processes
        try:
            self._pickle: bytes | None = pickle.dumps(self._each)
        except Exception:  # noqa: BLE001 - what cannot be pickled stays here
            self._pickle = None

    def close(self) -> None:
        """Kill the processes."""
        with self._lock:
            self._is_closed = True
            children = list(self._children)
        for child in children:
            child.kill()

    def _calls_in_flight(self) -> float:
        return usable_cores()

    def _share(self) -> int:
        if self._deadline is not None or not self._row_seconds:
            return 1
        enough = math.ceil(BATCH_SECONDS / self._row_seconds)
        return min(enough, math.ceil(len(self._waiting) / self._limit))

    async def _call(self, pairs: list[Pair]) -> Sequence[Any]:
        child = await self._child()
        if child is None:
            work = self._pool.submit(partial(self._each.score, *pairs))
            try:
                results = await result_within(work, self._deadline)
            except TimeoutError:
                work.leave()
                raise
        else:
            results = await self._pool.submit(partial(self._ask, child, pairs)).future
        if isinstance(results, CaughtError):
            raise _BatchFailedError(results.error)
        return results  # type: ignore[no-any-return]

    async def _child(self) -> Child | None:
        """Return an idle process; None where the evaluator scores here."""
        while not self._idle and self._pickle is not None and len(self._children) < self._limit:
            if self._starting is None:
                self._starting = self._pool.submit(self._start_child).future
                self._starting.add_done_callback(self._started)
            if self._deadline is None and not self._has_lost_child:
                break
            starting = self._starting
            await asyncio.wait((starting,))  # others wait for it, too
            if not isinstance(starting.result(), Child):
                break
        return self._idle.pop() if self._idle else None

    def _started(self, starting: asyncio.Future[Any]) -> None:
        self._starting = None
        if not starting.cancelled() and not isinstance(starting.result(), Child):
            self._limit = max(1, min(self._limit, len(self._children)))  # those go on alone

    # The rest is called on a thread of the pool.

    def _start_child(self) -> Child | None:
        assert self._pickle is not None
        try:
            child = Child(self._pickle)
        except (EOFError, TimeoutError):  # the evaluator cannot be loaded there
            self._pickle = None
            return None
        except (OSError, RuntimeError):  # no process is to be had, or no thread that listens to it
            return None
        with self._lock:
            self._children.add(child)
            self._idle.append(child)
            is_late = self._is_closed
        if is_late:
            child.kill()
        return child

    def _ask(self, child: Child, pairs: list[Pair]) -> list[Any]:
        try:
            begun = perf_counter()
            said = child.score(tuple(pairs), self._deadline)
            if isinstance(said, BaseException):  # there is no memory for the pairs
                raise said
            self._row_seconds = (perf_counter() - begun) / len(said)
            return said  # type: ignore[no-any-return]
        except TimeoutError:
            message = f"it took longer than the deadline of {self._deadline:g} s, and was killed."
            return [self._unless_closed(TimeoutError(message))]
        except EOFError as error:
            if len(pairs) > 1 and not self._is_closed:
                raise
            return [self._unless_closed(RuntimeError(f"it {error}."))] * len(pairs)
        finally:
            with self._lock:
                if child.is_dead:
                    self._has_lost_child = True
                    self._children.discard(child)
                else:
                    self._idle.append(child)

    def _unless_closed(self, error: Exception) -> Any:
        return DROPPED if self._is_closed else error


def make_scoring(
    scorer: Scorer,
    deadline: float | None,
    stop: CancelToken,
    pool: WorkerPool,
    host: Callable[[], CoroutineHost],
) -> DeferredScoring:
    """Return what lets a slow evaluator score: in processes, in batches, or on an event loop."""
    if scorer.cpu_bound:
        return ProcessScoring(scorer, deadline, stop, pool)
    if takes_batches(scorer):
        return BatchScoring(scorer, deadline, stop, pool)
    return AsyncScoring(scorer, deadline, stop, pool, host)

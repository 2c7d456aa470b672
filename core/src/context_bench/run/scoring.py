"""Scoring: what evaluators say of an answer. Whatever goes wrong with one of them is a failure of this one alone.

Most say it before the response is committed. Those that take batches, are async or have processes of their own say it later.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve

from context_bench.errors import WiringError
from context_bench.records import Failure
from context_bench.redaction import Redactor
from context_bench.run.model import Answer, Job, Scorer, async_way, takes_batches
from context_bench.run.stopping import (
    CancelToken,
    CaughtError,
    capture,
    failure_of,
    is_control_flow,
)
from context_bench.store.encoding import from_json, isolate, storable, to_json
from context_bench.store.keys import score_key
from context_bench.store.rows import StoredEvaluation, StoredRow

if TYPE_CHECKING:
    from context_bench.run.children import Children
    from context_bench.run.loop import RowProcessor
    from context_bench.run.threads import EventLoop

BATCH = 64
_LONGEST_WAIT = 0.05
_GRACE = 0.25

Said = Callable[[Job, "StoredRow | None", StoredRow], None]
Failures = list[tuple[int, Failure]]
"""Failures with the numbers of the evaluators."""

_MOST = 1e290
"""The largest score: 10**18 of them can still be added."""

_TOLERANCE = 1e-9
"""How far a score may be beyond its declared range: what sums of floating-point numbers lose."""


class Scoring:
    """Lets evaluators score, and makes evaluations and failures of what they return. It keeps no state.

    Args:
        redactor: Takes secrets out of whatever is written.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._is_secretive = bool(redactor)

    def score(
        self, job: Job, scorers: Sequence[Scorer], answer: Answer
    ) -> tuple[list[StoredEvaluation], Failures]:
        """Return what scorers say of an answer, and which of them failed.

        Raises:
            WiringError: Two evaluators gave the same key.
        """
        evaluations: list[StoredEvaluation] = []
        failures: Failures = []
        owners: dict[str, str] = {}
        gold_keys: dict[tuple[str, ...] | None, bytes] = {}
        for scorer in scorers:
            gold = gold_keys.get(scorer.reads)
            if gold is None:
                gold = gold_keys[scorer.reads] = job.gold_key(scorer.reads)
            key = score_key(job.key, answer.digest, scorer.key, gold)
            if (scorer.needs or job.unscored is not None) and (
                missing := why_unscored(job, scorer, answer.output)
            ):
                evaluations.append(
                    StoredEvaluation(evaluator=scorer.number, key=key, unscored=missing)
                )
                continue
            try:
                begun = thread_time() if scorer.cpu_bound else None
                found = scorer.evaluator.score(isolate(job.example), isolate(answer.parted))
                if begun is not None:
                    scorer.effort.add(thread_time() - begun)
                evaluation = self._evaluation(job, scorer, key, found)
            except BaseException as error:
                if is_control_flow(error):
                    raise
                failures.append((scorer.number, self.failure("evaluator", error, scorer.id)))
                continue
            if len(scorers) > 1:
                claim(owners, scorer, evaluation)
            evaluations.append(evaluation)
        return evaluations, failures

    def judge(
        self, job: Job, scorer: Scorer, answer: Answer, found: Any
    ) -> StoredEvaluation | tuple[int, Failure]:
        """Return what a scorer said elsewhere - in a batch, in another process - of an answer, or its failure.

        Args:
            job: The job.
            scorer: The scorer.
            answer: The answer.
            found: What its evaluator returned, or the exception that it raised.
        """
        gold = job.gold_key(scorer.reads)
        if isinstance(found, BaseException):
            return scorer.number, self.failure("evaluator", found, scorer.id)
        try:
            return self._evaluation(
                job, scorer, score_key(job.key, answer.digest, scorer.key, gold), found
            )
        except BaseException as error:
            if is_control_flow(error):
                raise
            return scorer.number, self.failure("evaluator", error, scorer.id)

    def failure(self, stage: str, error: BaseException, evaluator: str | None = None) -> Failure:
        """Return the failure that an error is, without secrets."""
        failure = failure_of(stage, error, evaluator)
        if not self._is_secretive:
            return failure
        hide = self._redactor.of
        return evolve(failure, message=hide(failure.message), traceback=hide(failure.traceback))

    def _evaluation(self, job: Job, scorer: Scorer, key: bytes, found: Any) -> StoredEvaluation:
        details: Mapping[str, Any] | None = None
        if type(found) is not dict:
            if not isinstance(found, Mapping):
                raise TypeError(
                    f"it returned {type(found).__name__}, not a mapping of score keys to numbers"
                )
            details = getattr(found, "details", None) or None
        scores = {
            f"{scorer.prefix}{name}": _number(name, value)
            for name, value in found.items()
            if value is not None
        }
        if scorer.ranges:
            for name, value in scores.items():
                _check(scorer, name, value)
        unscored, headline = None, job.wiring.headline
        if not scores:
            unscored = details.get("unscored") if details else None
            unscored = unscored if isinstance(unscored, str) else "it had nothing to say"
        elif headline in scorer.keys and headline not in scores:
            unscored = f"it gave no {headline}, the headline of the row"
        told = None if details is None else to_json(dict(details))
        if self._is_secretive:
            if told is not None and self._redactor.is_told_in(told):
                told = to_json(self._redactor.of_answer(from_json(told)))
            unscored = unscored and self._redactor.of(unscored)
        return StoredEvaluation(
            evaluator=scorer.number,
            key=key,
            scores=scores,
            hidden=scorer.yields,
            unscored=unscored,
            details=told,
        )


def scores_only(
    job: Job, evaluations: Sequence[StoredEvaluation], failures: Sequence[tuple[int, Failure]]
) -> StoredRow:
    """Return what is written about a response that is stored already."""
    return StoredRow(
        id=job.id, key=job.key, output=None, evaluations=evaluations, failures=failures, again=True
    )


def unscored_of(job: Job) -> list[StoredEvaluation]:
    """Return the scorers that could say nothing of any answer to a job: that there is none is no fault of the system."""
    told = ((scorer, why_unscored(job, scorer, None)) for scorer in job.wiring.scorers)
    return [
        StoredEvaluation(evaluator=scorer.number, key=scorer.key, unscored=why)
        for scorer, why in told
        if why is not None
    ]


def why_unscored(job: Job, scorer: Scorer, output: Mapping[str, Any] | None) -> str | None:
    """Return what a scorer needs and a job's example or the output, where there is one, lacks, or why nobody can score it."""
    if job.unscored is not None:
        return job.unscored
    if not scorer.needs:
        return None
    for side, fields, where in (
        ("original", job.example, "example"),
        ("processed", output, "output"),
    ):
        for need in scorer.needs.get(side, ()):
            if fields is not None and all(fields.get(name) is None for name in need.split("|")):
                return f"the {where} has no {need.replace('|', ' or ')}"
    return None


def claim(owners: dict[str, str], scorer: Scorer, evaluation: StoredEvaluation) -> None:
    """Note whose the keys of an evaluation are.

    Raises:
        WiringError: One of them is somebody else's already.
    """
    for name in evaluation.scores:
        if name in scorer.yields:
            continue
        if name in owners:
            raise WiringError(
                f"{owners[name]} and {scorer.id} both gave the score {name!r} to one row. Leave one of them out, or give "
                f"one a prefix (--score-prefix {scorer.id}=other_)."
            )
        owners[name] = scorer.id


def _check(scorer: Scorer, name: str, value: float) -> None:
    """Hold a score against what its evaluator declares.

    Raises:
        ValueError: It declares no such key, or a range in which the value is not.
    """
    declared = scorer.ranges.get(name)
    if declared is None:
        keys = ", ".join(sorted(scorer.ranges))
        raise ValueError(
            f"it gave the score {name!r}, which its manifest does not declare; it declares {keys}"
        )
    least, most = declared
    if (least is not None and value < least - _TOLERANCE) or (
        most is not None and value > most + _TOLERANCE
    ):
        raise ValueError(
            f"the score {name!r} is {value!r}, outside its declared range [{least}, {most}]"
        )


def _number(name: object, value: Any) -> float:
    if type(value) is float and type(name) is str and name.isascii() and -_MOST <= value <= _MOST:
        return value + 0.0  # a run file holds no minus before a zero
    if not isinstance(name, str) or storable(name) != name:
        raise TypeError(f"the score key {name!r} is no text")
    if isinstance(value, str | bytes):
        raise TypeError(f"the score {name!r} is {value!r}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"the score {name!r} is {value!r}, not a number") from error
    if not -_MOST <= number <= _MOST:
        raise ValueError(
            f"the score {name!r} is {number}, not a finite number of which a mean can be taken"
        )
    return number + 0.0


@define(eq=False)
class Pending:
    """A response that waits for what its slow scorers say."""

    job: Job
    answer: Answer
    first: StoredRow
    _open: int
    _said: Said
    _workbench: RowProcessor
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
            (self._evaluations if isinstance(result, StoredEvaluation) else self._failures).append(
                result
            )
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
        processor: Turns what evaluators return into evaluations.
        deadline: Seconds for one evaluation; None for no limit.
        said: Called with the job, what its slow scorers said, and the row that is committed.
        event_loop: Returns the event loop.
        stop: Says that nothing more is to be begun.
    """

    _workbench: RowProcessor
    _deadline: float | None
    _said: Said
    _event_loop: Callable[[], EventLoop]
    _stop: CancelToken
    _helpers: dict[int, Asked | Batches | Children] = Factory(dict)

    def put(self, job: Job, answer: Answer, scorers: Sequence[Scorer], first: StoredRow) -> None:
        """Score a response."""
        pending = Pending(job, answer, first, len(scorers), self._said, self._workbench)
        for scorer in scorers:
            begun = capture(self._begin, pending, scorer)
            if isinstance(begun, CaughtError):  # no thread is to be had, no file for an event loop
                pending.add(scorer, begun.error)

    def _begin(self, pending: Pending, scorer: Scorer) -> None:
        job, answer = pending.job, pending.answer
        missing = why_unscored(job, scorer, answer.output)
        if missing:
            key = score_key(job.key, answer.digest, scorer.key, job.gold_key(scorer.reads))
            pending.take(StoredEvaluation(evaluator=scorer.number, key=key, unscored=missing))
        else:
            self._helper(scorer).put(pending)

    def keep_time(self) -> None:
        """Fail what takes longer than the deadline."""
        for helper in list(self._helpers.values()):
            helper.keep_time()

    def close(self) -> None:
        """End threads and processes."""
        for helper in self._helpers.values():
            helper.close()

    def _helper(self, scorer: Scorer) -> Asked | Batches | Children:
        """Return what lets an evaluator score: on the event loop, in batches, or in processes."""
        if scorer.number not in self._helpers:
            limits = self._deadline, self._stop
            if scorer.cpu_bound:
                from context_bench.run.children import Children

                self._helpers[scorer.number] = Children(scorer, os.cpu_count() or 1, *limits)
            elif takes_batches(scorer):
                self._helpers[scorer.number] = Batches(scorer, *limits)
            else:
                self._helpers[scorer.number] = Asked(scorer, *limits, self._event_loop)
        return self._helpers[scorer.number]


class Asked:
    """Asks an async evaluator on the event loop, for as many rows at once as its ``max_in_flight`` says."""

    def __init__(
        self,
        scorer: Scorer,
        deadline: float | None,
        stop: CancelToken,
        event_loop: Callable[[], EventLoop],
    ) -> None:
        self._scorer, self._deadline, self._stop, self._event_loop = (
            scorer,
            deadline,
            stop,
            event_loop,
        )
        most = getattr(scorer.evaluator, "max_in_flight", None)
        self._most = most if type(most) is int and most > 0 else math.inf
        self._lock = Lock()
        self._waiting: deque[Pending] = deque()
        self._until: dict[Pending, float] = {}

    def put(self, pending: Pending) -> None:
        """Score a pending response."""
        self._waiting.append(pending)
        self._begin()

    def keep_time(self) -> None:
        """Fail what takes longer than the deadline: its event loop is blocked."""
        for pending, until in list(self._until.items()):
            if monotonic() > until:
                self._end(
                    pending,
                    TimeoutError(f"it took longer than the deadline of {self._deadline:g} s."),
                )

    def close(self) -> None:
        """What is under way ends with its event loop."""

    def _begin(self) -> None:
        """Ask for rows that wait while there is room; their deadlines count from here."""
        while True:
            with self._lock:
                if not self._waiting or len(self._until) >= self._most:
                    return
                pending = self._waiting.popleft()
                self._until[pending] = monotonic() + _GRACE + (self._deadline or math.inf)
            begun = capture(self._put, pending)
            if isinstance(begun, CaughtError) and self._until.pop(pending, None) is not None:
                pending.add(self._scorer, begun.error)

    def _put(self, pending: Pending) -> None:
        self._event_loop().put(partial(self._ask, pending))

    def _end(self, pending: Pending, found: Any) -> None:
        """Take what the evaluator said, unless its time is up already, and ask for the next row; None drops the row."""
        if self._until.pop(pending, None) is None:
            return
        if found is None:
            pending.drop()
        else:
            pending.add(self._scorer, found)
        self._begin()

    async def _ask(self, pending: Pending) -> bool:
        import asyncio

        if self._stop.is_set():
            self._end(pending, None)
            return True
        score: Any = async_way(self._scorer.evaluator, "score")
        try:
            found = await asyncio.wait_for(score(*pending.pair), self._deadline)
        except asyncio.TimeoutError:
            found = TimeoutError(f"it took longer than the deadline of {self._deadline:g} s.")
        except asyncio.CancelledError:
            if self._stop.is_set():
                self._end(pending, None)
                return False
            found = RuntimeError("the call was cancelled by the evaluator itself.")
        except BaseException as error:  # noqa: BLE001 - an evaluator may raise anything; it is this row's failure
            found = error
        self._end(pending, found)
        return True


class Batches:
    """One thread that gives an evaluator batches. A batch that fails is tried again one by one, to find the culprit.

    One that is bound to the processor is given pairs one by one.
    """

    def __init__(self, scorer: Scorer, deadline: float | None, stop: CancelToken) -> None:
        self._scorer = scorer
        self._most = 1 if scorer.cpu_bound else BATCH
        self._deadline = deadline
        self._stop = stop
        self._queue: SimpleQueue[Pending | None] = SimpleQueue()
        self._lock = Lock()
        self._batch: list[Pending] = []
        self._until = float("inf")
        self._start()
        self.put = self._queue.put

    def close(self) -> None:
        """Let the thread go when it has done what is queued."""
        self._queue.put(None)

    def keep_time(self) -> None:
        """Fail a batch whose time is up, and leave its thread to itself."""
        with self._lock:
            if monotonic() < self._until:
                return
            if isinstance(capture(self._start), CaughtError):
                return  # no thread is to be had in its place; the next moment asks again
            batch, self._batch, self._until = self._batch, [], float("inf")
        told = f"took longer than the deadline of {self._deadline:g} s"
        late = TimeoutError(f"its batch {told} a row." if self._most > 1 else f"it {told}.")
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
        while len(batch) < self._most:
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
        if self._most > 1:
            found = capture(
                lambda: list(
                    islice(evaluator.score_batch([one.pair for one in batch]), len(batch) + 1)
                )
            )
        else:
            found = capture(lambda: [evaluator.score(*pending.pair) for pending in batch])
        if isinstance(found, CaughtError):
            return [found.error] * len(batch)
        if len(found) != len(batch):
            return [
                ValueError(f"score_batch returned {len(found)} results for {len(batch)} pairs.")
            ] * len(batch)
        return list(found)

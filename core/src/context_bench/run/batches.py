"""Batches of rows for an executor: what is sent to a worker, and what comes back.

A worker is pure: it receives a batch of jobs and returns their rows. It knows nothing of the run
file, of the order of rows, of limits or of other batches. Identities and response keys come from
the driver, which alone commits.

A batch that a worker did not survive is sent once more, and then row by row. A row that workers do
not survive either is sent alone at last, with nothing else in flight, so that no row fails for what
another one beside it did. The row that no worker survives has failed, and the others are done.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from attrs import evolve, frozen

from context_bench.protocols import Executor
from context_bench.redaction import Redactor
from context_bench.run.jobs import Job, LabelWiring, Scorer
from context_bench.run.processor import RowProcessor
from context_bench.run.systems import is_async, resources_of
from context_bench.store.keys import RowId
from context_bench.store.rows import StoredRow

_PROTOCOL = 5
_BATCH_SECONDS = 0.1
"""Seconds that a batch should take a worker: the hand-over is then next to nothing, and little is
repeated when a worker dies."""

_FIRST_SIZE = 8
LARGEST = 256
"""Rows of a batch at most."""

_ATTEMPTS = 2
"""How often a batch is sent, then each of its rows, and then a row alone."""

_WEIGHT = 0.5
"""Weight of the last batch in the seconds that a row of a system takes."""


@frozen
class SentJob:
    """A job as a worker receives it.

    Attributes:
        id, key, input_tokens, example_key, example, shown, output, latency, agrees, unscored: As in
            :class:`~context_bench.run.jobs.Job`.
        slot: Number of the system.
        label: Number of the label.
        only: Numbers of the evaluators that score a stored response; None for a new one.
    """

    id: RowId
    slot: int
    label: int
    example: Mapping[str, Any]
    key: bytes
    input_tokens: int
    example_key: bytes
    output: Mapping[str, Any] | None
    latency: float
    only: tuple[int, ...] | None
    agrees: bool
    unscored: str | None
    shown: Mapping[str, Any] | None


@frozen
class SentLabel:
    """The wiring of a label as a worker receives it: scorers without their evaluators.

    Attributes:
        versions: Versions of the scorers' packages and of what these require, at the driver.
    """

    number: int
    label: str
    primary: str | None
    scorers: tuple[Scorer, ...]
    versions: Mapping[str, str | None]

    @property
    def packages(self) -> list[str]:
        """The packages of the scorers."""
        return packages_of(self.scorers)


def packages_of(scorers: Iterable[Scorer]) -> list[str]:
    """Return the names of the scorers' packages."""
    return sorted({scorer.id.partition("/")[0] for scorer in scorers})


@frozen
class Outcome:
    """What a worker returns of a batch.

    Attributes:
        rows: The rows in the order of the jobs; None for a job that the driver must do itself.
        seconds: What the batch took.
        seen: Text fields that an output had.
    """

    rows: Sequence[StoredRow | None]
    seconds: float
    seen: Collection[str]


class LostWorkerError(Exception):
    """A row that no worker survived."""


class _Traffic:
    """Lets batches be in flight together, or a row alone."""

    def __init__(self) -> None:
        self._change = asyncio.Condition()
        self._in_flight = 0
        self._is_closed = False

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Be in flight beside others; wait while a row is alone."""
        async with self._change:
            await self._change.wait_for(lambda: not self._is_closed)
            self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1
            await self._notify()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be in flight alone; wait until the others have ended."""
        async with self._change:
            await self._change.wait_for(lambda: not self._is_closed)
            self._is_closed = True
        try:
            async with self._change:
                await self._change.wait_for(lambda: not self._in_flight)
            yield
        finally:
            self._is_closed = False
            await self._notify()

    async def _notify(self) -> None:
        async with self._change:
            self._change.notify_all()


class Batches:
    """The rows of a run that an executor does.

    Args:
        executor: The executor.
        function: What a worker calls with ``setup`` and a batch; both are bytes, and so is what it
            returns.
        setup: What a worker needs to build the components.
        slots: Numbers of the systems that workers can build.
        evaluators: Ids of the evaluators that workers can build.
        processor: Does what cannot be sent, and makes rows of what is lost.
        redactor: Takes secrets out of what workers return: they do not know them.
        versions: Returns the versions of packages, and of what they require.
    """

    def __init__(
        self,
        executor: Executor,
        function: Callable[[bytes, bytes], bytes],
        setup: bytes,
        *,
        slots: Collection[int],
        evaluators: Collection[str],
        processor: RowProcessor,
        redactor: Redactor,
        versions: Callable[[Sequence[str]], Mapping[str, str | None]],
    ) -> None:
        self.places = 2 * executor.slots
        self.window = self.places * LARGEST
        self._executor = executor
        self._function = function
        self._setup = setup
        self._slots = set(slots)
        self._evaluators = set(evaluators)
        self._processor = processor
        self._redactor = redactor
        self._versions = versions
        self._traffic = _Traffic()
        self._resources: dict[int, Mapping[str, float]] = {}
        self._local: set[RowId] = set()
        self._seconds: dict[int, float] = {}
        self._labels: dict[LabelWiring, tuple[bool, bytes]] = {}

    def takes(self, job: Job) -> bool:
        """Whether an executor can do a job: workers can build its system, if that is called, and
        its evaluators."""
        if job.transcript is not None or type(job) is not Job or job.id in self._local:
            return False
        if job.output is None and (job.slot.number not in self._slots or is_async(job.slot)):
            return False
        return self._label(job.wiring)[0]

    def resources(self, job: Job) -> Mapping[str, float]:
        """Return what a job needs of a worker; nothing where its response is only scored."""
        if job.output is not None:
            return {}
        if job.slot.number not in self._resources:
            self._resources[job.slot.number] = resources_of(job.slot.system)
        return self._resources[job.slot.number]

    def size(self, job: Job) -> int:
        """Return how many rows like this one a batch should have."""
        seconds = self._seconds.get(job.slot.number)
        if seconds is None:
            return _FIRST_SIZE
        return max(1, min(LARGEST, int(_BATCH_SECONDS / max(seconds, 1e-6))))

    async def rows(self, jobs: Sequence[Job]) -> list[StoredRow]:
        """Return the rows of jobs with equal needs, but for those that the driver must do
        itself."""
        outcome = await self._outcome(jobs)
        if outcome is None and len(jobs) > 1:
            rows: list[StoredRow] = []
            for job in jobs:
                rows += await self.rows([job])
            return rows
        if outcome is None:
            outcome = await self._outcome(jobs, is_alone=True)
        if outcome is None:
            error = LostWorkerError("each worker that was given this row ended while it did it.")
            return [self._processor.failed(jobs[0], error, 0.0)]
        self._note(jobs, outcome)
        done = []
        for job, row in zip(jobs, outcome.rows, strict=True):
            if row is None or self._holds_secret(row):
                self._local.add(job.id)
            else:
                done.append(self._without_secrets(row))
        return done

    def close(self) -> None:
        """End the workers."""
        self._executor.close()

    def _label(self, wiring: LabelWiring) -> tuple[bool, bytes]:
        """Return whether workers can build the evaluators of a label, and the label as it is
        sent."""
        if wiring not in self._labels:
            is_known = all(scorer.id in self._evaluators for scorer in wiring.scorers)
            sent = b""
            if is_known:
                without: Any = None  # each worker builds its own
                scorers = [
                    evolve(scorer, evaluator=without, provenance={}) for scorer in wiring.scorers
                ]
                label = SentLabel(
                    number=wiring.number,
                    label=wiring.label,
                    primary=wiring.primary,
                    scorers=tuple(scorers),
                    versions=self._versions(packages_of(scorers)),
                )
                sent = pickle.dumps(label, _PROTOCOL)
            self._labels[wiring] = (is_known, sent)
        return self._labels[wiring]

    async def _outcome(self, jobs: Sequence[Job], *, is_alone: bool = False) -> Outcome | None:
        """Return what a worker returns of jobs; None where no worker survived them.

        Raises:
            Exception: A worker cannot build the components, or the executor cannot be used.
        """
        labels = {job.wiring.number: self._label(job.wiring)[1] for job in jobs}
        batch = pickle.dumps((labels, [_sent(job) for job in jobs]), _PROTOCOL)
        traffic = self._traffic.alone if is_alone else self._traffic.together
        for _ in range(_ATTEMPTS):
            async with traffic():
                result = await self._result(batch, self.resources(jobs[0]))
            if result is not None:
                outcome: Outcome = pickle.loads(result)
                return outcome
        return None

    async def _result(self, batch: bytes, resources: Mapping[str, float]) -> bytes | None:
        """Return what a worker returns of a batch; None where it did not survive."""
        future = self._executor.submit(self._function, self._setup, batch, resources=resources)
        try:
            result: bytes = await asyncio.wrap_future(future)
        except self._executor.lost:
            return None
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():  # else the run has ended
                raise RuntimeError("The executor cancelled a batch.") from None
            raise
        return result

    def _note(self, jobs: Sequence[Job], outcome: Outcome) -> None:
        seconds = outcome.seconds / len(jobs)
        for number in {job.slot.number for job in jobs}:
            earlier = self._seconds.get(number, seconds)
            self._seconds[number] = earlier + _WEIGHT * (seconds - earlier)
        self._processor.unseen.difference_update(outcome.seen)

    def _holds_secret(self, row: StoredRow) -> bool:
        if not self._redactor:
            return False
        texts = [row.output, row.measured, *(item.details for item in row.evaluations)]
        return any(text is not None and self._redactor.contains_secret(text) for text in texts)

    def _without_secrets(self, row: StoredRow) -> StoredRow:
        if not self._redactor or not row.failures:
            return row
        hide = self._redactor.of
        row.failures = [
            (
                number,
                evolve(failure, message=hide(failure.message), traceback=hide(failure.traceback)),
            )
            for number, failure in row.failures
        ]
        return row


def _sent(job: Job) -> SentJob:
    return SentJob(
        id=job.id,
        slot=job.slot.number,
        label=job.wiring.number,
        example=job.example,
        key=job.key,
        input_tokens=job.input_tokens,
        example_key=job.example_key,
        output=job.output,
        latency=job.latency,
        only=None if job.only is None else tuple(scorer.number for scorer in job.only),
        agrees=job.agrees,
        unscored=job.unscored,
        shown=None if job.shown is job.example else job.shown,
    )

"""Rows of a run: the evaluators that score a row, its job, and the answer of its system."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve, frozen

from context_bench.errors import NothingToCompressError
from context_bench.prompts import NONE, context_role
from context_bench.protocols import Evaluator
from context_bench.records import ANY_KEY, KeyMeaning, Usage
from context_bench.run.cores import usable_cores
from context_bench.run.systems import RunSystem, async_method, is_async
from context_bench.store.encoding import isolate
from context_bench.store.keys import RowId, agreement_key, example_key
from context_bench.store.rows import StoredExample

if TYPE_CHECKING:
    from context_bench.run.conversation import Transcript

_WORTH_A_PROCESS = 0.3
_WORTH_SENDING = 0.0005


class CpuCost:
    """What an evaluator has cost this process, so that children are started only where that pays.

    A child takes about half a second of a processor to start, so nearly as much must have been
    spent. A row must cost more than sending it to the child, and there must be a processor for it.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rows = 0
        self._cores: int | None = None

    def add(self, seconds: float) -> None:
        """Count a row, with the seconds of the processor that it took."""
        self.seconds += seconds
        self.rows += 1

    @property
    def is_high(self) -> bool:
        """Whether its rows are better scored in other processes."""
        if self.seconds <= max(_WORTH_A_PROCESS, _WORTH_SENDING * self.rows):
            return False
        if self._cores is None:
            self._cores = usable_cores()
        return self._cores > 1


@frozen(eq=False)
class Scorer:
    """An evaluator of a run.

    Attributes:
        number: Its number in the run.
        id: Canonical id, or the dotted name of a class of the user's.
        evaluator: The evaluator.
        key: Its key.
        needs: Fields that it requires, by ``original`` and ``processed``.
        reads: Fields of the example that it reads; None means all.
        prefix: Prefix of its keys in the row.
        yields: Keys (with prefix) that it leaves to another evaluator.
        deterministic: Whether a second call returns the same; if not, rows that it left unscored
            are worth another try.
        cpu_bound: Whether it runs in other processes, once it has cost enough.
        cost: What it has cost.
        keys: What its declared keys mean; empty when it declares none.
        ranges: Minimum and maximum of each declared key (with prefix; None for no bound); empty
            when nothing is declared.
        provenance: What the run file records about it.
        agrees: Whether it compares responses with the reference's response instead of a gold
            answer.
    """

    number: int
    id: str
    evaluator: Evaluator
    key: bytes
    needs: Mapping[str, tuple[str, ...]] = Factory(dict)
    reads: tuple[str, ...] | None = None
    prefix: str = ""
    yields: frozenset[str] = frozenset()
    deterministic: bool = True
    cpu_bound: bool = False
    keys: Mapping[str, KeyMeaning] = Factory(dict)
    provenance: Mapping[str, Any] = Factory(dict)
    agrees: bool = False
    ranges: Mapping[str, tuple[float | None, float | None]] = Factory(dict)
    cost: CpuCost = Factory(CpuCost)

    def prefixed(self, prefix: str) -> Scorer:
        """Return it with a prefix before all of its keys."""
        keys = {prefix + key: meaning for key, meaning in self.keys.items()}
        ranges = {prefix + key: bounds for key, bounds in self.ranges.items()}
        yields = frozenset(prefix + key for key in self.yields)
        return evolve(self, prefix=prefix + self.prefix, yields=yields, keys=keys, ranges=ranges)


@frozen(eq=False)
class LabelWiring:
    """The scorers of the rows of one label.

    Attributes:
        number: Number of the label in the run.
        label: The label.
        scorers: The scorers of its rows.
        primary: Key of the primary score; None while it is unknown.
        plan: The wiring plan as JSON-like values.
    """

    number: int
    label: str
    scorers: tuple[Scorer, ...] = ()
    primary: str | None = None
    plan: Mapping[str, Any] = Factory(dict)

    def without_reference(self) -> LabelWiring:
        """Return it without the scorers that wait for the reference's response."""
        if not any(scorer.agrees for scorer in self.scorers):
            return self
        return evolve(self, scorers=tuple(scorer for scorer in self.scorers if not scorer.agrees))

    def numbered(self, numbers: Collection[int]) -> tuple[Scorer, ...]:
        """Return the scorers with these numbers."""
        return tuple(scorer for scorer in self.scorers if scorer.number in numbers)

    @property
    def keys(self) -> dict[str, KeyMeaning]:
        """What the keys of these rows mean."""
        meanings: dict[str, KeyMeaning] = {}
        for scorer in self.scorers:
            meanings.update(scorer.keys)
        if any(not scorer.keys for scorer in self.scorers):
            meanings[ANY_KEY] = KeyMeaning(ANY_KEY)
        return meanings


def takes_batches(scorer: Scorer) -> bool:
    """Whether an evaluator scores many rows at once."""
    return callable(getattr(scorer.evaluator, "score_batch", None))


def is_slow(scorer: Scorer, is_timed: bool = True) -> bool:
    """Whether a scorer scores after the commit.

    It does so when it is async, takes batches, or costs enough for other processes.

    Args:
        scorer: The scorer.
        is_timed: Whether its time is limited, which takes a process that can be killed.
    """
    if scorer.cpu_bound:
        return is_timed or scorer.cost.is_high
    return takes_batches(scorer) or async_method(scorer.evaluator, "score") is not None


@frozen
class FailedAttempt:
    """A call that failed and is to be repeated.

    Attributes:
        error: The error that the system raised.
        began: Start of the call, by the monotonic clock.
        sent: The same by the performance counter.
        seconds: Duration of the call.
    """

    error: BaseException
    began: float
    sent: float
    seconds: float


@define(eq=False)  # one for every row: a frozen one takes three times as long to create
class Job:
    """A row to answer and to score.

    Attributes:
        id: Its identity.
        slot: Its system.
        wiring: The scorers of its label.
        example: The example. All jobs of its position share it, so plugins receive copies only.
        key: Its response key.
        input_tokens: Tokens of the text that the system receives.
        example_key: Key of the whole example.
        stored: The example as it is to be written, when this job is the first of its position.
        output: A response from an earlier run, to be scored without a call of the system.
        latency: Seconds of the earlier response.
        only: Scorers to run on a response that is stored already; None runs them all on a new one.
        transcript: The answered turns, when the example is a conversation and its system has a
            method for conversations.
        agrees: Whether the example's answer is another system's response.
        unscored: Why no evaluator can score it; None when one can.
        shown: What its system receives of the example; None for all of it.
        failed_attempt: The first call of its system, when that failed on the caller's thread and
            is to be repeated.
    """

    id: RowId
    slot: RunSystem
    wiring: LabelWiring
    example: Mapping[str, Any]
    key: bytes
    input_tokens: int
    example_key: bytes
    stored: StoredExample | None = None
    output: Mapping[str, Any] | None = None
    latency: float = 0.0
    only: tuple[Scorer, ...] | None = None
    transcript: Transcript | None = None
    agrees: bool = False
    unscored: str | None = None
    shown: Mapping[str, Any] | None = None
    failed_attempt: FailedAttempt | None = None

    @property
    def system_input(self) -> Any:
        """A private copy of what the system receives."""
        return isolate(self.example if self.shown is None else self.shown)

    def require_context(self) -> None:
        """Check that a compressor has a context to compress.

        Raises:
            NothingToCompressError: The example has none.
        """
        if self.slot.is_compressor and context_role(self.example) == NONE:
            raise NothingToCompressError(self.slot.label, "this example")

    def call_system(self) -> Any:
        """Call the system with a private copy of the example, and return its output."""
        self.require_context()
        system: Any = self.slot.system
        if self.transcript is None:
            return system.process(self.system_input)
        return system.converse(self.system_input, self.transcript)

    def call_async_system(self) -> Any:
        """Call an async system; return its output, or what is awaited for it."""
        self.require_context()
        system: Any = self.slot.system
        if self.transcript is None:
            process = getattr(system, "aprocess", None) or system.process
            return process(self.system_input)
        return system.aconverse(self.system_input, self.transcript)

    @property
    def turns(self) -> int:
        """How many turns of its conversation are stored."""
        return 0 if self.transcript is None else self.transcript.length

    def gold_key(self, reads: tuple[str, ...] | None) -> bytes:
        """Return the key of the fields that an evaluator compares the output with."""
        key = self.example_key if reads is None else example_key(self.example, reads)
        return agreement_key(key) if self.agrees else key


def scorers_of(job: Job) -> Sequence[Scorer]:
    """Return the scorers that are to score a job."""
    return job.wiring.scorers if job.only is None else job.only


def slow_scorers(job: Job, is_timed: bool = False) -> list[Scorer]:
    """Return the scorers that score a job after its commit."""
    return [scorer for scorer in scorers_of(job) if is_slow(scorer, is_timed)]


def needs_concurrency(job: Job) -> bool:
    """Whether a job cannot run on the caller's thread."""
    return (job.output is None and is_async(job.slot)) or bool(slow_scorers(job))


@define(eq=False)
class Measured:
    """What is recorded about a call, apart from the response.

    Attributes:
        latency: Seconds from the sending of the first attempt to the answer.
        attempts: How often the system was called.
        rest: JSON of response headers, the time to the first token and their like, or None. If it
            is not empty, it contains ``waiting``: the seconds for which the endpoint delayed the
            row - refused attempts, pauses and rates, also before the first sending; and
            ``attempt_latency``, those of the answered attempt, where it was not the first.
        system_latency: Seconds that the system took without its model, or None.
    """

    latency: float
    attempts: int = 1
    rest: str | None = None
    system_latency: float | None = None


@define(eq=False)
class Answer:
    """The response of a system.

    Attributes:
        output: What it returned, without what it measured.
        text: The output as JSON.
        digest: The output's content hash.
        measured: What was measured about the call.
        usage: The usage that it reported.
        response_tokens: Tokens of the response, reported or counted.
        context_tokens: Tokens of the context, reported or counted.
    """

    output: Mapping[str, Any]
    text: str
    digest: bytes
    measured: Measured
    usage: Usage | None = None
    response_tokens: int = 0
    context_tokens: int | None = None


@define(eq=False)
class Timing:
    """When an output arrived.

    Attributes:
        seconds: Seconds of the attempt that was answered, by the clock.
        attempts: How often the runner called the system.
        before: Seconds from the sending of the first attempt to that of the answered one.
        waiting: Seconds of waiting for the endpoint, including those of ``before``.
    """

    seconds: float
    attempts: int = 1
    before: float = 0.0
    waiting: float = 0.0


def reported_cost(
    usage: Usage | None, models: Iterable[str | None]
) -> tuple[float | None, str | None]:
    """Return the cost that an endpoint reported, as ``"reported"``; None twice without one."""
    cost = None if usage is None else usage.cost
    return (None, None) if cost is None else (float(cost), "reported")

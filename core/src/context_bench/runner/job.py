"""A job: one row that is to be done, who scores it, and whether it needs lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import define

from context_bench.runner.parts import LabelWiring, Scorer, Slot, is_async, is_slow
from context_bench.store.encoding import isolate
from context_bench.store.identity import RowId
from context_bench.store.keys import agreement_key, example_key
from context_bench.store.stored_rows import StoredExample

if TYPE_CHECKING:
    from context_bench.runner.transcript import Transcript


@define(eq=False)  # one for every row: a frozen one takes three times as long to make
class Job:
    """A row that is to be done.

    Attributes:
        id: Its identity.
        slot: Its system.
        wiring: Who scores it.
        example: The example; shared by all jobs of its position, so nobody is given it, only copies.
        key: Its response key.
        input_tokens: Tokens of the text that the system is given.
        example_key: Key of the whole example.
        stored: The example as it is to be written, when this job is the first of its position.
        output: A response from an earlier run, to be scored without asking the system.
        latency: What the earlier response took.
        only: Scorers to run on a response that is stored already; None runs them all on a new one.
        transcript: The answered turns, when the example is a conversation and its system is asked turn by turn.
        agrees: Whether the example's answer is another system's response.
        unscored: Why nobody can score it; None when they can.
        shown: What its system is given of the example; None for all of it.
    """

    id: RowId
    slot: Slot
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

    @property
    def given(self) -> Any:
        """A private copy of what the system is given."""
        return isolate(self.example if self.shown is None else self.shown)

    def ask(self) -> Any:
        """Return what the system says of a private copy of the example."""
        system: Any = self.slot.system
        if self.transcript is None:
            return system.process(self.given)
        return system.converse(self.given, self.transcript)

    def aask(self) -> Any:
        """Return what is awaited for it, or is the answer already, when the system is async."""
        system: Any = self.slot.system
        if self.transcript is None:
            return (getattr(system, "aprocess", None) or system.process)(self.given)
        return system.aconverse(self.given, self.transcript)

    @property
    def turns(self) -> int:
        """How many turns of its conversation are kept."""
        return 0 if self.transcript is None else self.transcript.length

    def gold_key(self, reads: tuple[str, ...] | None) -> bytes:
        """Return the key of what an evaluator that reads these fields holds the output against."""
        key = self.example_key if reads is None else example_key(self.example, reads)
        return agreement_key(key) if self.agrees else key


def scorers_of(job: Job) -> Sequence[Scorer]:
    """Return who is to score a job."""
    return job.wiring.scorers if job.only is None else job.only


def slow_scorers(job: Job, is_timed: bool = False) -> list[Scorer]:
    """Return who scores a job after its commit."""
    return [scorer for scorer in scorers_of(job) if is_slow(scorer, is_timed)]


def needs_lanes(job: Job) -> bool:
    """Whether a job is not to be done on the caller's thread."""
    return (job.output is None and is_async(job.slot)) or bool(slow_scorers(job))

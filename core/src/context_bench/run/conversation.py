"""Conversations: each answered turn is in the run file before the next one is asked, and each turn
is admitted as a call.

How a conversation is held is a package's: the hook ``drive_conversation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve

from context_bench.run.jobs import Job, Timing
from context_bench.run.processor import RowProcessor, take_apart
from context_bench.run.systems import RunSystem
from context_bench.store.encoding import from_json
from context_bench.store.keys import response_key
from context_bench.store.rows import StoredTurn
from context_bench.store.runfile import RunFile
from context_bench.store.tables import TurnColumns

if TYPE_CHECKING:
    from context_bench.run.admission import CallPermit


@define(eq=False)
class Conversations:
    """The conversations of a run.

    Attributes:
        drive: Returns what holds conversations with a system.
        store: Where their turns are kept.
        processor: Takes secrets out of what is kept.
    """

    drive: Callable[[Any], Any]
    store: RunFile
    processor: RowProcessor
    _slots: dict[int, RunSystem] = Factory(dict)

    def take(self, job: Job, seen: bytes) -> None:
        """Have a job asked as a conversation, given the key of its example as its system sees
        it."""
        slot = job.slot
        if slot.number not in self._slots:
            self._slots[slot.number] = evolve(slot, system=self.drive(slot.system))
        job.slot, job.transcript = self._slots[slot.number], Transcript(self, job, seen)


@define(eq=False)
class Transcript:
    """The answered turns of one row, in order; see :class:`~context_bench.protocols.Turns`.

    Attributes:
        run: Stores them.
        job: The row.
        seen: Key of the example as the system receives it.
        length: How many turns are stored.
        permit: Permit of the call in flight; None where calls need none.
    """

    run: Conversations
    job: Job
    seen: bytes
    length: int = 0
    permit: CallPermit | None = None
    _turns: list[TurnColumns] | None = None
    _is_over: bool = False
    _has_asked: bool = False

    def give_up(self) -> None:
        """Ask no further turn: the row's time is up."""
        self._is_over = True

    def recall(self, number: int, history: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return what this turn was answered when it was asked with this history; None when it is
        to be asked, and may be.

        For the first turn that is asked, the row itself was admitted.

        Raises:
            TimeoutError: The row's time is up.
            CallRefusedError: An extension does not let it be asked.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before its next turn.")
        if self._turns is None:
            self._turns = [] if self.run.store.is_new else self.run.store.turns(self.job.id)
        if number < len(self._turns) and self._turns[number].key == self._key(history):
            return self._said(self._turns[number])
        del self._turns[number:]
        if self.permit is not None and self._has_asked:
            self.permit.next_turn()
        self._has_asked = True
        return None

    def keep(
        self, number: int, history: Sequence[Any], found: Any, seconds: float
    ) -> Mapping[str, Any]:
        """Take the answer to a turn, and return it when it is safe.

        Raises:
            TimeoutError: The row's time is up, or the run has ended.
            StoreError: It cannot be written.
        """
        answer = self.run.processor.answer(*take_apart(found, Timing(seconds)))
        if self._is_over:
            raise TimeoutError("the row's time was up before this turn was answered.")
        measured = answer.measured
        turn = StoredTurn(
            row=self.job.id,
            turn=number,
            key=self._key(history),
            output=answer.text,
            latency=measured.latency,
            attempts=measured.attempts,
            measured=measured.rest,
        )
        self.run.store.keep_turn(turn)
        if self.permit is not None:
            self.permit.note(from_json(answer.text))
        assert self._turns is not None
        self._turns.append(turn)
        return self._said(turn)

    def _key(self, history: Sequence[Any]) -> bytes:
        return response_key(self.job.slot.key, self.seen, self.job.id.repetition, history)

    def _said(self, turn: TurnColumns) -> Mapping[str, Any]:
        """Return what the system said in a turn, with what was measured about the call."""
        self.length = turn.turn + 1
        told = {**from_json(turn.output), **from_json(turn.measured or "{}")}
        return {**told, "latency": turn.latency, "attempts": turn.attempts}

"""Conversations: each answered turn is stored before the next one is called, and each turn is
admitted as a call.

An extension drives a conversation (hook ``drive_conversation``).
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
        drive: Returns a system that drives conversations with another one.
        store: The run file, which receives their turns.
        processor: Removes secrets from answers.
    """

    drive: Callable[[Any], Any]
    store: RunFile
    processor: RowProcessor
    _systems: dict[int, RunSystem] = Factory(dict)

    def take(self, job: Job, seen: bytes) -> None:
        """Prepare a job whose example is a conversation.

        Args:
            job: The job.
            seen: Key of the example as the system receives it.
        """
        run_system = job.slot
        if run_system.number not in self._systems:
            system = self.drive(run_system.system)
            self._systems[run_system.number] = evolve(run_system, system=system)
        job.slot = self._systems[run_system.number]
        job.transcript = Transcript(self, job, seen)


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
    _has_called: bool = False

    def outputs(self) -> list[Mapping[str, Any]]:
        """Return what the system said in each answered turn."""
        return [from_json(turn.output) for turn in self._turns or ()]

    def give_up(self) -> None:
        """Call no further turn: the row's time is up."""
        self._is_over = True

    def recall(self, number: int, history: Sequence[Any]) -> Mapping[str, Any] | None:
        """Return the stored answer to this turn after this history; None when it is to be called.

        The admission of the row admits the first turn.

        Raises:
            TimeoutError: The row's time is up.
            CallRefusedError: An extension refuses the turn.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before its next turn.")
        if self._turns is None:
            self._turns = [] if self.run.store.is_new else self.run.store.turns(self.job.id)
        if number < len(self._turns) and self._turns[number].key == self._key(history):
            return self._said(self._turns[number])
        del self._turns[number:]
        if self.permit is not None and self._has_called:
            self.permit.next_turn()
        self._has_called = True
        return None

    def keep(
        self, number: int, history: Sequence[Any], result: Any, seconds: float
    ) -> Mapping[str, Any]:
        """Store the answer to a turn, and return it.

        Raises:
            TimeoutError: The row's time is up, or the run has ended.
            StoreError: It cannot be written.
        """
        output, measured = take_apart(result, Timing(seconds))
        answer = self.run.processor.answer(output, measured)
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
        output = {**from_json(turn.output), **from_json(turn.measured or "{}")}
        return {**output, "latency": turn.latency, "attempts": turn.attempts}

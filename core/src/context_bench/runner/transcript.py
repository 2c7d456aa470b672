"""Transcripts: the answered turns of a conversation, each of them in the run file before the next one is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from context_bench.secrecy import Secrecy
from context_bench.store.encoding import from_json, to_json
from context_bench.store.identity import RowId
from context_bench.store.keys import response_key
from context_bench.store.runfile import RunFile
from context_bench.store.stored_rows import StoredTurn

if TYPE_CHECKING:
    from context_bench.runner.admission import Place


class Transcripts:
    """Keeps the turns of a run's conversations.

    Args:
        store: Where they are kept; None keeps them for as long as the row is asked.
        secrecy: Takes secrets out of what is kept.
    """

    def __init__(self, store: RunFile | None = None, secrecy: Secrecy | None = None) -> None:
        self.secrecy = secrecy or Secrecy()
        self._store = store
        self._has_earlier = store is not None and store.has_turns
        self._is_closed = False
        self._lock = Lock()

    def of(self, row: RowId, system: bytes, example: bytes) -> Transcript:
        """Return the transcript of a row.

        Args:
            row: The row.
            system: Key of its system.
            example: Key of the example as the system sees it.
        """
        return Transcript(self, row, system, example)

    def close(self) -> None:
        """Keep nothing any more: the run has ended, whatever a call that hangs still brings."""
        with self._lock:
            self._is_closed = True

    def earlier(self, row: RowId) -> list[StoredTurn]:
        """Return the turns of a row that an earlier session kept."""
        return self._store.turns(row) if self._store is not None and self._has_earlier else []

    def keep(self, turn: StoredTurn) -> None:
        """Write a turn durably.

        Raises:
            TimeoutError: The run has ended.
            StoreError: It cannot be written.
        """
        with self._lock:
            if self._is_closed:
                raise TimeoutError("the run has ended.")
            if self._store is not None:
                self._store.keep_turn(turn)


class Transcript:
    """The answered turns of one row, in order. A turn that was answered once is not asked again."""

    def __init__(self, keeper: Transcripts, row: RowId, system: bytes, example: bytes) -> None:
        self._keeper, self._row, self._system, self._example = keeper, row, system, example
        self._turns: list[StoredTurn] | None = None
        self._is_over = False
        self._has_asked = False
        self.length = 0
        self.place: Place | None = None

    def give_up(self) -> None:
        """Ask no further turn: the row's time is up."""
        self._is_over = True

    def admit(self) -> None:
        """Return when the next turn may be asked; for the first one that is asked, the row itself was admitted.

        Raises:
            CallRefusedError: A governor of the run does not let it be asked.
        """
        if self.place is not None and self._has_asked:
            self.place.next_turn()
        self._has_asked = True

    def recall(self, number: int, history: Sequence[Any]) -> StoredTurn | None:
        """Return a turn that was answered with this history, or None.

        Raises:
            TimeoutError: The row's time is up.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before its next turn.")
        if self._turns is None:
            self._turns = self._keeper.earlier(self._row)
        if number < len(self._turns) and self._turns[number].key == self._key(history):
            self.length = number + 1
            return self._turns[number]
        del self._turns[number:]
        return None

    def keep(
        self, number: int, history: Sequence[Any], output: str, latency: float, attempts: int, measured: str | None
    ) -> StoredTurn:
        """Take a turn and return when it is safe.

        Raises:
            TimeoutError: The row's time is up, or the run has ended.
            StoreError: It cannot be written.
        """
        if self._is_over:
            raise TimeoutError("the row's time was up before this turn was answered.")
        secrecy = self._keeper.secrecy
        if secrecy.is_told_in(output):
            output = to_json(secrecy.of_answer(from_json(output)))
        if measured is not None and secrecy:
            measured = to_json(secrecy.of_all(from_json(measured)))
        turn = StoredTurn(self._row, number, self._key(history), output, latency, attempts, measured)
        self._keeper.keep(turn)
        if self.place is not None:
            self.place.note(from_json(output))
        assert self._turns is not None
        self._turns.append(turn)
        self.length = number + 1
        return turn

    def _key(self, history: Sequence[Any]) -> bytes:
        return response_key(self._system, self._example, self._row.sample, history)


def output_of(turn: StoredTurn) -> Mapping[str, Any]:
    """Return what the system said in a turn, with what was measured about the call."""
    measured = {} if turn.measured is None else from_json(turn.measured)
    return {**from_json(turn.output), **measured, "latency": turn.latency, "attempts": turn.attempts}

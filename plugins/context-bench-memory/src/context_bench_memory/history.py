"""The history itself in place of a memory: all of it, the latest sessions, or none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from context_bench_memory.adapter import MemoryAdapter
from context_bench_memory.sessions import id_of_turn, ids_of_turns


class History:
    """Gives back every turn of the latest sessions, whatever is asked: what a memory saves tokens against.

    A session begins with a line that tells its date; a turn is a line ``role: content``. Nothing is cut.

    >>> history = History()
    >>> history.reset()
    >>> history.ingest({"id": "1", "date": "2026-03-01", "turns": [{"role": "user", "content": "My cat is called Ada."}]})
    >>> print(history.query("What is the cat called?", "2026-03-02")["context"])
    Session of 2026-03-01
    user: My cat is called Ada.
    <BLANKLINE>
    The question is asked on 2026-03-02.

    Args:
        last: How many of the latest sessions; None for all, 0 for none.

    Raises:
        ValueError: ``last`` is below 0.
    """

    name = "whole-history"

    def __init__(self, last: int | None = None) -> None:
        if last is not None and (type(last) is not int or last < 0):
            raise ValueError(
                f"whole-history: last is {last!r}, and it must be a whole number of 0 or more."
            )
        self.last = last
        self._sessions: list[str] = []
        self._ids: list[list[str | None]] = []

    def reset(self) -> None:
        """Forget everything."""
        self._sessions = []
        self._ids = []

    def ingest(self, session: Mapping[str, Any]) -> None:
        """Remember a session."""
        date = session.get("date")
        heading = f"Session of {date}" if date else f"Session {len(self._sessions) + 1}"
        turns = [f"{turn['role']}: {turn['content']}" for turn in session["turns"]]
        self._sessions.append("\n".join([heading, *turns]))
        self._ids.append([id_of_turn(turn) for turn in session["turns"]])

    def query(self, question: str, date: str | None = None) -> dict[str, Any]:
        """Return ``context``: the sessions in their order, and the date on which the question is asked.

        Where the turns have ids, those of the returned ones are ``turn_ids``.
        """
        first = 0 if self.last is None else max(0, len(self._sessions) - self.last)
        parts = self._sessions[first:]
        if date:
            parts.append(f"The question is asked on {date}.")
        ids = [name for session in self._ids for name in session]
        skipped = sum(map(len, self._ids[:first]))
        return {
            "context": "\n\n".join(parts),
            **ids_of_turns(ids, range(skipped, len(ids))),
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change what is given back."""
        return {"last": self.last}


class HistorySystem(MemoryAdapter):
    """`History` as a system; put a reader behind it.

    Args:
        last: How many of the latest sessions; None for all, 0 for none.
    """

    def __init__(self, last: int | None = None) -> None:
        super().__init__(partial(History, last), ingest_once=True)

"""An in-process memory: every turn is kept, and those that fit a question best by BM25 are given back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

from context_bench_compress import bm25_scores, count_tokens, terms_of
from context_bench_memory.adapter import MemoryAdapter
from context_bench_memory.sessions import id_of_turn, ids_of_turns


class BM25Memory:
    """Keeps every turn as it was said. It calls no model and costs nothing: what a learned memory has to beat.

    A turn is given back as ``[date] role: content``, in the order in which the turns were said. A turn that shares no
    word with the question is never given back. Terms and scores are those of `BM25Passages`.

    >>> memory = BM25Memory(items=1)
    >>> memory.reset()
    >>> memory.ingest({"id": "1", "date": "2026-03-01", "turns": [{"role": "user", "content": "My cat is called Ada."}]})
    >>> memory.query("What is the cat called?")["context"]
    '[2026-03-01] user: My cat is called Ada.'

    Args:
        items: Maximum number of turns to return.
        tokens: Tokens that they may have together; None for no limit. The best go first, until one does not fit.
        k1: How much a repeated term counts.
        b: How much long turns are held back.

    Raises:
        ValueError: A number is out of its range.
    """

    name = "bm25-memory"

    def __init__(
        self, items: int = 10, tokens: int | None = None, k1: float = 1.5, b: float = 0.75
    ) -> None:
        for option, number in (("items", items), ("tokens", 1 if tokens is None else tokens)):
            if type(number) is not int or number < 1:
                raise ValueError(
                    f"bm25-memory: {option} is {number!r}, and it must be a whole number of 1 or more."
                )
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            raise ValueError(
                f"bm25-memory: k1 is {k1} and b is {b}; k1 must be 0 or more, and b from 0 to 1."
            )
        self.items = items
        self.tokens = tokens
        self.k1 = float(k1)
        self.b = float(b)
        self._turns: list[str] = []
        self._ids: list[str | None] = []

    def reset(self) -> None:
        """Forget everything."""
        self._turns = []
        self._ids = []

    def ingest(self, session: Mapping[str, Any]) -> None:
        """Remember the turns of a session."""
        date = f"[{session['date']}] " if session.get("date") else ""
        self._turns += [f"{date}{turn['role']}: {turn['content']}" for turn in session["turns"]]
        self._ids += [id_of_turn(turn) for turn in session["turns"]]

    def query(self, question: str) -> dict[str, Any]:
        """Return ``context``: the turns that fit the question best, in the order in which they were said.

        Where the turns have ids, those of the returned ones are ``turn_ids``.
        """
        scores = bm25_scores(
            [terms_of(turn) for turn in self._turns], terms_of(question), self.k1, self.b
        )
        ranked = sorted(
            (at for at, score in enumerate(scores) if score > 0), key=lambda at: (-scores[at], at)
        )
        kept: list[int] = []
        left = self.tokens
        for at in ranked[: self.items]:
            size = count_tokens(self._turns[at])
            if left is not None:
                if size > left:
                    break
                left -= size
            kept.append(at)
        kept.sort()
        ids = ids_of_turns(self._ids, kept)
        return {"context": "\n".join(self._turns[at] for at in kept), **ids}

    def fingerprint(self) -> dict[str, Any]:
        """Return what can change what is given back."""
        return {
            "items": self.items,
            "tokens": self.tokens,
            "k1": self.k1,
            "b": self.b,
            "ranker": f"bm25s {version('bm25s')}",
        }


class BM25MemorySystem(MemoryAdapter):
    """`BM25Memory` as a system; put a reader behind it.

    Args:
        items: Maximum number of turns to return.
        tokens: Tokens that they may have together; None for no limit.
        k1: How much a repeated term counts.
        b: How much long turns are held back.
    """

    def __init__(
        self, items: int = 10, tokens: int | None = None, k1: float = 1.5, b: float = 0.75
    ) -> None:
        super().__init__(partial(BM25Memory, items, tokens, k1, b), ingest_once=True)

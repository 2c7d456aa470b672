"""Replies that were paid for once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench_openai import ChatReply

_FIELDS = ("text", "usage", "finish_reason", "model", "refusal", "reasoning")


class ReplyCache:
    """A file of replies by endpoint, model, messages and parameters.

    Failures and refused requests are not kept, and no replies to a question that ended without one that can be read.

    Two models, or two endpoints, never share an entry. Threads may share a cache, and so may processes.

    Args:
        path: The file; it is made when it is not there.
    """

    def __init__(self, path: str | Path) -> None:
        self._file: sqlite3.Connection | None = None
        self.path = Path(path)
        self._lock = threading.Lock()

    @staticmethod
    def key(
        identity: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        parameters: Mapping[str, Any],
    ) -> str:
        """Return the key of a request.

        Args:
            identity: Endpoint and model, and what else makes the judge what it is.
            messages: The messages.
            parameters: Further fields of the request.
        """
        told = {"judge": identity, "messages": list(messages), "parameters": parameters}
        text = json.dumps(told, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def get(self, key: str) -> ChatReply | None:
        """Return the reply under a key, with no latency and no attempt: nobody was asked."""
        with self._lock:
            row = (
                self._opened().execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
            )
        return None if row is None else ChatReply(**json.loads(row[0]), is_cached=True)

    def put(self, key: str, reply: ChatReply) -> None:
        """Keep a reply."""
        kept = {name: getattr(reply, name) for name in _FIELDS}
        text = json.dumps({**kept, "usage": dict(reply.usage)})
        with self._lock, self._opened() as file:
            file.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, text))

    def forget(self, keys: Iterable[str]) -> None:
        """Keep some replies no longer: their requests are asked again."""
        with self._lock, self._opened() as file:
            file.executemany("DELETE FROM replies WHERE key = ?", [(key,) for key in keys])

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _opened(self) -> sqlite3.Connection:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
            )
        return self._file

    def __reduce__(self) -> tuple[Any, ...]:
        return ReplyCache, (str(self.path),)

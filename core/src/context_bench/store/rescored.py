"""A rescoring on its way: new scores are gathered in a draft beside the run file, and replace the old ones all at once.

The draft is a copy of the run file. So whatever ends a rescoring, the run file shows what it showed before; the same
rescoring, begun again, goes on in the draft. SQLite's backup puts the finished draft in the place of what the run file
held, in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError
from context_bench.store.connection import writing
from context_bench.store.encoding import digest
from context_bench.store.lock import SessionLock
from context_bench.store.reader import RunReader, draft_of
from context_bench.store.runfile import RunFile


class Rescoring:
    """A session that gives a finished run new scores.

    Args:
        path: The run file.
        asked: What is asked for; a draft of anything else is thrown away.

    Attributes:
        store: The draft, which new scores are written into.

    Raises:
        StoreError: The run file cannot be used, or another session writes into it.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        with closing(RunReader(path)):
            self._lock = SessionLock(path)
        try:
            self._path, self._draft = path, draft_of(path)
            wanted = digest(_state(path), asked).hex()
            if not self._draft.exists() or self._purpose() != wanted:
                self._begin(wanted)
            self.store = RunFile(self._draft)
            self.store.begin(None)
        except (OSError, sqlite3.Error) as error:
            self._lock.release()
            raise StoreError(f"The run file {path} cannot be copied for its rescoring: {error}.") from error
        except BaseException:
            self._lock.release()
            raise

    def publish(self) -> None:
        """Put the new scores in the place of the old ones, all at once, and end the session."""
        self.store.drop_fact("draft")
        try:
            with closing(writing(self._path)) as target:
                self.store.copy_into(target)
        except sqlite3.Error as error:
            raise StoreError(
                f"The run file {self._path} cannot be written: {error}. Its earlier scores stand."
            ) from error
        self.store.close()
        _remove(self._draft)
        RunFile(self._path, self._lock).seal()

    def leave(self) -> None:
        """End the session; a draft that was not published is kept for the next one."""
        self.store.close()
        self._lock.release()

    def _purpose(self) -> str:
        try:
            with closing(RunReader(self._draft)) as reader:
                return reader.facts().get("draft", "")
        except StoreError:
            return ""

    def _begin(self, wanted: str) -> None:
        _remove(self._draft)
        new = self._draft.with_name(f".{self._draft.name}.new")
        _remove(new)
        with closing(sqlite3.connect(new)) as target:
            with closing(RunReader(self._path)) as reader, reader.snapshot() as source:
                source.backup(target)
            with target:
                target.execute("INSERT OR REPLACE INTO meta VALUES ('draft', ?)", (wanted,))
        os.replace(new, self._draft)


def _state(path: Path) -> list[int]:
    """Return what is another after any session that wrote into the run file."""
    files = (path, path.with_name(f"{path.name}-wal"))
    found = [os.stat(file) for file in files if file.exists()]
    return [number for one in found if one.st_size for number in (one.st_size, one.st_mtime_ns)]


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)

"""Responses of earlier runs, found by their key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import finalize

from context_bench.errors import StoreError
from context_bench.store.encoding import from_json


class EarlierResponses:
    """Finds a response in earlier run files by its key.

    Only systems that tell their fingerprint take part: the key of any other is valid in its own run alone. A response is
    an answer; failures are never found.

    Args:
        files: Run files, the most trusted first.

    Raises:
        StoreError: A file cannot be read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._index: dict[bytes, tuple[int, int]] = {}
        self._connections: list[sqlite3.Connection] = []
        for path in files:
            self._add(path)

    def __len__(self) -> int:
        return len(self._index)

    def _add(self, path: Path) -> None:
        query = "SELECT responses.key, responses.id FROM responses JOIN systems USING (slot) WHERE shared"
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            finalize(self, connection.close)
            number = len(self._connections)
            self._connections.append(connection)
            for key, row in connection.execute(query):
                self._index.setdefault(key, (number, row))
        except sqlite3.Error as error:
            raise StoreError(f"The earlier run {path} cannot be read: {error}. Leave it out, or delete it.") from error

    def find(self, key: bytes) -> tuple[Mapping[str, Any], float] | None:
        """Return the output and latency of the response with this key, or None."""
        place = self._index.get(key)
        if place is None:
            return None
        number, row = place
        query = "SELECT output, latency FROM responses WHERE id = ?"
        found = self._connections[number].execute(query, (row,)).fetchone()
        return (from_json(found[0]), found[1]) if found else None


def run_files(places: Iterable[Path]) -> list[Path]:
    """Return the run files among files and folders, the newest of a folder first.

    Raises:
        StoreError: A place is not there.
    """
    files: list[Path] = []
    for place in places:
        if place.is_dir():
            files += sorted(place.glob("*.sqlite"), reverse=True)
        elif place.is_file():
            files.append(place)
        else:
            raise StoreError(f"There is no run file or folder {place} to reuse responses from.")
    return files

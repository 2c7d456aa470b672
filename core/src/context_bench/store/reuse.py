"""Responses of earlier runs, found by their key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError
from context_bench.store.questions import answer, shared_keys
from context_bench.store.reader import RunReader


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
        self._readers: list[RunReader] = []
        for path in files:
            try:
                reader = RunReader(path)
                for key, row in shared_keys(reader):
                    self._index.setdefault(key, (len(self._readers), row))
            except StoreError as error:
                raise StoreError(f"An earlier run cannot be reused: {error} Leave it out, or delete it.") from error
            self._readers.append(reader)

    def __len__(self) -> int:
        return len(self._index)

    def find(self, key: bytes) -> tuple[Mapping[str, Any], float] | None:
        """Return the output and latency of the response with this key, or None."""
        place = self._index.get(key)
        if place is None:
            return None
        number, row = place
        return answer(self._readers[number], row)

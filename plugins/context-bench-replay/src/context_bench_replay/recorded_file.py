"""A file of recorded responses, read once and looked up by id."""

from __future__ import annotations

import os
import threading
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from context_bench_local import read_records
from context_bench_replay.contents import Contents, Joining, join_key, read_contents
from context_bench_replay.dotted import kind_of

_COMPARED = (
    2_000  # ids among which a near one is looked for; it is done for every row that has no response
)


class RecordedFile:
    """Recorded outputs by id. Contents are read with the first output or fingerprint, by one thread.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: An option cannot be right.
    """

    def __init__(self, path: str | os.PathLike[str], joining: Joining) -> None:
        sample = joining.sample
        if sample is not None and sample < 0:
            raise ValueError(f"sample is {sample}; give a number, counted from 0.")
        read_records(
            path, **joining.layout
        )  # looks at path and options; nothing is read before it is iterated
        self._path = Path(path).expanduser()
        if not self._path.is_file():
            raise ValueError(
                f"{path} must be a regular file: it is read twice, once for the fingerprint."
            )
        self._joining = joining
        self._lock = threading.Lock()
        self._contents: Contents | None = None
        self._fault: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordedFile, (self._path, self._joining)

    def output(self, identity: object) -> dict[str, Any]:
        """Return the recorded output of an id.

        Raises:
            LookupError: There is none; the message offers a near id.
            ValueError: The record holds no usable response, or the file cannot be read.
        """
        contents = self._contents or self._load()
        key = join_key(identity)
        if key is None:
            raise LookupError(
                f"The example's id must be text or a whole number and is {kind_of(identity)}."
            )
        entry = contents.entries.get(key)
        if entry is None:
            raise LookupError(self._absent(key, contents))
        if entry.output is None:
            raise ValueError(f"{self._path.name}, {entry.where}, id {key!r}: {entry.fault}")
        return entry.output

    def fingerprint(self) -> dict[str, Any]:
        """Return the digest of the contents, and how they are read."""
        contents = self._contents or self._load()
        return {
            "contents": contents.digest,
            "id_field": self._joining.id_field,
            "sample": self._joining.sample,
            "layout": dict(self._joining.layout),
        }

    def _load(self) -> Contents:
        with self._lock:
            if self._contents is None and self._fault is None:
                try:
                    self._contents = read_contents(self._path, self._joining)
                except (OSError, ValueError) as error:
                    self._fault = str(
                        error
                    )  # kept, so that a broken file is not read again for every row
            if self._contents is None:
                raise ValueError(self._fault)
            return self._contents

    def _absent(self, key: str, contents: Contents) -> str:
        if count := contents.counts.get(key):
            sample = self._joining.sample
            return f"{self._path.name} has {count} under the id {key!r}: there is no sample {sample}, counted from 0."
        known = contents.counts
        near = get_close_matches(key, islice(known, _COMPARED), n=1, cutoff=0.6)
        like = (
            f"The nearest is {near[0]!r}."
            if near
            else f"They look like {', '.join(map(repr, islice(known, 3)))}."
        )
        return (
            f"No response is recorded under the id {key!r}: {self._path.name} has {len(known)} ids in "
            f"{self._joining.id_field!r}. {like}"
        )

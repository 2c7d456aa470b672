"""Is a run file what was written: the seal, a check sum over a finished one, and whether what it holds fits together.

Rows have check sums of their own, but indexes, free pages and headers have none. The seal stands in the file itself, in
table ``meta``: a random name that occurs nowhere else, a colon, and the CRC-32 of the file in hexadecimal, computed with
dots in its place. A file that is written to has dots there until the run ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

from context_bench.errors import StoreError
from context_bench.store import questions
from context_bench.store.connection import Source
from context_bench.store.encoding import DIGEST_SIZE, from_json
from context_bench.store.keys import RowId, example_key, output_key
from context_bench.store.reader import RunReader

OPEN = "." * 8
_CHUNK = 1 << 20


def new_seal() -> str:
    """Return the open seal of a new file."""
    return f"{uuid4().hex}:{OPEN}"


def close_seal(path: Path, seal: str) -> None:
    """Put the check sum into a file that nobody has open and that has no write-ahead log.

    Raises:
        StoreError: The file does not hold the open seal.
    """
    place = _place(path, seal)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(_check_sum(path, place))
        file.flush()
        os.fsync(file.fileno())


def is_sealed(path: Path) -> bool:
    """Return whether a file is sealed; False means that its run has not ended, so that there is no seal to hold it to.

    Raises:
        StoreError: The file is not as it was when it was sealed.
    """
    with closing(Source(path)) as source:
        found = source.lines("SELECT value FROM meta WHERE name = 'seal'")
    if not found:
        raise StoreError(f"{path} is damaged: it has lost its seal.")
    seal = str(found[0][0])
    if seal.endswith(f":{OPEN}"):
        return False
    place = _place(path, seal)
    if _check_sum(path, place) != seal[-len(OPEN) :].encode():
        raise StoreError(f"{path} is damaged: it is not as it was when its run ended.")
    return True


def _place(path: Path, seal: str) -> int:
    """Return where in the file the check sum of a seal stands."""
    wanted = seal.encode("utf-8", "replace")
    before, start = b"", 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            block = before + chunk
            found = block.find(wanted)
            if found >= 0:
                return start + found + len(wanted) - len(OPEN)
            before = block[-len(wanted) :]
            start += len(block) - len(before)
    raise StoreError(f"{path} is damaged: its seal is not in its main file.")


def _check_sum(path: Path, place: int) -> bytes:
    check_sum = 0
    with path.open("rb") as file:
        while file.tell() < place:
            check_sum = crc32(file.read(min(_CHUNK, place - file.tell())), check_sum)
        check_sum = crc32(OPEN.encode(), check_sum)
        file.seek(place + len(OPEN))
        while chunk := file.read(_CHUNK):
            check_sum = crc32(chunk, check_sum)
    return b"%08x" % check_sum


_MOST = 20


def faults(reader: RunReader) -> Iterator[str]:
    """Yield what is wrong with a run file, a line each; the first damaged row ends it."""
    try:
        yield from (f"SQLite: {line}" for line in questions.faults_of_sqlite(reader, _MOST))
        with reader.snapshot():
            for _ in reader.rows():  # each is held against its check sum
                pass
            yield from _outputs(reader)
            yield from _examples(reader)
    except StoreError as error:
        yield str(error)


def _outputs(reader: RunReader) -> Iterator[str]:
    turns: dict[int, list[Any]] = {}
    for number in questions.conversations(reader):
        turns[number] = [from_json(turn.output)["response"] for turn in reader.turns(RowId.unpack(number))]
    for number, output, digest in questions.outputs(reader):
        found = from_json(output)
        if output_key(found) != digest:
            yield f"The output at {RowId.unpack(number)} is not the one that was hashed."
        if number in turns and turns[number] != found.get("turn_responses"):
            yield f"The turns at {RowId.unpack(number)} are not those of its response."


def _examples(reader: RunReader) -> Iterator[str]:
    content: dict[int, Any] = {}
    lengths: dict[int, int] = {}
    for number, _, _, digest, body in questions.examples(reader):
        dataset = RowId.unpack(number).dataset
        if dataset not in content:
            content[dataset] = blake2b(b"context-bench dataset 1", digest_size=DIGEST_SIZE)
        content[dataset].update(digest)
        lengths[dataset] = lengths.get(dataset, 0) + 1
        if body is not None and example_key(from_json(body)) != digest:
            yield f"The example at {RowId.unpack(number)} is not the one that was hashed."
    for entry in reader.datasets():
        number, length = entry["number"], entry["length"]
        if length is None:
            continue
        if length != lengths.get(number, 0):
            yield f"Dataset {entry['label']!r} had {length} examples, and {lengths.get(number, 0)} are here."
        elif length and content[number].digest() != entry["content"]:
            yield f"The examples of dataset {entry['label']!r} are not those that the run was given."

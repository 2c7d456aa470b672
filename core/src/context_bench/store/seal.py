"""The seal of a finished run file: a check sum over the whole file, so that damage anywhere in it is found.

Rows have check sums of their own, but indexes, free pages and headers have none. The seal stands in the file itself, in
table ``meta``: a random name that occurs nowhere else, a colon, and the CRC-32 of the file in hexadecimal, computed with
dots in its place. A file that is written to has dots there until the run ends.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from uuid import uuid4
from zlib import crc32

from context_bench.errors import StoreError
from context_bench.store.connection import Source

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

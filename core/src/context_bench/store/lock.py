"""The lock of a run file: who may write into it.

One process, and one thread of it, writes into a run file at a time.

The operating system holds the lock, so that the death of the process releases it. It stands on a
file beside the run file (``NAME.lock``, with the number of the process in it), because SQLite has
locks of its own on the run file itself. On a network file system a lock may not reach other
machines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from context_bench.errors import StoreError

_PATIENCE = 0.2
"""Seconds for which a lock is tried: whoever only asks who holds it has it for a moment."""
_BEHIND = 1 << 20
"""Where on Windows the locked byte lies: behind the text, which others may then read."""


class SessionLock:
    """The right to write into a run file, until it is given back or the process dies.

    Args:
        path: The run file; it need not be there yet.

    Raises:
        StoreError: Another session writes into it, or the folder cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self._file = _lock_file(path)
        deadline = monotonic() + _PATIENCE
        try:
            while (handle := _take(self._file)) is None:
                if monotonic() > deadline:
                    raise StoreError(
                        f"Another session writes into the run file {path}: "
                        f"{_named(_holder(self._file))}. Wait until it "
                        "has ended, or end it; what it has finished is kept."
                    )
                sleep(0.02)
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        except OSError as error:
            raise StoreError(
                f"The run file {path} cannot be locked, so nothing is written into it: {error}."
            ) from error
        self._handle: int | None = handle

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        handle = self._handle
        self._handle = None
        if handle is None:
            return
        if os.name == "nt":  # an open file cannot be removed there
            os.close(handle)
            with suppress(OSError):
                os.unlink(self._file)
        else:
            with suppress(OSError):  # the folder may be gone
                os.unlink(self._file)
            os.close(handle)


def writer_of(path: Path) -> int | None:
    """Return the number of the process that writes into a run file, 0 when it is unknown, and None
    when there is none."""
    file = _lock_file(path)
    try:
        handle = os.open(file, os.O_RDWR)
    except OSError:
        return None
    try:
        return None if _lock(handle) else _holder(file)
    finally:
        os.close(handle)


def refuse_where_locked(names: Iterable[str]) -> None:
    """Look at what a command was given, before anything is imported that takes long.

    Raises:
        StoreError: One of these is a run file, and another session writes into it.
    """
    for path in map(Path, names):
        if writer_of(path) is not None:
            SessionLock(path).release()  # it may have ended meanwhile


def _lock_file(path: Path) -> Path:
    path = Path(os.path.realpath(path))  # which no loop of links breaks
    return path.with_name(f"{path.name}.lock")


def _take(file: Path) -> int | None:
    """Return the locked file, or None while another has it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    is_ours = False
    try:
        is_ours = _lock(handle) and _is_still(handle, file)
    finally:
        if not is_ours:
            os.close(handle)
    return handle if is_ours else None


def _is_still(handle: int, file: Path) -> bool:
    """Whether a locked file still has its name: the one before us may have removed it in giving it
    back."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(file))
    except OSError:
        return False


def _lock(handle: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(handle, _BEHIND, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _holder(file: Path) -> int:
    try:
        text = file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    return int(text) if text.isdecimal() and len(text) < 12 else 0


def _named(process: int) -> str:
    if process == os.getpid():
        return (
            f"another thread of this process ({process}), or a result of it that is still open "
            "for writing"
        )
    return f"process {process}" if process else "a process that did not say its number"

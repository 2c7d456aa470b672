"""The mark of a run file: which installation wrote what the file asks for.

A run file may come from anybody. What it asks for - programs, addresses, consent - is taken as the
user's own word only where the file has the mark of this installation: an HMAC-SHA256 over the id of
the run and its configuration, with a key that lies in the user's data folder and that nobody else
can read.
"""

from __future__ import annotations

import hmac
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_bench.store.reader import RunReader

HOME_VARIABLE = "CONTEXT_BENCH_HOME"
MARK = "mark"
"""The name of the mark among the single facts of a run file."""

_KEY_FILE = "run-file.key"
_KEY_BYTES = 32
_PURPOSE = b"context-bench run file 1"


def data_folder() -> Path:
    """Return the folder for data of this user: ``CONTEXT_BENCH_HOME``, else the usual one of the
    system.

    Raises:
        RuntimeError: The user has no home directory.
    """
    if named := os.environ.get(HOME_VARIABLE):
        return Path(named)
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base or Path.home() / "AppData" / "Local") / "context-bench"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "context-bench"
    base = os.environ.get("XDG_DATA_HOME", "")
    return Path(base if os.path.isabs(base) else Path.home() / ".local" / "share") / "context-bench"


def mark_of(run: str, config: str) -> str | None:
    """Return the mark of a run with a configuration, written as JSON; None where no key can be
    stored.

    The first call creates the key.
    """
    key = _read_key() or _create_key()
    return None if key is None else _mark(key, run, config)


def is_own(reader: RunReader) -> bool:
    """Whether this installation wrote the configuration of a run file; no key is created."""
    key = _read_key()
    mark = reader.facts().get(MARK, "")
    if key is None or not mark:
        return False
    run, config = reader.configuration()
    return hmac.compare_digest(mark.encode(), _mark(key, run, config).encode())


def _mark(key: bytes, run: str, config: str) -> str:
    message = b"\0".join(part.encode("utf-8", "surrogatepass") for part in (run, config))
    return hmac.new(key, _PURPOSE + b"\0" + message, "sha256").hexdigest()


def _key_path() -> Path | None:
    try:
        return data_folder() / _KEY_FILE
    except RuntimeError:
        return None


def _read_key() -> bytes | None:
    """Return the key; None where there is none, or where another user could have read or written
    it."""
    path = _key_path()
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            state = os.fstat(file.fileno())
            key = file.read(_KEY_BYTES + 1)
    except OSError:
        return None
    if os.name != "nt" and (state.st_mode & 0o077 or state.st_uid != os.geteuid()):
        return None
    return key if len(key) == _KEY_BYTES else None


def _create_key() -> bytes | None:
    """Write a new key, whole or not at all, unless another process just has; return the one that
    lies there."""
    path = _key_path()
    if path is None:
        return None
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(_KEY_BYTES))
            with suppress(FileExistsError):
                os.link(new, path)
        finally:
            os.unlink(new)
    return _read_key()

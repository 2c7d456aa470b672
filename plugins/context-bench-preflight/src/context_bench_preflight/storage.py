"""Where runs are kept: what SQLite can do here, and whether the disk has room."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from context_bench_preflight.checks import ERROR, FINE, WARNING, Check

FOLDER = "runs"
_LITTLE = 1 << 30
_OLDEST = (3, 33, 0)  # `sqlite_schema`, which is what readers are told to look at


def sqlite_check() -> Check:
    """Return what there is to be said of the SQLite that Python was built with."""
    version = sqlite3.sqlite_version
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT json_extract('{\"a\": 1}', '$.a')").fetchone()
    except sqlite3.Error as error:
        return Check(
            "SQLite", ERROR, f"{version} lacks JSON functions, which run files need: {error}."
        )
    if sqlite3.sqlite_version_info < _OLDEST:
        return Check(
            "SQLite", ERROR, f"{version} is too old: run files need {'.'.join(map(str, _OLDEST))}."
        )
    return Check("SQLite", FINE, f"{version}, with JSON functions")


def disk_checks() -> Iterator[Check]:
    """Yield what there is to be said of the folder of run files, and of the one for temporary ones."""
    runs = Path(FOLDER)
    files = list(runs.glob("*.sqlite")) if runs.is_dir() else []
    held = (
        f"{len(files)} run file{'' if len(files) == 1 else 's'}, {_size(sum(map(_bytes, files)))}"
    )
    yield _folder(
        "runs", runs if runs.is_dir() else Path(), held if runs.is_dir() else "no folder runs yet"
    )
    yield _folder("temporary files", Path(tempfile.gettempdir()), "")


def _folder(subject: str, folder: Path, held: str) -> Check:
    about = f"{held}; " if held else ""
    try:
        free = shutil.disk_usage(folder).free
        with tempfile.TemporaryDirectory(dir=folder) as place:
            mode = _journal_mode(Path(place) / "trial.sqlite")
    except (OSError, sqlite3.Error) as error:
        return Check(subject, ERROR, f"{about}{folder.resolve()} cannot be written to: {error}.")
    if mode != "wal":
        told = f"{folder.resolve()} takes no write-ahead log (it is a network folder?): keep run files elsewhere (--run-file)."
        return Check(subject, ERROR, f"{about}{told}")
    state = FINE if free >= _LITTLE else WARNING
    return Check(subject, state, f"{about}{_size(free)} free in {folder.resolve()}")


def _journal_mode(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE trial (value)")
        [(mode,)] = connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("INSERT INTO trial VALUES (1)")
        connection.commit()
        return str(mode)


def _bytes(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _size(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"

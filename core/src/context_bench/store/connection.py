"""Connections to run files: one that writes, and one that only reads and trusts nothing that it finds.

A run file may come from anybody. Before any question is put to it, its tables, indexes and views are held against those
that we create: whatever else is there (a view, a trigger, a computed column) is refused. What then still does not fit -
a value of another type, a page that is damaged - is a :class:`~context_bench.errors.StoreError`, never a traceback.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock, local
from typing import Any

from context_bench.errors import ContextBenchError, StoreError
from context_bench.store.schema import SCHEMAS

LARGEST_VALUE = 1 << 29
"""Bytes of the largest value that is read from a run file."""

Values = tuple[Any, ...]

_DAMAGE = (sqlite3.Error, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
_ORDINARY = ("type", "name", "tbl_name", "sql")


class _Connection(sqlite3.Connection):
    """A connection that closes itself when nobody refers to it any more, as results do that go without a word."""

    def __del__(self) -> None:
        self.close()


class Further:
    """A mapping of integers that lies in a temporary file, for more of them than memory should hold. Nothing is taken out."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=_Connection)
        self._table.execute("PRAGMA synchronous = OFF")
        self._table.execute("CREATE TABLE held (number INTEGER PRIMARY KEY, value BLOB)")
        self._table.execute("BEGIN")

    def setdefault(self, number: int, value: int) -> int:
        """Return the value of a number; one without a value gets this one."""
        given = value.to_bytes(16, "big"), number
        if self._table.execute("INSERT OR IGNORE INTO held (value, number) VALUES (?, ?)", given).rowcount:
            return value
        (held,) = self._table.execute("SELECT value FROM held WHERE number = ?", (number,)).fetchone()
        return int.from_bytes(held, "big")


def writing(path: Path) -> sqlite3.Connection:
    """Open a run file for writing, with the write-ahead log that lets others read meanwhile."""
    connection = sqlite3.connect(path, check_same_thread=False, timeout=30.0, factory=_Connection)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA page_size = 8192")  # of a new file; a quarter cheaper for examples of 10 KiB
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Open:
    """One read-only connection of one thread. A snapshot that is open when the source is closed ends first."""

    def __init__(self, number: int, path: Path) -> None:
        self.number = number
        self.depth = 0
        self.is_over = False
        self.state = _state(path)
        self.is_frozen = not self.state[-1]
        self.connection = _reading(path, self.is_frozen)

    def close_soon(self) -> None:
        """Close the connection as soon as no snapshot is open: one that a thread is reading from must not be closed."""
        self.is_over = True
        if self.depth == 0:
            self.connection.close()


class Source:
    """Read-only connections to a run file, one for each thread that reads, opened when first needed and kept.

    A file without a write-ahead log is read as it lies, without locks and without any file beside it; that nobody changed
    it meanwhile is found out afterwards.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mine = local()
        self._all: list[_Open] = []
        self._count = 0
        self._lock = RLock()

    def close(self) -> None:
        """Close the connections; the next question opens one again."""
        with self._lock:
            for found in self._all:
                found.close_soon()
            self._all.clear()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Open a snapshot of the file: what is committed meanwhile is not seen. Snapshots within one another are one.

        Raises:
            StoreError: The file cannot be read, or holds what no run file holds.
        """
        with told_as_damage(self.path):
            mine = self._begin()
            try:
                yield mine.connection
            except GeneratorExit:  # nobody reads on; the garbage collector may have closed the connection already
                with suppress(sqlite3.Error, StoreError):
                    self._end(mine)
                raise
            except BaseException:
                self._end(mine)
                raise
            self._end(mine)

    def lines(self, query: str, values: Sequence[Any] = ()) -> list[Values]:
        """Return all lines of an SQL query."""
        with self.snapshot() as connection:
            return connection.execute(query, values).fetchall()

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[Values]:
        """Yield the lines of an SQL query over one snapshot of the file."""
        with self.snapshot() as connection:
            found = connection.execute(query, values)
            yield from iter(found.fetchone, None)  # not from the cursor: it cannot be closed after its connection

    def version(self) -> tuple[int, int]:
        """Return the number of this thread's connection, and what is another one after every change that it sees."""
        with self.snapshot() as connection:
            [(version,)] = connection.execute("PRAGMA data_version")
            return self._mine.open.number, version

    def _begin(self) -> _Open:
        with self._lock:
            mine: _Open | None = getattr(self._mine, "open", None)
            is_idle = mine is not None and not mine.is_over and mine.depth == 0
            if mine is not None and is_idle and mine.is_frozen and _state(self.path) != mine.state:
                mine.close_soon()
                self._all.remove(mine)
            if mine is None or mine.is_over:
                self._count += 1
                mine = _Open(self._count, self.path)
                self._mine.open = mine
                self._all.append(mine)
            if mine.depth == 0:
                mine.connection.execute("BEGIN")
            mine.depth += 1
            return mine

    def _end(self, mine: _Open) -> None:
        with self._lock:
            mine.depth -= 1
            if mine.depth == 0:
                mine.connection.rollback()
                is_changed = mine.is_frozen and _state(self.path) != mine.state
                if mine.is_over:
                    mine.connection.close()
                elif is_changed:
                    mine.close_soon()
                    self._all.remove(mine)
                if is_changed:
                    raise StoreError(f"The run file {self.path} was changed while it was read. Read it again.")


@contextmanager
def told_as_damage(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with foreign data into a StoreError that names the file."""
    try:
        yield
    except ContextBenchError:
        raise
    except sqlite3.OperationalError as error:
        raise StoreError(f"The run file {path} cannot be read: {error}.") from error
    except _DAMAGE as error:
        raise StoreError(
            f"{path} is no run file, or is damaged: {str(error).splitlines()[0] if str(error) else type(error).__name__}."
        ) from error


def check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a run file's format, after holding all that it defines against that format.

    Raises:
        StoreError: It was written in another format, or defines what no run file of ours does.
    """
    objects = connection.execute(f"SELECT {', '.join(_ORDINARY)} FROM sqlite_master").fetchall()
    if not any(line[:2] == ("table", "meta") for line in objects):
        raise StoreError(f"{path} is no run file: it has no table meta.")
    strange = [line for line in objects if line not in _every_object()]
    if strange:
        kind, name, *_ = strange[0]
        raise StoreError(
            f"{path} is not as context-bench writes it: its {kind} {str(name)[:60]!r} is none of a run file's. Nothing was "
            "read from it; remove what was added, or open it with the version of context-bench that wrote it."
        )
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    version = str(found[0]) if found else ""
    if not version.isdecimal() or int(version) not in SCHEMAS:
        raise StoreError(
            f"{path} has run-file format {version[:20] or 'none'}; this version reads {', '.join(map(str, SCHEMAS))}. "
            "Open it with the version of context-bench that wrote it."
        )
    missing = _objects(SCHEMAS[int(version)]) - set(objects)
    if missing:
        raise StoreError(f"{path} is damaged: it has no {' '.join(min(missing)[:2])}.")
    return int(version)


@lru_cache
def _every_object() -> frozenset[Values]:
    return frozenset().union(*map(_objects, SCHEMAS.values()))


@lru_cache
def _objects(tables: str) -> frozenset[Values]:
    """Return what a format defines, as SQLite tells it."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(tables)
    found = frozenset(connection.execute(f"SELECT {', '.join(_ORDINARY)} FROM sqlite_master").fetchall())
    connection.close()
    return found


def _state(path: Path) -> tuple[Any, ...]:
    """Return what changes when a file does; the last item says whether it has a write-ahead log with something in it."""
    try:
        found = os.stat(path)
    except OSError:
        raise missing(path) from None
    try:
        has_log = os.stat(f"{path}-wal").st_size > 0
    except OSError:
        has_log = False
    return found.st_ino, found.st_size, found.st_mtime_ns, has_log


def missing(path: Path) -> StoreError:
    """Return the error of a run file that is not there."""
    return StoreError(f"There is no run file {path}. `context-bench run` writes them to runs/.")


def _reading(path: Path, is_frozen: bool) -> sqlite3.Connection:
    if not path.is_file():
        raise missing(path)
    mode = "mode=ro&immutable=1" if is_frozen else "mode=ro"
    where = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(
        where, uri=True, check_same_thread=False, timeout=30.0, isolation_level=None, factory=_Connection
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        limit: Callable[[int, int], int] | None = getattr(connection, "setlimit", None)
        if limit is not None:  # since Python 3.11
            limit(0, LARGEST_VALUE)  # SQLITE_LIMIT_LENGTH
        check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection

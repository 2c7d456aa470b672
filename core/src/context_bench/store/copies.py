"""Copies: run files that hold what a store holds of a run, such as a database of a team.

The store has the truth of every commit, and numbers the commits. The writing session sends the
lines that a transaction changed to the store, before it commits them to its own copy. Every other
copy catches up by the number of its last commit, which is SQLite's ``user_version``. So queries and
readers know run files only.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from context_bench.errors import StoreError
from context_bench.protocols import Change, RunStore, TableLayout
from context_bench.store.lock import SessionLock
from context_bench.store.reader import writing
from context_bench.store.schema import APPLICATION_ID, create_statements
from context_bench.store.tables import ROW_TABLES

STORE, COPY, WRITER = "store", "copy", "writer"
"""Single facts of a copy that are not sent: the address of the run in its store, the identity of
the run there, and who writes into it elsewhere."""
_NOT_SENT = f"('{STORE}', '{COPY}', '{WRITER}')"

_LINES_AT_ONCE = 2_000


@cache
def layouts() -> tuple[TableLayout, ...]:
    """Return the tables of a run file."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in create_statements():
            connection.execute(statement)
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return tuple(_layout(connection, name) for (name,) in names)


def _layout(connection: sqlite3.Connection, name: str) -> TableLayout:
    columns = {}
    key = {}
    for _, column, kind, _, _, place in connection.execute(f"PRAGMA table_info({name})"):
        columns[column] = kind
        if place:
            key[place] = column
    computed = {table.name: table.computed for table in ROW_TABLES}.get(name, {})
    return TableLayout(name, columns, tuple(key[place] for place in sorted(key)), computed)


def track(connection: sqlite3.Connection) -> None:
    """Note from now on which lines a connection changes, in temporary tables of its own."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA recursive_triggers = ON")  # a line that REPLACE removes is noted too
    for table in layouts():
        columns = ", ".join(table.key)
        connection.execute(
            f"CREATE TEMP TABLE changed_{table.name} ({columns}, PRIMARY KEY ({columns})) "
            "WITHOUT ROWID"
        )
        for event, record in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            values = ", ".join(f"{record}.{column}" for column in table.key)
            connection.execute(
                f"CREATE TEMP TRIGGER changed_{table.name}_{event} AFTER {event} "
                f"ON main.{table.name} BEGIN "
                f"INSERT OR IGNORE INTO changed_{table.name} VALUES ({values}); END"
            )


def tracked(connection: sqlite3.Connection) -> list[Change]:
    """Return what a connection has changed since the last call, and forget it."""
    changes = []
    for table in layouts():
        keys = ", ".join(f"changed.{column}" for column in table.key)
        columns = ", ".join(f"line.{column}" for column in table.columns)
        equal = " AND ".join(f"line.{column} = changed.{column}" for column in table.key)
        found = connection.execute(
            f"SELECT {keys}, {columns} FROM temp.changed_{table.name} AS changed "
            f"LEFT JOIN main.{table.name} AS line ON {equal}"
        ).fetchall()
        if not found:
            continue
        connection.execute(f"DELETE FROM temp.changed_{table.name}")
        width = len(table.key)
        first = width + list(table.columns).index(table.key[0])
        lines = [line[width:] for line in found if line[first] is not None]
        removed = [line[:width] for line in found if line[first] is None]
        changes.append(Change(table, lines, removed))
    return changes


def everything(connection: sqlite3.Connection) -> Iterator[Change]:
    """Yield all lines of a run file that its store has."""
    for table in layouts():
        columns = ", ".join(table.columns)
        where = f"WHERE name NOT IN {_NOT_SENT}"
        cursor = connection.execute(
            f"SELECT {columns} FROM {table.name} {where if table.name == 'meta' else ''}"
        )
        while lines := cursor.fetchmany(_LINES_AT_ONCE):
            yield Change(table, lines)


def differences(path: Path, earlier: Path) -> Generator[Change, None, None]:
    """Yield what a store, which has one run file, lacks of another one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ATTACH DATABASE ? AS earlier", (str(earlier),))
        for table in layouts():
            new = ", ".join(f"line.{column}" for column in table.columns)
            old = ", ".join(f"old.{column}" for column in table.key)
            equal = " AND ".join(f"line.{column} = old.{column}" for column in table.key)
            same = " AND ".join(f"line.{column} IS old.{column}" for column in table.columns)
            line_table = f"main.{table.name} AS line"
            old_table = f"earlier.{table.name} AS old"
            first = table.key[0]
            not_sent = _NOT_SENT if table.name == "meta" else "()"
            lines = connection.execute(
                f"SELECT {new} FROM {line_table} LEFT JOIN {old_table} ON {equal} "
                f"WHERE NOT ({same}) AND line.{first} NOT IN {not_sent}"
            )
            while some := lines.fetchmany(_LINES_AT_ONCE):
                yield Change(table, some)
            removed = connection.execute(
                f"SELECT {old} FROM {old_table} LEFT JOIN {line_table} ON {equal} "
                f"WHERE line.{first} IS NULL AND old.{first} NOT IN {not_sent}"
            )
            while some := removed.fetchmany(_LINES_AT_ONCE):
                yield Change(table, removed=some)


def commit_of(connection: sqlite3.Connection) -> int:
    """Return the number of the last commit of a copy; 0 for a run file that is none."""
    [(number,)] = connection.execute("PRAGMA user_version")
    return int(number)


def set_commit(connection: sqlite3.Connection, number: int) -> None:
    """Set the number of the last commit, in the transaction of this commit."""
    connection.execute(f"PRAGMA user_version = {number:d}")


def note_copy(connection: sqlite3.Connection, **facts: str) -> None:
    """Note single facts about a copy; an empty one is removed."""
    for name, value in facts.items():
        if value:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        else:
            connection.execute("DELETE FROM meta WHERE name = ?", (name,))


def catch_up(store: RunStore, run: str, path: Path) -> None:
    """Make a local copy of a run, or bring it up to date.

    Raises:
        StoreError: There is no such run, or the copy cannot be written.
    """
    try:
        if path.exists() and _continued(store, run, path):
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = SessionLock(path)
        try:
            _copy(store, run, path)
        finally:
            lock.release()
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"The copy {path} of a run cannot be written: {error}.") from error


def _continued(store: RunStore, run: str, path: Path) -> bool:
    """Bring a copy up to date; return False where it must be made anew."""
    with closing(writing(path)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")  # the session of this machine ends its commit first
        lines = connection.execute("SELECT name, value FROM meta")
        known = {str(name): str(value) for name, value in lines}
        with store.since(run, known.get(COPY, ""), commit_of(connection)) as found:
            if found.is_whole:
                return False
            for change in found.changes:
                _apply(connection, change)
            if found.commit != commit_of(connection):
                set_commit(connection, found.commit)
            if found.writer != known.get(WRITER, ""):
                note_copy(connection, writer=found.writer)
    return True


def _copy(store: RunStore, run: str, path: Path) -> None:
    new = path.with_name(f".{path.name}.new")
    remove(new)
    try:
        with closing(sqlite3.connect(new)) as connection:
            create(connection)
            with connection, store.since(run, "", 0) as found:
                connection.execute("BEGIN")
                for change in found.changes:
                    _apply(connection, change)
                address = f"{store.address}#{run}"
                note_copy(connection, store=address, copy=found.identity, writer=found.writer)
                set_commit(connection, found.commit)
            connection.execute("PRAGMA journal_mode = WAL")
        remove(path)  # with its log, which would be that of the new file
        os.replace(new, path)
    finally:
        remove(new)


def _apply(connection: sqlite3.Connection, change: Change) -> None:
    table = change.table
    equal = " AND ".join(f"{column} = ?" for column in table.key)
    connection.executemany(f"DELETE FROM {table.name} WHERE {equal}", change.removed)
    columns = ", ".join(table.columns)
    marks = ", ".join("?" * len(table.columns))
    connection.executemany(
        f"INSERT OR REPLACE INTO {table.name} ({columns}) VALUES ({marks})", change.lines
    )


def create(connection: sqlite3.Connection) -> None:
    """Create the tables and views of a run file, in a transaction that is open afterwards."""
    connection.execute("PRAGMA page_size = 8192")
    connection.execute("PRAGMA journal_mode = MEMORY")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    with connection:
        connection.execute("BEGIN")
        for statement in create_statements():
            connection.execute(statement)


def remove(path: Path) -> None:
    """Remove a run file with SQLite's files next to it."""
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)

"""The runs of a database: copies of run files read what they lack, and one session at a time writes
into each run.

A session holds an advisory lock of its connection, which ends with it, and a number, which every
commit checks: a session that another one has followed commits nothing more.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from attrs import define

from context_bench.errors import LostStoreError, StoreError
from context_bench.protocols import Change, Since, TableLayout
from context_bench_postgres.addresses import Address
from context_bench_postgres.tables import (
    RESULTS,
    RUNS,
    SCHEMA,
    MirroredTable,
    format_of,
    read_key,
    write_key,
)

_LINES_AT_ONCE = 2_000
_LOCK = 0x43_54_58_42  # "CTXB"
_PATIENCE: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""A silent peer is given up after about 25 seconds; the server gives up a silent session as soon."""
_WRITER = (
    "CASE WHEN EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted "
    f"AND classid = {_LOCK} AND objid::bigint = runs.number AND objsubid = 2 AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())) THEN writer ELSE '' END"
)


class _NoTablesError(StoreError):
    """No run was ever written into the database."""


class PostgresStore:
    """The runs of a database; see :class:`~context_bench.protocols.RunStore`.

    Args:
        address: Its address.
        tables: The tables of a run.
    """

    def __init__(self, address: Address, tables: Sequence[TableLayout]) -> None:
        self._address = address
        self._layouts = tables
        self._tables = {table.name: MirroredTable(table) for table in tables}
        self._own: set[str] = set()

    @property
    def address(self) -> str:
        """The address, without credentials."""
        return self._address.shown

    @property
    def identity(self) -> str:
        """A name for the folder of its local copies."""
        return self._address.identity

    def runs(self) -> dict[str, tuple[int, str]]:
        """Return the number of the last commit of each run, and who writes into it, by name."""
        query = f"SELECT name, commits, {_WRITER} FROM {SCHEMA}.runs WHERE commits > 0"
        try:
            with self._reading() as connection:
                return {name: (commits, who) for name, commits, who in connection.execute(query)}
        except _NoTablesError:
            return {}

    @contextmanager
    def since(self, run: str, identity: str, commit: int) -> Iterator[Since]:
        """Open what a copy of a run lacks, in one snapshot of the database."""
        with self._reading(run) as connection:
            query = (
                f"SELECT number, identity::text, commits, base, {_WRITER} FROM {SCHEMA}.runs "
                "WHERE name = %s AND commits > 0"
            )
            found = connection.execute(query, (run,)).fetchone()
            if found is None:
                raise self._absent(run)
            number, current, commits, base, writer = found
            is_whole = identity != current or not base <= commit <= commits
            start = 0 if is_whole else commit
            yield Since(
                identity=current,
                commit=commits,
                is_whole=is_whole,
                writer="" if run in self._own else writer,
                changes=() if start == commits else self._changes(connection, number, start),
            )

    def session(self, run: str, is_new: bool) -> PostgresSession:
        """Begin to write into a run; see :class:`~context_bench.protocols.RunStore`."""
        with self._telling():
            connection = self._connect()
        try:
            with self._telling(run), connection.transaction():
                if is_new:
                    self._prepare(connection)
                    connection.execute(
                        f"INSERT INTO {SCHEMA}.runs (name) VALUES (%s) ON CONFLICT DO NOTHING",
                        (run,),
                    )
                session = self._begin(connection, run, is_new)
        except BaseException:
            connection.close()
            raise
        self._own.add(run)
        return session

    def _begin(
        self, connection: psycopg.Connection[Any], run: str, is_new: bool
    ) -> PostgresSession:
        query = f"SELECT number, writer FROM {SCHEMA}.runs WHERE name = %s"
        found = connection.execute(query, (run,)).fetchone()
        if found is None:
            raise self._absent(run)
        number, writer = found
        query = "SELECT pg_try_advisory_lock(%s, %s::int)"
        is_free = connection.execute(query, (_LOCK, number)).fetchone()
        if is_free != (True,):
            raise StoreError(
                f"Another session writes into the run {self.address}#{run}: process {writer}. Wait "
                "until it has ended, or end it; what it has finished is kept."
            )
        begun = connection.execute(
            f"UPDATE {SCHEMA}.runs SET session = session + 1, writer = %s WHERE number = %s "
            "RETURNING session, commits, identity::text",
            (f"{os.getpid()} on {socket.gethostname()}", number),
        ).fetchone()
        if begun is None:
            raise self._absent(run)
        session, commits, identity = begun
        if is_new and commits:
            raise StoreError(
                f"There is a run {self.address}#{run} already. Resume it (`context-bench resume "
                f"{self.address}#{run}`) or name another."
            )
        return PostgresSession(
            address=f"{self.address}#{run}",
            identity=identity,
            connection=connection,
            tables=self._tables,
            number=number,
            session=session,
        )

    def _prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Create the tables where there are none.

        Raises:
            StoreError: They are those of another version.
        """
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCK,))
        expected = format_of(self._layouts)
        query = "SELECT to_regclass(%s) IS NOT NULL"
        if connection.execute(query, (f"{SCHEMA}.format",)).fetchone() == (True,):
            if connection.execute(f"SELECT tables FROM {SCHEMA}.format").fetchone() != (expected,):
                raise self._other_version()
            return
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        statements = RUNS.split(";")
        for table in self._tables.values():
            statements += table.create_statements
        for statement in (*statements, RESULTS):
            connection.execute(statement.encode())
        connection.execute(f"INSERT INTO {SCHEMA}.format VALUES (%s)", (expected,))

    def _changes(
        self, connection: psycopg.Connection[Any], number: int, start: int
    ) -> Iterator[Change]:
        if start:
            query = (
                f"SELECT table_name, key FROM {SCHEMA}.removed "
                "WHERE run_number = %s AND commit_number > %s"
            )
            for name, key in connection.execute(query, (number, start)):
                yield Change(self._tables[name].layout, removed=[read_key(key)])
        for table in self._tables.values():
            with connection.cursor(f"lines_{table.layout.name}") as cursor:
                cursor.execute(table.read_statement.encode(), (number, start))
                while lines := cursor.fetchmany(_LINES_AT_ONCE):
                    yield Change(table.layout, list(table.read(lines)))

    @contextmanager
    def _reading(self, run: str = "") -> Iterator[psycopg.Connection[Any]]:
        """Open a snapshot of the database."""
        with self._telling(run), closing(self._connect()) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            connection.autocommit = False
            try:
                found = connection.execute(f"SELECT tables FROM {SCHEMA}.format").fetchone()
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                raise _NoTablesError(str(self._absent(run))) from None
            if found != (format_of(self._layouts),):
                raise self._other_version()
            yield connection

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(
            self._address.connection,
            autocommit=True,
            application_name="context-bench",
            **_PATIENCE,
        )
        for name, seconds in (("idle", 10), ("interval", 5), ("count", 3)):
            connection.execute(f"SET tcp_keepalives_{name} = {seconds}".encode())
        return connection

    @contextmanager
    def _telling(self, run: str = "") -> Iterator[None]:
        """Turn the errors of the database into sentences."""
        try:
            yield
        except psycopg.Error as error:
            place = f"{self.address}#{run}" if run else self.address
            raise StoreError(f"{place} cannot be used: {_reason(error)}.") from None

    def _absent(self, run: str) -> StoreError:
        return StoreError(f"There is no run {run} in {self.address}.")

    def _other_version(self) -> StoreError:
        return StoreError(
            f"The runs in {self.address} are those of another version of context-bench. Open them "
            "with the version that wrote them, or name another database."
        )


@define(eq=False, kw_only=True)
class PostgresSession:
    """The right to write into a run; see :class:`~context_bench.protocols.StoreSession`."""

    address: str
    identity: str
    _connection: psycopg.Connection[Any]
    _tables: Mapping[str, MirroredTable]
    _number: int
    _session: int

    def commit(self, number: int, changes: Iterable[Change]) -> None:
        """Write changes in one transaction, or none of them."""
        with self._transaction(number):
            for change in changes:
                self._write(number, change)

    def replace(self, number: int, changes: Iterable[Change]) -> None:
        """Replace the whole run in one transaction."""
        with self._transaction(number):
            self._empty()
            query = f"UPDATE {SCHEMA}.runs SET base = %s WHERE number = %s"
            self._connection.execute(query, (number, self._number))
            for change in changes:
                self._write(number, change)

    def discard(self) -> None:
        """Remove the run, unless another session has followed."""
        with self._telling(), self._connection.transaction():
            gone = self._connection.execute(
                f"DELETE FROM {SCHEMA}.runs WHERE number = %s AND session = %s",
                (self._number, self._session),
            )
            if gone.rowcount:
                self._empty()

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    def _empty(self) -> None:
        for name in (*(table.name for table in self._tables.values()), f"{SCHEMA}.removed"):
            query = f"DELETE FROM {name} WHERE run_number = %s"
            self._connection.execute(query.encode(), (self._number,))

    def _write(self, number: int, change: Change) -> None:
        table = self._tables[change.table.name]
        execute = self._connection.execute
        if change.removed:
            keys = table.keys(change.removed)
            execute(table.remove_statement.encode(), (*keys, self._number))
            names = [write_key(key) for key in change.removed]
            execute(
                f"INSERT INTO {SCHEMA}.removed SELECT %s, %s, %s, unnest(%s::text[])",
                (self._number, number, change.table.name, names),
            )
        if change.lines:
            values = (self._number, number, *table.arrays(change.lines))
            execute(table.write_statement.encode(), values)

    @contextmanager
    def _transaction(self, number: int) -> Iterator[None]:
        """Open a transaction that gets the number of a commit, which only the last session can
        have."""
        with self._telling(), self._connection.transaction():
            advanced = self._connection.execute(
                f"UPDATE {SCHEMA}.runs SET commits = %s "
                "WHERE number = %s AND session = %s AND commits = %s",
                (number, self._number, self._session, number - 1),
            )
            is_ours = advanced.rowcount == 1
            if not is_ours:
                raise StoreError(
                    f"Another session writes into the run {self.address}, so this one stops. Rows "
                    "that it committed are saved."
                )
            yield

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self._connection.close()
            raise LostStoreError(
                f"The connection to {self.address} is lost: {_reason(error)}. Rows that were "
                "committed are saved."
            ) from None
        except psycopg.Error as error:
            raise StoreError(f"{self.address} cannot be written: {_reason(error)}.") from None


def _reason(error: psycopg.Error) -> str:
    """Return what the database said, in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0].rstrip(".:")

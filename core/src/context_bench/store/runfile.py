"""The run file: one SQLite database that is the record of a run, and the state it resumes from.

Every row is written with a check sum, so that a damaged value is found when it is read. One session
at a time writes, over one connection; whoever reads has another.

A rescoring gathers new scores in a draft, a copy of the run file beside it, and they replace the
old ones all at once. So whatever ends a rescoring, the run file shows what it showed before; the
same rescoring, begun again, goes on in the draft. SQLite's backup puts the finished draft in the
place of what the run file held, in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

from context_bench.errors import StoreError
from context_bench.store.encoding import from_json, to_json
from context_bench.store.keys import digest, packed, sql_example_of
from context_bench.store.lock import SessionLock
from context_bench.store.mark import MARK, mark_of
from context_bench.store.reader import RunReader, draft_of, writing
from context_bench.store.rows import Label, StoredExample, StoredRow, StoredTurn, lines_of
from context_bench.store.schema import APPLICATION_ID, SCHEMA_VERSION, create_statements
from context_bench.store.tables import TURNS, Table, Values, insert


def _in_transaction(write: Callable[..., None]) -> Callable[..., None]:
    """Have a method of a run file write in a transaction, one thread at a time.

    It is no generator with ``with`` around its ``yield``: a signal that came behind its first step
    would leave it with the lock, for as long as anybody holds the signal's error.

    Raises:
        StoreError: It cannot be written, or nobody would find it.
    """

    @wraps(write)
    def call(store: RunFile, *arguments: Any) -> None:
        try:
            with store._lock:
                if not store.is_there:
                    raise StoreError(
                        f"The run file {store.path} is gone: somebody removed, moved or replaced "
                        "it while the run went on."
                    )
                with store._connection:
                    store._connection.execute("BEGIN IMMEDIATE")
                    store._check_session()
                    write(store, *arguments)
        except sqlite3.Error as error:
            raise StoreError(f"The run file {store.path} cannot be written: {error}.") from error

    return call


class RunFile(RunReader):
    """A run file, open for reading and writing, to the exclusion of every other writer.

    Attributes:
        path: Where it lies.
        is_new: Whether it was created here, so that no earlier session wrote into it.
        is_finished: Whether it is recorded how the session ended.
    """

    def __init__(self, path: Path, lock: SessionLock | None = None, is_new: bool = False) -> None:
        self.is_new = is_new
        self.is_finished = False
        self._session: int | None = None
        self._lock = Lock()
        self._connection = writing(path)
        self._inode = os.stat(path).st_ino
        self._closing = finalize(self, _close, self._connection, lock)
        super().__init__(path)

    @classmethod
    def create(
        cls,
        path: Path,
        run: str,
        created: str,
        config: Mapping[str, Any],
        provenance: Mapping[str, Any],
        *,
        is_marked: bool = True,
    ) -> RunFile:
        """Create a run file. Whoever looks sees none, or one that holds what a reader and
        ``resume`` need.

        Args:
            path: Where it lies.
            run: The id of the run.
            created: When it began.
            config: What the user asked for.
            provenance: Where the run is done.
            is_marked: Whether it gets the mark of this installation; see
                :mod:`context_bench.store.mark`.

        Raises:
            StoreError: There is a file already, or the folder cannot be written to.
        """
        with _locked(path, "written") as lock:
            if path.exists():
                raise StoreError(
                    f"There is a file {path} already. Resume it (`context-bench resume {path}`) or "
                    "name another."
                )
            draft = path.with_name(f".{path.name}.new")
            _remove(draft)
            with _or_nothing(draft):
                asked = to_json(config)
                mark = mark_of(run, asked) if is_marked else None
                _write_new(draft, (run, created, asked, to_json(provenance)), mark)
                os.replace(draft, path)
            return cls(path, lock, is_new=True)

    @classmethod
    def open(cls, path: Path) -> RunFile:
        """Open an existing run file for a session; to read one, there is :class:`RunReader`.

        Raises:
            StoreError: It is missing, is no run file, is damaged, was written in another format, or
                another session writes into it.
        """
        RunReader(path).close()  # nothing is written before all that the file defines is checked
        if os.stat(path).st_nlink > 1:  # each name would have a write-ahead log of its own
            raise StoreError(
                f"The run file {path} has a second name (a hard link), and SQLite cannot write "
                "into such a file safely. Copy it, and use the copy."
            )
        with _locked(path, "written") as lock:
            return cls(path, lock)

    def close(self) -> None:
        """Fold the write-ahead log into the main file, close it, and let the next session in."""
        super().close()
        self._closing()

    @property
    def is_there(self) -> bool:
        """Whether the file still has its name; somebody may remove or replace it while a run goes
        on."""
        try:
            return os.stat(self.place).st_ino == self._inode
        except OSError:
            return False

    def _check_session(self) -> None:
        """Check, in a transaction, that no later session writes into the file; the first call takes
        a session number.

        The lock keeps a second session out. Where it cannot - its file was removed, or the file
        system has no locks - the later session has the higher number, and the earlier one commits
        nothing more.

        Raises:
            StoreError: A later session has begun.
        """
        line = self._connection.execute("SELECT value FROM meta WHERE name = 'session'").fetchone()
        if line is None or not str(line[0]).isdecimal():
            raise StoreError(
                f"{self.path} is damaged: it has no session number. Nothing was written into it."
            )
        number = line[0]
        if self._session is None:
            self._session = int(number) + 1
            self._connection.execute(
                "UPDATE meta SET value = ? WHERE name = 'session'", (str(self._session),)
            )
        elif self._session != int(number):
            raise StoreError(
                f"Another session writes into the run file {self.path}, so this one stops. Rows "
                "that it committed are saved."
            )

    @_in_transaction
    def _write(self, query: str, *values: Any) -> None:
        """Execute one statement in a transaction of its own."""
        self._connection.execute(query, values)

    def _put(self, table: str, **values: Any) -> None:
        """Write one line of a table, by column, in the place of the line with its key."""
        places = ", ".join("?" * len(values))
        self._write(
            f"INSERT OR REPLACE INTO {table} ({', '.join(values)}) VALUES ({places})",
            *values.values(),
        )

    def discard(self) -> None:
        """Close the file and remove it, with what SQLite keeps beside it, unless somebody did or
        replaced it."""
        self.close()
        if self.is_there:
            _remove(self.place)

    def keep_request(self, config: Mapping[str, Any]) -> None:
        """Record what the user asks for now, in place of what the run began with."""
        run, _ = self.configuration()
        asked = to_json(config)
        self._keep_request(asked, mark_of(run, asked))

    @_in_transaction
    def _keep_request(self, config: str, mark: str | None) -> None:
        self._connection.execute("UPDATE run SET config = ?", (config,))
        self._connection.execute("DELETE FROM meta WHERE name = ?", (MARK,))
        if mark is not None:
            self._connection.execute("INSERT INTO meta VALUES (?, ?)", (MARK, mark))

    @_in_transaction
    def begin(self, status: str | None = "running") -> None:
        """Record that a session writes into the file, and the status that it gives to the run."""
        if status is not None:
            self._connection.execute("UPDATE run SET status = ?", (status,))

    def add_system(
        self,
        system_number: int,
        label: str,
        key: bytes,
        reusable: bool,
        description: Mapping[str, Any],
    ) -> None:
        """Record a system of this run; ``reusable`` says whether its key is valid in other runs."""
        self._put(
            "systems",
            system_number=system_number,
            label=label,
            key=key,
            reusable=reusable,
            description=to_json(description),
        )

    def add_dataset(self, number: int, label: str, description: Mapping[str, Any]) -> None:
        """Record a dataset of this run."""
        self._put("datasets", number=number, label=label, description=to_json(description))

    def close_dataset(self, number: int, length: int, content: bytes) -> None:
        """Record how many examples a dataset gave, and the hash of them all in order."""
        self._write(
            "UPDATE datasets SET length = ?, content = ? WHERE number = ?", length, content, number
        )

    def add_evaluator(
        self, number: int, evaluator: str, key: bytes, provenance: Mapping[str, Any]
    ) -> None:
        """Record an evaluator of this run."""
        self._put(
            "evaluators", number=number, id=evaluator, key=key, provenance=to_json(provenance)
        )

    def add_label(self, label: Label) -> None:
        """Record the wiring of a dataset label."""
        keys = {
            key: [meaning.evaluator, meaning.worst, meaning.better]
            for key, meaning in label.keys.items()
        }
        self._put(
            "labels",
            number=label.number,
            label=label.label,
            primary_score=label.primary,
            keys=to_json(keys),
            plan=to_json(label.plan),
        )

    def copy_into(self, target: sqlite3.Connection) -> None:
        """Put all that a draft holds in the place of what another file holds, in one transaction;
        it is no draft any more."""
        self._write("DELETE FROM meta WHERE name = 'draft'")
        with self._lock:
            self._connection.backup(target)

    def expect(self, rows: int | None) -> None:
        """Record how many rows the whole run has at most, of all systems and repetitions; None
        where it is unknown."""
        if rows is not None:
            self._put("meta", name="expected", value=str(rows))

    @_in_transaction
    def add_provenance(self, found: Mapping[str, Any]) -> None:
        """Add to what is recorded about the place where the run is done."""
        [(text,)] = self._connection.execute("SELECT provenance FROM run").fetchall()
        self._connection.execute(
            "UPDATE run SET provenance = ?", (to_json({**from_json(text), **found}),)
        )

    def settle_primary_scores(self) -> None:
        """Name the primary score of labels whose evaluators had no manifest to name one: ``score``,
        else their first key."""
        numbers = {entry["id"]: str(entry["number"]) for entry in self.evaluators()}
        for label in self.labels():
            if label.primary is None:
                chosen = ", ".join(
                    numbers[name] for name in label.plan["evaluators"] if name in numbers
                )
                self._write(
                    "UPDATE labels SET primary_score = (SELECT scores.name FROM scores "
                    f"JOIN examples ON examples.id = {sql_example_of('scores.response')} WHERE "
                    f"label = labels.number AND evaluator IN ({chosen}) GROUP BY evaluator, 1 "
                    "ORDER BY scores.name != "
                    "'score', evaluator, 1 LIMIT 1) WHERE number = ?",
                    label.number,
                )

    def finish(self, status: str, finished: str) -> None:
        """Record how the run ended: ``finished``, ``interrupted`` or ``stopped``."""
        self._finish(status, finished, sum(map(sum, self.counts().values())))

    @_in_transaction
    def _finish(self, status: str, finished: str, size: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('rows', ?)", (str(size),))
        self._connection.execute("UPDATE run SET status = ?, finished = ?", (status, finished))
        self.is_finished = True

    def warn(self, lines: Sequence[str]) -> None:
        """Record what the user should know of the run; a line that is there already is not
        repeated."""
        stored = self.warnings()
        lines = list(dict.fromkeys((*stored, *lines)))
        if lines != stored:
            self._put("meta", name="warnings", value=to_json(lines))

    def keep_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Record which metrics the run computes, and what they made of its rows."""
        self._put("meta", name="metrics", value=to_json(metrics))

    def commit(self, items: Sequence[StoredRow | StoredExample]) -> None:
        """Write examples and finished rows durably, all or none. A row that is there already is
        replaced.

        Raises:
            StoreError: They cannot be written.
        """
        numbers = packed([item.id for item in items])
        rows: list[tuple[int, StoredRow]] = []
        if not self.is_new:
            rows = [
                (number, item)
                for number, item in zip(numbers, items)
                if isinstance(item, StoredRow)
            ]
        self._commit(rows, lines_of(items, numbers))

    @_in_transaction
    def _commit(
        self, rows: Sequence[tuple[int, StoredRow]], lines: Mapping[Table[Any], Sequence[Values]]
    ) -> None:
        if rows:
            self._forget(rows)
        insert(self._connection, lines)

    def _forget(self, rows: Iterable[tuple[int, StoredRow]]) -> None:
        """Delete what an earlier session wrote about rows, or evaluations, that are written
        again."""
        whole = [(number, row.turns) for number, row in rows if not row.again]
        parts = [
            (number, evaluator)
            for number, row in rows
            if row.again
            for evaluator in (
                *(evaluation.evaluator for evaluation in row.evaluations),
                *(number_of_evaluator for number_of_evaluator, _ in row.failures),
            )
        ]
        delete = self._connection.executemany
        delete("DELETE FROM turns WHERE response = ? AND turn >= ?", whole)
        delete("DELETE FROM responses WHERE id = ?", ((number,) for number, _ in whole))
        for table in ("evaluations", "scores", "failures"):
            delete(f"DELETE FROM {table} WHERE response = ?", ((number,) for number, _ in whole))
            delete(f"DELETE FROM {table} WHERE response = ? AND evaluator = ?", parts)

    def finished(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield packed identity, response key and the example's key of every row answered when the
        session began, in order."""
        if not self.is_new:
            with self.apart() as reader:
                yield from reader.stream(
                    f"SELECT responses.id, key, examples.hash FROM responses JOIN examples "
                    f"ON examples.id = {sql_example_of('responses.id')} ORDER BY responses.id"
                )

    @_in_transaction
    def keep_turn(self, turn: StoredTurn) -> None:
        """Write the answer to a turn durably, in the place of what was stored of this turn and
        those after it.

        Raises:
            TimeoutError: The session has ended, whatever a call that hung still brings.
            StoreError: It cannot be written.
        """
        if self.is_finished:
            raise TimeoutError("the run has ended.")
        number = turn.row.pack()
        self._connection.execute(
            "DELETE FROM turns WHERE response = ? AND turn >= ?", (number, turn.turn)
        )
        insert(self._connection, {TURNS: TURNS.lines([(number, turn)])})


@contextmanager
def _locked(path: Path, done: str) -> Iterator[SessionLock]:
    """Lock a run file; what goes wrong while its session is set up gives the lock back.

    Raises:
        StoreError: Another session writes into it, or what is to be ``done`` with it cannot be.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = SessionLock(path)
        try:
            yield lock
        except BaseException:
            lock.release()
            raise
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"The run file {path} cannot be {done}: {error}.") from error


def _write_new(path: Path, run: tuple[str, ...], mark: str | None) -> None:
    """Write a run file without rows."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = NORMAL")
        facts = {"format": "context-bench run", "schema": str(SCHEMA_VERSION), "session": "0"}
        if mark is not None:
            facts[MARK] = mark
        with connection:
            connection.execute("BEGIN")
            for statement in create_statements():
                connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
            connection.execute("INSERT INTO run VALUES (?, ?, NULL, 'running', ?, ?)", run)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")


def _close(connection: sqlite3.Connection, lock: SessionLock | None) -> None:
    connection.close()
    if lock is not None:
        lock.release()


class Rescoring:
    """A session that gives a finished run new scores.

    Args:
        path: The run file.
        asked: What is asked for; a draft of anything else is thrown away.

    Attributes:
        store: The draft, which new scores are written into.

    Raises:
        StoreError: The run file cannot be used, or another session writes into it.
    """

    def __init__(self, path: Path, asked: Mapping[str, Any]) -> None:
        RunReader(path).close()
        with _locked(path, "copied for its rescoring") as self._lock:
            self._path, self._draft = path, draft_of(path)
            self._before = _state(path)
            wanted = digest(self._before, asked).hex()
            self._is_worth_keeping = self._draft.exists() and self._purpose() == wanted
            if not self._is_worth_keeping:
                self._begin(wanted)
            self.store = RunFile(self._draft)
            self.store.begin(None)

    def publish(self) -> None:
        """Put the new scores in the place of the old ones, all at once, and end the session.

        Raises:
            StoreError: The run file cannot be written, or another session has written into it.
        """
        if _state(self._path) != self._before:
            raise StoreError(
                f"Another session has written into the run file {self._path}. Its earlier scores "
                "are unchanged: rescore again."
            )
        try:
            with closing(writing(self._path)) as target:
                self.store.copy_into(target)
        except sqlite3.Error as error:
            raise StoreError(
                f"The run file {self._path} cannot be written: {error}. Its earlier scores stand."
            ) from error
        self.store.close()
        _remove(self._draft)
        self._is_worth_keeping = True  # what lies there later is another session's
        self._lock.release()

    def keep(self, rows: Sequence[StoredRow]) -> None:
        """Note that rows have new scores, which the next session need not make again."""
        self._is_worth_keeping = True

    def leave(self) -> None:
        """End the session; a draft with new scores that was not published is kept for the next
        one."""
        self.store.close()
        if not self._is_worth_keeping:
            _remove(self._draft)
        self._lock.release()

    def _purpose(self) -> str:
        try:
            with closing(RunReader(self._draft)) as reader:
                return reader.facts().get("draft", "")
        except StoreError:
            return ""

    def _begin(self, wanted: str) -> None:
        _remove(self._draft)
        new = self._draft.with_name(f".{self._draft.name}.new")
        _remove(new)
        with _or_nothing(new):
            with closing(sqlite3.connect(new)) as target:
                with closing(RunReader(self._path)) as reader, reader.snapshot() as source:
                    source.backup(target)
                with target:
                    target.execute("INSERT OR REPLACE INTO meta VALUES ('draft', ?)", (wanted,))
            os.replace(new, self._draft)


def _state(path: Path) -> list[int]:
    """Return what is another after any session that wrote into the run file."""
    files = (path, path.with_name(f"{path.name}-wal"))
    found = [os.stat(file) for file in files if file.exists()]
    return [number for one in found if one.st_size for number in (one.st_size, one.st_mtime_ns)]


@contextmanager
def _or_nothing(path: Path) -> Iterator[None]:
    """Leave nothing of a file that could not be written whole."""
    try:
        yield
    except BaseException:
        _remove(path)
        raise


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)

"""The run file: one SQLite database that is the record of a run, and the state it resumes from.

Every row is written with a checksum, so that a damaged value is found when it is read. One session
at a time writes, over one connection; readers have other connections.

A rescoring writes new scores into a draft, a copy of the run file next to it, and they replace the
old ones all at once. If a rescoring stops early, the run file is unchanged, and the same rescoring
continues in the draft. SQLite's backup replaces the content of the run file with the finished
draft, in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import wraps
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any
from weakref import finalize

from context_bench.errors import StoreError
from context_bench.protocols import StoreSession
from context_bench.store.copies import (
    STORE,
    commit_of,
    create,
    differences,
    everything,
    note_copy,
    remove,
    set_commit,
    track,
    tracked,
)
from context_bench.store.encoding import from_json, to_json
from context_bench.store.keys import digest, packed, sql_example_of
from context_bench.store.lock import SessionLock
from context_bench.store.mark import MARK, mark_of
from context_bench.store.reader import RunReader, draft_of, writing
from context_bench.store.rows import Label, StoredExample, StoredRow, StoredTurn, lines_of
from context_bench.store.schema import SCHEMA_VERSION
from context_bench.store.tables import TURNS, Table, Values, insert


def _in_transaction(write: Callable[..., None]) -> Callable[..., None]:
    """Return a method of a run file that writes in a transaction, one thread at a time.

    It is not a context manager from a generator: a signal after the first step of the generator
    would leave it with the lock, for as long as the signal's error is referenced.

    Raises:
        StoreError: The file cannot be written, or has been removed or replaced.
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
                    store._send_changes()
        except sqlite3.Error as error:
            raise StoreError(f"The run file {store.path} cannot be written: {error}.") from error

    return call


class RunFile(RunReader):
    """A run file, open for reading and writing; there is no other writer.

    Attributes:
        path: Its path.
        is_new: Whether this session created it, so that it has no rows of earlier sessions.
        is_finished: Whether the end of the session is recorded.
    """

    def __init__(
        self,
        path: Path,
        lock: SessionLock | None = None,
        is_new: bool = False,
        remote: StoreSession | None = None,
    ) -> None:
        self.is_new = is_new
        self.is_finished = False
        self._session: int | None = None
        self._seconds_since: float | None = None
        self._lock = Lock()
        self._connection = writing(path)
        self._inode = os.stat(path).st_ino
        self._remote = remote
        if remote is not None:
            track(self._connection)
        self._closing = finalize(self, _close, self._connection, lock, remote)
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
        remote: StoreSession | None = None,
    ) -> RunFile:
        """Create a run file. It appears with all that readers and ``resume`` need.

        Args:
            path: Its path.
            run: The id of the run.
            created: When the run started.
            config: The configuration of the run.
            provenance: Versions, plugins and environment of the run.
            is_marked: Whether it gets the mark of this installation; see
                :mod:`context_bench.store.mark`.
            remote: The session of a store whose copy the file is; None for none.

        Raises:
            StoreError: The file exists already, or the folder cannot be written to.
        """
        with _ending(remote), _locked(path, "written") as lock:
            if remote is not None:
                remove(path)  # the copy of an earlier run, which the store has no more
            if path.exists():
                _require_run_file(path)
                raise StoreError(
                    f"There is a file {path} already. Resume it (`context-bench resume {path}`) or "
                    "name another."
                )
            draft = path.with_name(f".{path.name}.new")
            remove(draft)
            with _or_nothing(draft):
                config_json = to_json(config)
                mark = mark_of(run, config_json) if is_marked else None
                _write_new(draft, (run, created, config_json, to_json(provenance)), mark)
                if remote is not None:
                    _send_new(draft, remote)
                os.replace(draft, path)
            return cls(path, lock, is_new=True, remote=remote)

    @classmethod
    @contextmanager
    def assembled(
        cls,
        path: Path,
        run: str,
        created: str,
        config: Mapping[str, Any],
        provenance: Mapping[str, Any],
        *,
        is_marked: bool = True,
    ) -> Iterator[RunFile]:
        """Open a new run file that appears under its name when the block has ended without an
        error; the arguments are those of :meth:`create`.

        Raises:
            StoreError: The file exists already, or the folder cannot be written to.
        """
        with _locked(path, "written") as lock:
            if path.exists():
                raise StoreError(f"There is a file {path} already. Name another.")
            draft = path.with_name(f".{path.name}.merging")
            remove(draft)  # of a process that was killed
            with _or_nothing(draft):
                config_json = to_json(config)
                mark = mark_of(run, config_json) if is_marked else None
                _write_new(draft, (run, created, config_json, to_json(provenance)), mark)
                with closing(cls(draft, is_new=True)) as store:
                    yield store
                    store._fold()
                os.replace(draft, path)
            lock.release()

    @classmethod
    def open(cls, path: Path, remote: StoreSession | None = None) -> RunFile:
        """Open an existing run file for a session; :class:`RunReader` reads one.

        Args:
            path: Its path.
            remote: The session of the store whose copy the file is; None for none.

        Raises:
            StoreError: It is missing, is not a run file, is damaged, was written in another format,
                or another session writes into it.
        """
        with _ending(remote):
            return cls._open(path, remote)

    @classmethod
    def _open(cls, path: Path, remote: StoreSession | None) -> RunFile:
        _check(path, remote)
        if os.stat(path).st_nlink > 1:  # each name would have another write-ahead log
            raise StoreError(
                f"The run file {path} has a second name (a hard link), and SQLite cannot write "
                "into such a file safely. Copy it, and use the copy."
            )
        with _locked(path, "written") as lock:
            return cls(path, lock, remote=remote)

    def close(self) -> None:
        """Fold the write-ahead log into the main file, close it, and release the lock."""
        super().close()
        self._closing()

    @property
    def is_there(self) -> bool:
        """Whether the file still has its name: it may be removed or replaced during a run."""
        try:
            return os.stat(self.place).st_ino == self._inode
        except OSError:
            return False

    def _check_session(self) -> None:
        """Check, in a transaction, that no later session writes into the file; the first call sets
        a session number.

        The lock excludes a second session. Where it cannot - its file was removed, or the file
        system has no locks - the later session has the higher number, and the earlier one commits
        nothing more.

        Raises:
            StoreError: A later session has started.
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
        """Execute one statement in a transaction."""
        self._connection.execute(query, values)

    def _put(self, table: str, **values: Any) -> None:
        """Write one line of a table, by column; it replaces the line with its key."""
        columns = ", ".join(values)
        marks = ", ".join("?" * len(values))
        query = f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})"
        self._write(query, *values.values())

    def _send_changes(self) -> None:
        """Commit the changes of a transaction in the store whose copy the file is."""
        if self._remote is None:
            return
        changes = tracked(self._connection)
        if changes:
            number = commit_of(self._connection) + 1
            self._remote.commit(number, changes)
            set_commit(self._connection, number)

    def discard(self) -> None:
        """Remove the file with SQLite's files next to it, unless it was replaced, and the run from
        its store."""
        if self._remote is not None:
            with suppress(StoreError):  # it may be the cause
                self._remote.discard()
        self.close()
        if self.is_there:
            remove(self.place)

    def keep_request(self, config: Mapping[str, Any]) -> None:
        """Replace the configuration of the run."""
        run, _ = self.configuration()
        config_json = to_json(config)
        self._keep_request(config_json, mark_of(run, config_json))

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
            query = "SELECT total(value) FROM meta WHERE name = 'seconds'"
            [(earlier,)] = self._connection.execute(query).fetchall()
            self._seconds_since = monotonic() - earlier

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

    def copy_into(self, path: Path, remote: StoreSession | None = None) -> None:
        """Replace the content of another file with this draft in one transaction; it is then not a
        draft any more.

        Args:
            path: The file.
            remote: The session of the store whose copy the file is; it is sent what differs. None
                for none.
        """
        self._write("DELETE FROM meta WHERE name = 'draft'")
        with self._lock, closing(writing(path)) as target:
            if remote is not None:
                number = commit_of(self._connection) + 1
                with closing(differences(self.place, path)) as changes:
                    remote.commit(number, changes)
                set_commit(self._connection, number)
                self._connection.commit()
            self._connection.backup(target)

    def expect(self, rows: int | None) -> None:
        """Record how many rows the whole run has at most; None where it is unknown."""
        if rows is not None:
            self._put("meta", name="expected", value=str(rows))

    @_in_transaction
    def add_provenance(self, entries: Mapping[str, Any]) -> None:
        """Add entries to the recorded provenance of the run."""
        [(text,)] = self._connection.execute("SELECT provenance FROM run").fetchall()
        provenance = to_json({**from_json(text), **entries})
        self._connection.execute("UPDATE run SET provenance = ?", (provenance,))

    def settle_primary_scores(self) -> None:
        """Record the primary score of labels whose evaluators have no manifest that names it.

        It is ``score``, or else their first key.
        """
        numbers = {entry["id"]: str(entry["number"]) for entry in self.evaluators()}
        for label in self.labels():
            if label.primary is None:
                wired = ", ".join(
                    numbers[name] for name in label.plan["evaluators"] if name in numbers
                )
                self._write(
                    "UPDATE labels SET primary_score = (SELECT scores.name FROM scores "
                    f"JOIN examples ON examples.id = {sql_example_of('scores.response')} WHERE "
                    f"label = labels.number AND evaluator IN ({wired}) GROUP BY evaluator, 1 "
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
        """Record warnings for the user; no line is repeated."""
        stored = self.warnings()
        lines = list(dict.fromkeys((*stored, *lines)))
        if lines != stored:
            self._put("meta", name="warnings", value=to_json(lines))

    def keep_metrics(self, metrics: Mapping[str, Any]) -> None:
        """Record the metrics that the run computes, with their values."""
        self._put("meta", name="metrics", value=to_json(metrics))

    def commit(self, items: Sequence[StoredRow | StoredExample]) -> None:
        """Write examples and finished rows durably, all or none. A stored row is replaced.

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
        if self._seconds_since is not None:  # not a rescoring
            query = "INSERT OR REPLACE INTO meta VALUES ('seconds', ?)"
            self._connection.execute(query, (f"{monotonic() - self._seconds_since:.3f}",))

    @_in_transaction
    def append(self, table: Table[Any], lines: Sequence[Values]) -> None:
        """Write lines of another run file as they are, with their checksums."""
        insert(self._connection, {table: lines})

    def _fold(self) -> None:
        """Move everything from the write-ahead log into the main file.

        Raises:
            StoreError: Another connection reads from the log.
        """
        with self._lock:
            query = "PRAGMA wal_checkpoint(TRUNCATE)"
            [(is_busy, *_)] = self._connection.execute(query)
        if is_busy:
            raise StoreError(f"{self.path} is being read, and cannot get its name.")

    def _forget(self, rows: Iterable[tuple[int, StoredRow]]) -> None:
        """Delete rows, or their evaluations, of an earlier session that are written again."""
        turns: list[tuple[int, int]] = []
        responses: list[tuple[int]] = []
        evaluations: list[tuple[int, int]] = []
        for number, row in rows:
            if row.again:
                evaluations += ((number, item.evaluator) for item in row.evaluations)
                evaluations += ((number, evaluator) for evaluator, _ in row.failures)
            else:
                turns.append((number, row.turns))
                responses.append((number,))
        delete = self._connection.executemany
        delete("DELETE FROM turns WHERE response = ? AND turn >= ?", turns)
        delete("DELETE FROM responses WHERE id = ?", responses)
        for table in ("evaluations", "scores", "failures"):
            delete(f"DELETE FROM {table} WHERE response = ?", responses)
            delete(f"DELETE FROM {table} WHERE response = ? AND evaluator = ?", evaluations)

    def finished(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield packed identity, response key and example hash of every row that was answered when
        the session started, in order."""
        if not self.is_new:
            with self.apart() as reader:
                yield from reader.stream(
                    f"SELECT responses.id, key, examples.hash FROM responses JOIN examples "
                    f"ON examples.id = {sql_example_of('responses.id')} ORDER BY responses.id"
                )

    @_in_transaction
    def keep_turn(self, turn: StoredTurn) -> None:
        """Write the answer to a turn durably; it replaces this turn and those after it.

        Raises:
            TimeoutError: The session has ended, so an answer of a call that hung is not stored.
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
def _locked(path: Path, action: str) -> Iterator[SessionLock]:
    """Lock a run file; an error while its session is set up releases the lock.

    Args:
        path: Path of the run file.
        action: The use of the file in the message of an error, such as ``"written"``.

    Raises:
        StoreError: Another session writes into it, or it cannot be used.
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
        raise StoreError(f"The run file {path} cannot be {action}: {error}.") from error


def _write_new(path: Path, run: tuple[str, ...], mark: str | None) -> None:
    """Write a run file without rows."""
    with closing(sqlite3.connect(path)) as connection:
        create(connection)
        facts = {"format": "context-bench run", "schema": str(SCHEMA_VERSION), "session": "0"}
        if mark is not None:
            facts[MARK] = mark
        with connection:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
            connection.execute("INSERT INTO run VALUES (?, ?, NULL, 'running', ?, ?)", run)
        connection.execute("PRAGMA journal_mode = WAL")


def _send_new(path: Path, remote: StoreSession) -> None:
    """Write a new run into its store, and note in the file that it is a copy."""
    with closing(sqlite3.connect(path)) as connection, connection:
        remote.replace(1, everything(connection))
        note_copy(connection, store=remote.address, copy=remote.identity)
        set_commit(connection, 1)


def _require_run_file(path: Path) -> None:
    """Refuse to advise a resume of what is no run file.

    Raises:
        StoreError: It is a folder or another file, or is damaged.
    """
    try:
        RunReader(path).close()
    except StoreError as error:
        raise StoreError(f"{error} Name another file.") from error


def _check(path: Path, remote: StoreSession | None) -> None:
    """Check the schema of a file before anything is written, and that a copy is not written into
    without its store.

    Raises:
        StoreError: It is no run file, or a copy.
    """
    with closing(RunReader(path)) as reader:
        address = reader.facts().get(STORE)
    if address and remote is None:
        raise StoreError(f"{path} is the local copy of a run in a store. Name that run: {address}")


@contextmanager
def _ending(remote: StoreSession | None) -> Iterator[None]:
    """End the session of a store where an error ends that of its copy."""
    try:
        yield
    except BaseException:
        if remote is not None:
            remote.close()
        raise


def _close(
    connection: sqlite3.Connection, lock: SessionLock | None, remote: StoreSession | None
) -> None:
    connection.close()
    if lock is not None:
        lock.release()
    if remote is not None:
        remote.close()


class Rescoring:
    """A session that gives a finished run new scores.

    Args:
        path: The run file.
        purpose: What the rescoring computes; a draft of another purpose is removed.
        remote: The session of the store whose copy the file is; None for none.

    Attributes:
        store: The draft, which receives the new scores.

    Raises:
        StoreError: The run file cannot be used, or another session writes into it.
    """

    def __init__(
        self, path: Path, purpose: Mapping[str, Any], remote: StoreSession | None = None
    ) -> None:
        self._remote = remote
        with _ending(remote), _locked(path, "copied for its rescoring") as self._lock:
            _check(path, remote)
            self._path = path
            self._draft = draft_of(path)
            self._state = _state(path)
            key = digest(self._state, purpose).hex()
            self._is_worth_keeping = self._draft.exists() and self._purpose() == key
            if not self._is_worth_keeping:
                self._begin(key)
            self.store = RunFile(self._draft)
            self.store.begin(None)

    def publish(self) -> None:
        """Replace the old scores with the new ones, all at once, and end the session.

        Raises:
            StoreError: The run file cannot be written, or another session has written into it.
        """
        if _state(self._path) != self._state:
            raise StoreError(
                f"Another session has written into the run file {self._path}. Its earlier scores "
                "are unchanged: rescore again."
            )
        try:
            self.store.copy_into(self._path, self._remote)
        except sqlite3.Error as error:
            raise StoreError(
                f"The run file {self._path} cannot be written: {error}. Its earlier scores stand."
            ) from error
        self.store.close()
        remove(self._draft)
        self._is_worth_keeping = True  # a later draft is another session's
        self._release()

    def keep(self, rows: Sequence[StoredRow]) -> None:
        """Note that rows have new scores, so that the draft is worth storing."""
        self._is_worth_keeping = True

    def leave(self) -> None:
        """End the session; an unpublished draft with new scores stays for the next session."""
        self.store.close()
        if not self._is_worth_keeping:
            remove(self._draft)
        self._release()

    def _release(self) -> None:
        self._lock.release()
        if self._remote is not None:
            self._remote.close()

    def _purpose(self) -> str:
        try:
            with closing(RunReader(self._draft)) as reader:
                return reader.facts().get("draft", "")
        except StoreError:
            return ""

    def _begin(self, purpose: str) -> None:
        remove(self._draft)
        new = self._draft.with_name(f".{self._draft.name}.new")
        remove(new)
        with _or_nothing(new):
            with closing(sqlite3.connect(new)) as target:
                with closing(RunReader(self._path)) as reader, reader.snapshot() as source:
                    source.backup(target)
                with target:
                    target.execute("INSERT OR REPLACE INTO meta VALUES ('draft', ?)", (purpose,))
            os.replace(new, self._draft)


def _state(path: Path) -> list[int]:
    """Return sizes and times that differ after every session that wrote into the run file."""
    state: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        if file.exists():
            status = os.stat(file)
            if status.st_size:
                state += (status.st_size, status.st_mtime_ns)
    return state


@contextmanager
def _or_nothing(path: Path) -> Iterator[None]:
    """Remove a file that could not be written whole."""
    try:
        yield
    except BaseException:
        remove(path)
        raise

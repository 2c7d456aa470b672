"""The run file: one SQLite database that is the record of a run, and the state it resumes from.

Every row is written with a check sum, so that a damaged value is found when it is read. One connection
writes, a lock orders its writers; each reader opens a connection of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

from context_bench.errors import StoreError
from context_bench.records import BaselineRow, EvalRow, KeyMeaning
from context_bench.store.encoding import from_json, to_json
from context_bench.store.keys import RowId
from context_bench.store.reading import Baselines, RowReader
from context_bench.store.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES
from context_bench.store.seal import OPEN, close_seal, new_seal
from context_bench.store.stored_rows import (
    Label,
    StoredExample,
    StoredRow,
    StoredTurn,
    evaluation_values,
    example_values,
    failure_values,
    response_values,
    turn_values,
    verify,
)

_LAST = (1 << 63) - 1
_LINES_AT_ONCE = (40, 8, 1)  # of at most 24 values each: SQLite may be built for 999 in one statement


class RunFile:
    """A run file, open for reading and writing.


    Attributes:
        path: Where it lies.
        is_new: Whether it was created here, so that no earlier session wrote into it.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, is_new: bool = False) -> None:
        self.path = path
        self.is_new = is_new
        self._has_turns: bool | None = False if is_new else None
        self._held_against: int | None = None
        self._connection = connection
        self._lock = Lock()
        self._closing = finalize(self, connection.close)

    @classmethod
    def create(
        cls, path: Path, run: str, created: str, config: Mapping[str, Any], provenance: Mapping[str, Any]
    ) -> RunFile:
        """Create a run file.

        Raises:
            StoreError: There is a file already, or the folder cannot be written to.
        """
        if path.exists():
            raise StoreError(
                f"There is a file {path} already. Resume it (`context-bench resume {path}`) or name another."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            store = cls(path, _connect(path), is_new=True)
            with store._connection as connection:
                connection.executescript(f"PRAGMA application_id = {APPLICATION_ID};" + TABLES)
                connection.executemany(
                    "INSERT INTO meta VALUES (?, ?)",
                    [("format", "context-bench run"), ("schema", str(SCHEMA_VERSION)), ("seal", new_seal())],
                )
                connection.execute(
                    "INSERT INTO run VALUES (?, ?, NULL, 'running', ?, ?)",
                    (run, created, to_json(config), to_json(provenance)),
                )
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"The run file {path} cannot be written: {error}.") from error
        return store

    @classmethod
    def open(cls, path: Path) -> RunFile:
        """Open an existing run file.

        Raises:
            StoreError: It is missing, is no run file, is damaged, or was written in another format.
        """
        if not path.is_file():
            raise StoreError(f"There is no run file {path}. `context-bench run` writes them to runs/.")
        try:
            store = cls(path, _connect(path))
            found = dict(store.read("SELECT name, value FROM meta"))
        except (sqlite3.Error, UnicodeDecodeError, StoreError) as error:
            raise StoreError(f"{path} is no run file, or is damaged: {error}.") from error
        if found.get("schema") != str(SCHEMA_VERSION):
            raise StoreError(
                f"{path} has run-file format {found.get('schema')}; this version reads {SCHEMA_VERSION}. "
                "Open it with the version of context-bench that wrote it."
            )
        return store

    def close(self) -> None:
        """Fold the write-ahead log into the main file and close it."""
        self._closing()

    def begin(self) -> None:
        """Record that a session writes into the file: it is sealed again when the session ends."""
        with self._lock, self._connection:
            self._connection.execute(
                "UPDATE meta SET value = substr(value, 1, length(value) - ?) || ? WHERE name = 'seal'",
                (len(OPEN), OPEN),
            )

    def seal(self) -> bool:
        """Seal the main file and return whether it could be: not while another program has the file open."""
        with self._lock:
            [seal] = self._connection.execute("SELECT value FROM meta WHERE name = 'seal'").fetchone()
            self._closing()  # closing the file from here would undo SQLite's own locks on it
            try:
                log = self.path.with_name(f"{self.path.name}-wal")
                if seal.endswith(OPEN) and not (log.exists() and log.stat().st_size):
                    close_seal(self.path, seal)
                    return True
                return False
            except OSError as error:
                raise StoreError(f"The run file {self.path} cannot be sealed: {error}.") from error
            finally:
                self._connection = _connect(self.path)
                self._closing = finalize(self, self._connection.close)

    def add_system(self, slot: int, label: str, key: bytes, shared: bool, description: Mapping[str, Any]) -> None:
        """Record a system of this run; ``shared`` says whether its key is valid in other runs."""
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO systems VALUES (?, ?, ?, ?, ?)",
                (slot, label, key, shared, to_json(description)),
            )

    def add_dataset(self, number: int, label: str, description: Mapping[str, Any]) -> None:
        """Record a dataset of this run."""
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO datasets VALUES (?, ?, ?, NULL, NULL)", (number, label, to_json(description))
            )

    def close_dataset(self, number: int, length: int, content: bytes) -> None:
        """Record how many examples a dataset gave, and the hash of them all in order."""
        with self._lock, self._connection:
            self._connection.execute(
                "UPDATE datasets SET length = ?, content = ? WHERE number = ?", (length, content, number)
            )

    def add_evaluator(self, number: int, evaluator: str, key: bytes, provenance: Mapping[str, Any]) -> None:
        """Record an evaluator of this run."""
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO evaluators VALUES (?, ?, ?, ?)", (number, evaluator, key, to_json(provenance))
            )

    def add_label(self, label: Label) -> None:
        """Record the wiring of a dataset label."""
        with self._lock, self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO labels VALUES (?, ?, ?, ?, ?)",
                (
                    label.number,
                    label.label,
                    label.headline,
                    to_json({key: [meaning.evaluator, meaning.worst] for key, meaning in label.keys.items()}),
                    to_json(label.plan),
                ),
            )

    def add_provenance(self, found: Mapping[str, Any]) -> None:
        """Add to what is recorded about the place where the run is done."""
        with self._lock, self._connection:
            [(text,)] = self._connection.execute("SELECT provenance FROM run").fetchall()
            self._connection.execute("UPDATE run SET provenance = ?", (to_json({**from_json(text), **found}),))

    def settle_headlines(self) -> None:
        """Name the headline of labels whose evaluators had no manifest to name one: ``score``, else their first key."""
        query = (
            "SELECT evaluator, scores.name FROM scores JOIN examples ON examples.id = scores.response & ~1048575 "
            "WHERE label = ? GROUP BY 1, 2 ORDER BY scores.name != 'score', 1, 2 LIMIT 1"
        )
        with self._lock, self._connection:
            for (number,) in self._connection.execute("SELECT number FROM labels WHERE headline IS NULL").fetchall():
                found = self._connection.execute(query, (number,)).fetchone()
                if found:
                    self._connection.execute("UPDATE labels SET headline = ? WHERE number = ?", (found[1], number))

    def finish(self, status: str, finished: str) -> None:
        """Record how the run ended: ``finished``, ``interrupted`` or ``stopped``."""
        with self._lock, self._connection:
            self._connection.execute("UPDATE run SET status = ?, finished = ?", (status, finished))

    def warn(self, lines: Sequence[str]) -> None:
        """Record what the user should know of the run; a line that is there already is not repeated."""
        known = self.warnings()
        told = [*known, *(line for line in dict.fromkeys(lines) if line not in known)]
        if told != known:
            with self._lock, self._connection:
                self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('warnings', ?)", (to_json(told),))

    def warnings(self) -> list[str]:
        """Return what was recorded for the user, a line each."""
        found = [from_json(value) for (value,) in self.read("SELECT value FROM meta WHERE name = 'warnings'")]
        return list(found[0]) if found else []

    def keep_metrics(self, found: Mapping[str, Any]) -> None:
        """Record which metrics the run computes, and what they made of its rows."""
        with self._lock, self._connection:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('metrics', ?)", (to_json(found),))

    def metrics(self) -> dict[str, Any]:
        """Return what :meth:`keep_metrics` recorded; nothing of a run of an earlier version."""
        found = [from_json(value) for (value,) in self.read("SELECT value FROM meta WHERE name = 'metrics'")]
        return dict(found[0]) if found else {}

    def unscored(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield system, evaluator, reason and number of rows, of rows that an evaluator had nothing to say about."""
        query = (
            "SELECT systems.label, evaluators.id, unscored, count(*) FROM evaluations "
            "JOIN systems ON slot = (response >> 10) & 1023 JOIN evaluators ON evaluators.number = evaluator "
            "WHERE unscored IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        yield from self.read(query)

    def commit(self, items: Sequence[StoredRow | StoredExample]) -> None:
        """Write examples and finished rows durably, all or none. A row that is there already is replaced.

        Raises:
            StoreError: They cannot be written.
        """
        rows = [item for item in items if isinstance(item, StoredRow)]
        examples = [example_values(item) for item in items if isinstance(item, StoredExample)]
        responses, evaluations, scores, failures = [], [], [], []
        for row in rows:
            number = row.id.pack()
            if row.output is not None:
                responses.append(response_values(number, row))
            for evaluation in row.evaluations:
                values, found = evaluation_values(number, evaluation)
                evaluations.append(values)
                scores += found
            for evaluator, failure in row.failures:
                failures.append(failure_values(number, evaluator, failure, row))
        try:
            with self._lock, self._connection:
                if not self.is_new:
                    self._forget(rows)
                for table, lines in (
                    ("examples", examples),
                    ("responses", responses),
                    ("evaluations", evaluations),
                    ("scores", scores),
                    ("failures", failures),
                ):
                    self._insert(table, lines)
        except sqlite3.Error as error:
            raise StoreError(f"The run file {self.path} cannot be written: {error}.") from error

    def _insert(self, table: str, lines: Sequence[Sequence[Any]]) -> None:
        """Insert lines, many by one statement: each statement lets other threads in, and must wait for its turn again."""
        start = 0
        for number in _LINES_AT_ONCE:
            while len(lines) - start >= number:
                query, values = _insertion(table, lines[start : start + number])
                self._connection.execute(query, values)
                start += number

    def _forget(self, rows: Sequence[StoredRow]) -> None:
        """Delete what an earlier session wrote about rows that are written anew."""
        run = self._connection.executemany
        whole = [(row.id.pack(),) for row in rows if not row.again]
        run("DELETE FROM responses WHERE id = ?", whole)
        if self.has_turns:
            run(
                "DELETE FROM turns WHERE response = ? AND turn >= ?",
                [(row.id.pack(), row.turns) for row in rows if not row.again],
            )
        for table in ("evaluations", "scores", "failures"):
            run(f"DELETE FROM {table} WHERE response = ?", whole)
        parts = [
            (row.id.pack(), evaluator)
            for row in rows
            if row.again
            for evaluator in (*(e.evaluator for e in row.evaluations), *(number for number, _ in row.failures))
        ]
        for table in ("evaluations", "scores", "failures"):
            run(f"DELETE FROM {table} WHERE response = ? AND evaluator = ?", parts)

    def finished(self) -> Iterator[tuple[int, bytes]]:
        """Yield the packed identity and the response key of every answered row, in canonical order."""
        yield from self.read("SELECT id, key FROM responses ORDER BY id")

    @property
    def has_turns(self) -> bool:
        """Whether turns of conversations are kept."""
        if self._has_turns is None:
            self._has_turns = any(self.read("SELECT 1 FROM turns LIMIT 1"))
        return self._has_turns

    def keep_turn(self, turn: StoredTurn) -> None:
        """Write the answer to a turn durably, in place of what was kept of this turn and those behind it.

        Raises:
            StoreError: It cannot be written.
        """
        values = turn_values(turn)
        self._has_turns = True
        try:
            with self._lock, self._connection:
                self._connection.execute("DELETE FROM turns WHERE response = ? AND turn >= ?", values[:2])
                self._connection.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.Error as error:
            raise StoreError(f"The run file {self.path} cannot be written: {error}.") from error

    def turns(self, row: RowId) -> list[StoredTurn]:
        """Return the answered turns of a row's conversation, in order.

        Raises:
            StoreError: One does not match its check sum.
        """
        found = []
        for values in self.read(f"SELECT * FROM turns WHERE response = {row.pack()} ORDER BY turn"):
            verify(values)
            found.append(StoredTurn(row, *values[1:-1]))
        return found

    def run(self) -> dict[str, Any]:
        """Return what was recorded about the run itself."""
        [row] = self.read("SELECT id, created, finished, status, config, provenance FROM run")
        names = ("id", "created", "finished", "status")
        return dict(zip(names, row)) | {"config": from_json(row[4]), "provenance": from_json(row[5])}

    def systems(self) -> list[dict[str, Any]]:
        """Return the systems in the order of their slots."""
        found = self.read("SELECT slot, label, key, shared, description FROM systems ORDER BY slot")
        return [
            {"slot": slot, "label": label, "key": key, "shared": bool(shared), "description": from_json(description)}
            for slot, label, key, shared, description in found
        ]

    def datasets(self) -> list[dict[str, Any]]:
        """Return the datasets in the order of their numbers."""
        found = self.read("SELECT number, label, description, length, content FROM datasets ORDER BY number")
        return [
            {"number": number, "label": label, "description": from_json(text), "length": length, "content": content}
            for number, label, text, length, content in found
        ]

    def evaluators(self) -> list[dict[str, Any]]:
        """Return the evaluators in the order of their numbers."""
        found = self.read("SELECT number, id, key, provenance FROM evaluators ORDER BY number")
        return [{"number": n, "id": name, "key": key, "provenance": from_json(text)} for n, name, key, text in found]

    def labels(self) -> list[Label]:
        """Return the wiring of each dataset label."""
        found = self.read("SELECT number, label, headline, keys, plan FROM labels ORDER BY number")
        return [
            Label(number, label, headline, {k: KeyMeaning(*v) for k, v in from_json(keys).items()}, from_json(plan))
            for number, label, headline, keys, plan in found
        ]

    def counts(self) -> dict[int, tuple[int, int]]:
        """Return how many rows were answered and how many failed at the system, by slot."""
        answered = dict(self.read("SELECT slot, count(*) FROM responses GROUP BY slot"))
        failed = dict(
            self.read("SELECT (response >> 10) & 1023, count(*) FROM failures WHERE stage = 'system' GROUP BY 1")
        )
        return {slot: (answered.get(slot, 0), failed.get(slot, 0)) for slot in answered.keys() | failed.keys()}

    def examples(self) -> Iterator[tuple[int, int, str, str | None]]:
        """Yield dataset, position, id and body of every example, in order."""
        yield from self.read("SELECT dataset, position, example_id, body FROM examples ORDER BY id")

    def troubled(self) -> set[int]:
        """Return the packed identities of the rows that have a failure."""
        return {number for (number,) in self.read("SELECT DISTINCT response FROM failures")}

    def row_ids(self) -> Iterator[int]:
        """Yield the packed identity of every row, answered or failed, in canonical order."""
        query = "SELECT id FROM responses UNION SELECT response FROM failures WHERE stage = 'system' ORDER BY 1"
        return (number for (number,) in self.read(query))

    def hold_against(self, slot: int) -> None:
        """Read the rows beside those of another baseline than the recorded one; nothing is written."""
        self._held_against = slot

    def baseline(self) -> int | None:
        """Return the slot of the system that the others are held against, or None."""
        if self._held_against is not None:
            return self._held_against
        return next((entry["slot"] for entry in self.systems() if entry["description"].get("baseline")), None)

    def reference(self) -> tuple[int, int] | None:
        """Return the slot of the system whose responses stand in for gold answers, and the samples of the run, or None."""
        for entry in self.systems():
            if "reference" in entry["description"]:
                return entry["slot"], entry["description"]["reference"]["samples"]
        return None

    def rows(self, first: int = 0, last: int = _LAST) -> Iterator[EvalRow]:
        """Yield every row in canonical order, those between two packed identities when they are given.

        Raises:
            StoreError: A row does not match its check sum.
        """
        yield from self._rows([(first, last)])

    def rows_at(self, numbers: Iterable[int]) -> Iterator[EvalRow]:
        """Yield the rows with these packed identities, over one connection; those that are not there are left out."""
        yield from self._rows((number, number) for number in numbers)

    def _rows(self, ranges: Iterable[tuple[int, int]]) -> Iterator[EvalRow]:
        reader = RowReader(
            {entry["slot"]: entry["label"] for entry in self.systems()},
            {label.number: label for label in self.labels()},
            {entry["number"]: entry["id"] for entry in self.evaluators()},
            self.baseline(),
            self.reference(),
        )
        with self._reading() as connection:
            for first, last in ranges:
                yield from reader.read(connection, first, last)

    @contextmanager
    def baselines(self) -> Iterator[Callable[[int], BaselineRow | None]]:
        """Open a look-up of the baseline's row beside a packed identity; identities must come in order."""
        slot = self.baseline()
        if slot is None:
            yield lambda number: None
            return
        with self._reading() as connection:
            yield Baselines(connection, slot).of

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open a snapshot of the file: what is committed meanwhile is not seen."""
        try:
            with closing(_connect(self.path)) as connection:
                connection.execute("BEGIN")
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"The run file {self.path} cannot be read: {error}.") from error

    def read(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the lines of an SQL query over one snapshot of the file."""
        with self._reading() as connection:
            yield from connection.execute(query)


def _insertion(table: str, lines: Sequence[Sequence[Any]]) -> tuple[str, Sequence[Any]]:
    """Return a statement that inserts lines, and its values.

    Columns that are all null are written into the statement, and digests handed over as ``bytearray``: for each None and
    each ``bytes``, ``sqlite3`` asks whether it adapts itself, which takes longer than to write it.
    """
    if len(lines) == 1:
        return _statement(table, (True,) * len(lines[0]), 1), lines[0]
    given: list[bool] = []
    columns: list[Iterable[Any]] = []
    for column in zip(*lines):
        first = column[0]
        given.append(first is not None or column.count(None) < len(column))
        if given[-1]:
            columns.append(map(bytearray, column) if type(first) is bytes and None not in column else column)
    return _statement(table, tuple(given), len(lines)), list(chain.from_iterable(zip(*columns)))


@cache
def _statement(table: str, given: tuple[bool, ...], lines: int) -> str:
    line = f"({', '.join('?' if is_given else 'NULL' for is_given in given)})"
    return f"INSERT OR REPLACE INTO {table} VALUES {', '.join([line] * lines)}"


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, timeout=30.0)
    try:
        connection.execute(
            "PRAGMA page_size = 8192"
        )  # of a new file; a quarter cheaper than 4096 for examples of 10 KiB
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection

"""Reading a run file: read-only connections that trust nothing in it, and the records of a run.

A run file may come from anybody. Before the first query, its tables, indexes and views are compared
with those that this package creates. Anything else (a view, a trigger, a computed column) is
refused. Any other fault - a value of another type, a damaged page - is a
:class:`~context_bench.errors.StoreError`, never a traceback.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from threading import RLock, local
from typing import Any, TypeVar

from context_bench.errors import ChangedRunFileError, ContextBenchError, StoreError
from context_bench.records import BaselineRow, EvalRow, KeyMeaning
from context_bench.store.encoding import from_json
from context_bench.store.keys import MAX_POSITIONS, RowId, last_of, sql_system_of
from context_bench.store.mark import data_folder
from context_bench.store.rows import Baselines, Label, ReferenceSystem, RowReader
from context_bench.store.schema import check_schema
from context_bench.store.tables import TURNS, Line, TurnColumns, Values, as_records

LARGEST_VALUE = 1 << 29
"""Bytes of the largest value that is read from a run file."""

_DAMAGE = (
    sqlite3.Error,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


Value = TypeVar("Value")


class _Connection(sqlite3.Connection):
    """A connection that closes itself when it is garbage-collected."""

    def __del__(self) -> None:
        self.close()


class Further:
    """A mapping of integers in a temporary file, for more of them than memory should contain.

    Entries cannot be removed.
    """

    def __init__(self) -> None:
        self._table = sqlite3.connect(
            "", isolation_level=None, check_same_thread=False, factory=_Connection
        )
        self._table.execute("PRAGMA synchronous = OFF")
        self._table.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, value BLOB)")
        self._table.execute("BEGIN")

    def setdefault(self, number: int, value: int) -> int:
        """Return the value of a number; one without a value gets this one."""
        cursor = self._table.execute(
            "INSERT OR IGNORE INTO entries (number, value) VALUES (?, ?)",
            (number, value.to_bytes(16, "big")),
        )
        if cursor.rowcount:
            return value
        query = "SELECT value FROM entries WHERE number = ?"
        [stored] = self._table.execute(query, (number,)).fetchone()
        return int.from_bytes(stored, "big")


def writing(path: Path) -> sqlite3.Connection:
    """Open a run file for writing, with the write-ahead log that lets others read meanwhile."""
    connection = sqlite3.connect(path, check_same_thread=False, timeout=30.0, factory=_Connection)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        # The page size of a new file; it is a quarter cheaper for examples of 10 KiB.
        connection.execute("PRAGMA page_size = 8192")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Open:
    """A read-only connection of one thread, and the values that were computed from it."""

    def __init__(self, place: Path, path: Path) -> None:
        self.depth = 0
        self.is_over = False
        self.place = place
        self.path = path
        self.state = _state(place, path)
        self.connection = _reading(place, path, self._is_frozen)
        self.version = 0
        self.remembered: dict[str, Any] = {}

    @property
    def _is_frozen(self) -> bool:
        return not self.state[-1] and not _is_copy(self.place)

    @property
    def is_outdated(self) -> bool:
        """Whether a file that is read without locks has changed since."""
        return self._is_frozen and _state(self.place, self.path) != self.state

    def close_soon(self) -> None:
        """Close the connection as soon as no snapshot is open: a thread may be reading from it."""
        self.is_over = True
        self.remembered = {}
        if self.depth == 0:
            self.connection.close()


class Source:
    """Read-only connections to a run file, one for each thread, opened when they are first needed.

    A file without a write-ahead log is read without locks, and without a file next to it, unless it
    is the local copy of a run that a store has. Afterwards it is checked that the file has not
    changed meanwhile.

    Attributes:
        path: The run file as the user named it.
        place: Its absolute path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = path.absolute()
        self._local = local()
        self._all: list[_Open] = []
        self._opening = RLock()

    def close(self) -> None:
        """Close the connections; the next question opens one again."""
        with self._opening:
            while self._all:
                self._all.pop().close_soon()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Open a snapshot of the file, without later commits. A snapshot within another one is the
        same.

        Raises:
            StoreError: The file cannot be read, or is not a valid run file.
        """
        with raising_store_errors(self.path):
            current = self._begin()
            ignored: tuple[type[Exception], ...] = ()
            try:
                yield current.connection
            except GeneratorExit:
                # The garbage collector may have closed the connection already.
                ignored = (sqlite3.Error, StoreError)
                raise
            finally:
                with suppress(*ignored):
                    self._end(current)

    def lines(self, query: str, *values: Any) -> list[Values]:
        """Return all lines of an SQL query; only this package speaks SQL."""
        with self.snapshot() as connection:
            return connection.execute(query, values).fetchall()

    def stream(self, query: str, *values: Any) -> Iterator[Values]:
        """Yield the lines of an SQL query over one snapshot of the file; only this package speaks
        SQL."""
        return chain.from_iterable(self.lists(query, *values, at_once=1))

    def lists(self, query: str, *values: Any, at_once: int = 256) -> Iterator[list[Values]]:
        """Yield the lines of an SQL query whose values are small, many at once."""
        with self.snapshot() as connection:
            cursor = connection.execute(query, values)
            try:  # not from the cursor itself: it cannot be closed after its connection
                yield from iter(partial(cursor.fetchmany, at_once), [])
            finally:  # an open statement cannot be repeated by Python 3.10
                with suppress(sqlite3.Error):
                    cursor.close()

    def records(self, kind: type[Line], query: str, *values: Any) -> Iterator[Line]:
        """Yield the lines of an SQL query as named tuples of a kind, whose types the values must
        have."""
        return as_records(kind, self.stream(query, *values))

    def remember(self, name: str, compute: Callable[[], Value]) -> Value:
        """Return what a function computes from the file; it is called again only after a change
        that this thread's connection sees."""
        with self.snapshot() as connection:
            current: _Open = self._local.open
            [(version,)] = connection.execute("PRAGMA data_version")
            if current.version != version:
                current.version = version
                current.remembered = {}
            values = current.remembered
            if name not in values:
                values[name] = compute()
            value: Value = values[name]
            return value

    def _begin(self) -> _Open:
        with self._opening:
            current: _Open | None = getattr(self._local, "open", None)
            is_idle = current is not None and current.depth == 0 and not current.is_over
            if current is not None and is_idle and current.is_outdated:
                self._leave(current)
            if current is None or current.is_over:
                current = _Open(self.place, self.path)
                self._local.open = current
                self._all.append(current)
            if current.depth == 0:
                current.connection.execute("BEGIN")
            current.depth += 1
            return current

    def _end(self, current: _Open) -> None:
        with self._opening:
            current.depth -= 1
            if current.depth == 0:
                current.connection.rollback()
                is_outdated = current.is_outdated
                if current.is_over or is_outdated:
                    self._leave(current)
                if is_outdated:
                    raise ChangedRunFileError(str(self.path))

    def _leave(self, opened: _Open) -> None:
        opened.close_soon()
        if opened in self._all:
            self._all.remove(opened)


@contextmanager
def raising_store_errors(path: Path) -> Iterator[None]:
    """Turn every error of foreign data into a StoreError that names the file."""
    try:
        yield
    except ContextBenchError:
        raise
    except sqlite3.OperationalError as error:
        raise StoreError(f"The run file {path} cannot be read: {error}.") from error
    except _DAMAGE as error:
        message = next(iter(str(error).splitlines()), type(error).__name__)
        raise StoreError(f"{path} is not a run file, or is damaged: {message}.") from error


def _state(place: Path, path: Path) -> tuple[Any, ...]:
    """Return values that change when a file does; the last one is whether it has a write-ahead log
    that is not empty."""
    try:
        status = os.stat(place)
    except OSError:
        status = None
    if status is not None and S_ISDIR(status.st_mode):
        raise StoreError(f"{path} is a folder, not a run file.")
    if status is None or not S_ISREG(status.st_mode):
        raise StoreError(f"There is no run file {path}. `context-bench run` writes them to runs/.")
    has_log = False
    with suppress(OSError):
        has_log = os.stat(f"{place}-wal").st_size > 0
    return status.st_ino, status.st_size, status.st_mtime_ns, has_log


def copies_folder() -> Path:
    """Return the folder of the local copies of runs that stores have."""
    return data_folder() / "stores"


def _is_copy(place: Path) -> bool:
    """Whether a run file may be brought up to date at any moment: it is then always read with
    locks."""
    with suppress(RuntimeError):  # a user without a home has no copies
        return place.parent.parent == copies_folder().absolute()
    return False


def _reading(place: Path, path: Path, is_frozen: bool) -> sqlite3.Connection:
    address = f"{Path(os.path.realpath(place)).as_uri()}?mode=ro"
    if is_frozen:
        address += "&immutable=1"
    connection = sqlite3.connect(
        address,
        uri=True,
        check_same_thread=False,
        timeout=30.0,
        isolation_level=None,
        factory=_Connection,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        if sys.version_info >= (3, 11):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


_LAST = (1 << 63) - 1
_ROW_IDS = "SELECT id FROM responses UNION SELECT response FROM failures WHERE stage = 'system'"

_HAS_ROW = (
    "SELECT 1 FROM responses WHERE id = ? UNION ALL "
    "SELECT 1 FROM failures WHERE response = ? AND stage = 'system'"
)


_MAPPINGS = frozenset({"config", "description", "keys", "plan", "provenance"})
"""Columns of the tables about the run that hold a mapping as JSON."""


class RunReader(Source):
    """Reads a run file. Nothing is written, and nothing in the file is trusted.

    Args:
        path: The run file.

    Raises:
        StoreError: It is missing, is no run file, is damaged, or was written in another format.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._other_baseline: int | None = None
        self.lines("SELECT 1")

    @contextmanager
    def apart(self) -> Iterator[RunReader]:
        """Open another reader of the file for a long snapshot, while this one sees new commits."""
        with closing(RunReader(self.place)) as reader:
            reader._other_baseline = self._other_baseline
            yield reader

    def facts(self) -> dict[str, str]:
        """Return the table of single facts about the file: its format, the warnings and the
        like."""
        return {str(name): str(value) for name, value in self.lines("SELECT name, value FROM meta")}

    def run(self) -> dict[str, Any]:
        """Return what was recorded about the run itself."""
        with self.snapshot():
            [run] = self._table(
                "run", "id", "created", "finished", "status", "config", "provenance"
            )
            return run

    def configuration(self) -> tuple[str, str]:
        """Return the id of the run, and its configuration as the JSON that the file holds."""
        [(run, config)] = self.lines("SELECT id, config FROM run")
        return str(run), str(config)

    def scorings(self) -> dict[str, int]:
        """Return how many responses each evaluator has scored, by its id."""
        query = (
            "SELECT evaluators.id, count(*) FROM evaluations "
            "JOIN evaluators ON evaluators.number = evaluator GROUP BY 1"
        )
        return {str(name): int(count) for name, count in self.lines(query)}

    def warnings(self) -> list[str]:
        """Return what was recorded for the user, a line each."""
        with self.snapshot():
            return [str(line) for line in self._fact("warnings") or ()]

    def metrics(self) -> dict[str, Any]:
        """Return the metrics that the run computed, with their values; empty before its end."""
        with self.snapshot():
            return dict(self._fact("metrics") or {})

    def seconds(self) -> float | None:
        """Return the seconds of all sessions, each to its last row; None of a merged run."""
        with self.snapshot():
            seconds = self._fact("seconds")
            return None if seconds is None else float(seconds)

    def _fact(self, name: str) -> Any:
        """Return a single fact that is stored as JSON; None without one."""
        for (value,) in self.lines("SELECT value FROM meta WHERE name = ?", name):
            return from_json(value)
        return None

    def systems(self) -> list[dict[str, Any]]:
        """Return the systems in the order of their numbers."""
        columns = ("system_number", "label", "key", "reusable", "description")
        return [
            {**system, "reusable": bool(system["reusable"])}
            for system in self._table("systems", *columns)
        ]

    def datasets(self) -> list[dict[str, Any]]:
        """Return the datasets in the order of their numbers."""
        return self._table("datasets", "number", "label", "description", "length", "content")

    def evaluators(self) -> list[dict[str, Any]]:
        """Return the evaluators in the order of their numbers."""
        return self._table("evaluators", "number", "id", "key", "provenance")

    def names(self) -> tuple[dict[int, str], dict[int, str]]:
        """Return the labels of the systems by number, and the ids of the evaluators by number."""
        systems = {system["system_number"]: system["label"] for system in self.systems()}
        evaluators = {evaluator["number"]: evaluator["id"] for evaluator in self.evaluators()}
        return systems, evaluators

    def _table(self, table: str, *columns: str) -> list[dict[str, Any]]:
        """Return the lines of a table by column, in the order of the first column.

        Some columns contain a mapping as JSON.
        """
        with self.snapshot():
            query = f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1"
            entries = [dict(zip(columns, line)) for line in self.lines(query)]
            for entry in entries:
                for name in _MAPPINGS.intersection(entry):
                    entry[name] = from_json(entry[name])
                    if not isinstance(entry[name], dict):
                        raise StoreError(
                            f"{self.path} is damaged: {table}.{name} is not a mapping."
                        )
            return entries

    def labels(self) -> list[Label]:
        """Return the wiring of each dataset label."""
        with self.snapshot():
            return [
                Label(
                    number=entry["number"],
                    label=entry["label"],
                    primary=entry["primary_score"],
                    keys={key: KeyMeaning(*meaning) for key, meaning in entry["keys"].items()},
                    plan=entry["plan"],
                )
                for entry in self._table(
                    "labels", "number", "label", "primary_score", "keys", "plan"
                )
            ]

    def counts(self) -> dict[int, tuple[int, int]]:
        """Return how many rows were answered and how many failed at the system, by system
        number."""
        query = "SELECT {}, count(*) FROM {} GROUP BY 1"
        answered_query = query.format("system_number", "responses")
        failed_query = query.format(sql_system_of("response"), "failures WHERE stage = 'system'")
        with self.snapshot():
            answered: dict[int, int] = dict(self.lines(answered_query))
            failed: dict[int, int] = dict(self.lines(failed_query))
        return {
            number: (answered.get(number, 0), failed.get(number, 0))
            for number in answered.keys() | failed.keys()
        }

    @property
    def has_examples(self) -> bool:
        """Whether all examples are stored whole."""
        return not self.lines("SELECT 1 FROM examples WHERE body IS NULL LIMIT 1")

    @property
    def has_turns(self) -> bool:
        """Whether turns of conversations are stored."""
        return bool(self.lines("SELECT 1 FROM turns LIMIT 1"))

    def output(self, number: int) -> str:
        """Return the JSON of an answered row's output."""
        [(output,)] = self.lines("SELECT output FROM responses WHERE id = ?", number)
        return str(output)

    def turns(self, row: RowId) -> list[TurnColumns]:
        """Return the answered turns of a row's conversation, in order.

        Raises:
            StoreError: One has a wrong checksum.
        """
        query = TURNS.select_statement("WHERE response = ? ORDER BY turn")
        turns = []
        with self.snapshot():
            for number, turn, check_sum in TURNS.read(self.lines(query, row.pack())):
                TURNS.verify(number, turn, check_sum)
                turns.append(turn)
        return turns

    def use_baseline(self, system_number: int) -> None:
        """Read the rows next to those of another baseline than the recorded one; nothing is
        written."""
        self._other_baseline = system_number

    def baseline(self) -> int | None:
        """Return the number of the system that the others are compared with, or None."""
        if self._other_baseline is not None:
            return self._other_baseline
        for system in self.systems():
            if system["description"].get("baseline"):
                return int(system["system_number"])
        return None

    def paired(self) -> dict[int, int]:
        """Return the number of the baseline of each system that has its own baseline."""
        if self._other_baseline is not None:
            return {}
        baselines = {
            system["system_number"]: system["description"].get("held_against")
            for system in self.systems()
        }
        return {number: baseline for number, baseline in baselines.items() if baseline in baselines}

    def reference(self) -> ReferenceSystem | None:
        """Return the system whose responses replace gold answers, or None."""
        with self.snapshot():
            for system in self.systems():
                if "reference" in system["description"]:
                    reference = system["description"]["reference"]
                    return ReferenceSystem(system["system_number"], reference["repetitions"])
        return None

    def row_ids(self) -> Iterator[int]:
        """Yield the packed identity of every row, answered or failed, in canonical order."""
        return (number for (number,) in self.stream(f"{_ROW_IDS} ORDER BY 1"))

    def size(self) -> int:
        """Return the number of rows, answered or failed."""
        return self._places().size

    def id_at(self, index: int) -> int:
        """Return the packed identity of a row by its index in canonical order, from 0.

        For a finished run whose rows leave no gap, the identity is computed from the index.
        """
        return self._places().id_at(index)

    def _places(self) -> _Places:
        return self.remember("places", lambda: _Places(self))

    def rows(self, first: int = 0, last: int = _LAST) -> Iterator[EvalRow]:
        """Yield every row in canonical order, or those between two packed identities.

        Raises:
            StoreError: A row does not match its check sum.
        """
        yield from self._rows([(first, last)])

    def rows_at(self, numbers: Iterable[int]) -> Iterator[EvalRow]:
        """Yield the rows with these packed identities, where they exist."""
        yield from self._rows((number, number) for number in numbers)

    def _rows(self, ranges: Iterable[tuple[int, int]]) -> Iterator[EvalRow]:
        with self.snapshot() as connection:
            reader = self.remember(
                f"rows with baseline {self._other_baseline}", lambda: RowReader(self)
            )
            for first, last in ranges:
                yield from reader.read(connection, first, last)

    @contextmanager
    def baselines(self) -> Iterator[Callable[[int], BaselineRow | None]]:
        """Open a look-up of the baseline's row for a packed identity; identities must come in
        order."""
        number = self.baseline()
        with self.snapshot() as connection:
            if number is None:
                yield _NO_BASELINES.get
            else:
                yield Baselines(connection, number, self.paired()).of


_NO_BASELINES: dict[int, BaselineRow] = {}


class _Places:
    """The identities of rows by index: computed where rows leave no gap, else listed in eight bytes
    each."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader
        self._listed: array[int] | None = None
        self._repetitions = 0
        self._datasets: list[int] = []
        self._starts: list[int] = []
        self._systems = [
            number for (number,) in reader.lines("SELECT system_number FROM systems ORDER BY 1")
        ]
        rows = reader.facts().get("rows", "")
        if reader.lines("SELECT 1 FROM run WHERE status = 'finished'") and rows.isdecimal():
            self.size = int(rows)
            self._compute()
        else:
            self.size = sum(map(sum, reader.counts().values()))

    def _compute(self) -> None:
        lengths: dict[int, Any] = dict(
            self._reader.lines(
                "SELECT number, length FROM datasets WHERE length IS NOT 0 ORDER BY number"
            )
        )
        rows_once = 0
        if None not in lengths.values():
            rows_once = sum(lengths.values()) * len(self._systems)
        if not rows_once or self.size % rows_once:
            return
        if self._systems != list(range(len(self._systems))):
            return
        start = 0
        for number, length in lengths.items():
            first = RowId(number, 0).pack()
            last = last_of(RowId(number, MAX_POSITIONS - 1).pack())
            [(last_example,)] = self._reader.lines(
                "SELECT max(id) FROM examples WHERE id BETWEEN ? AND ?", first, last
            )
            if last_example is None or RowId.unpack(last_example).position != length - 1:
                return  # a sample of the dataset, whose positions leave gaps
            self._datasets.append(number)
            self._starts.append(start)
            start += length * len(self._systems) * (self.size // rows_once)
        self._repetitions = self.size // rows_once

    def id_at(self, index: int) -> int:
        if self._repetitions and self._listed is None:
            number = self._computed(index)
            if self._reader.lines(_HAS_ROW, number, number):
                return number
        if self._listed is None:
            self._listed = array("q", self._reader.row_ids())
        return self._listed[index]

    def _computed(self, index: int) -> int:
        dataset = bisect_left(self._starts, index + 1) - 1
        example_and_system, repetition = divmod(index - self._starts[dataset], self._repetitions)
        position, system_number = divmod(example_and_system, len(self._systems))
        return RowId(
            dataset=self._datasets[dataset],
            position=position,
            system_number=system_number,
            repetition=repetition,
        ).pack()


def draft_of(path: Path) -> Path:
    """Return the path of the draft of a rescoring, which it writes until it completes."""
    return path.with_name(f"{path.name}.rescoring")

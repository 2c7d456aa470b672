"""The tables of a run file that hold rows, each derived from the attrs class that declares its
columns.

A class of columns says names, types and meanings. From it follow the statement that creates the
table, those that insert and read its lines, and the checksum of each line. No other code names the
columns in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from marshal import dumps
from operator import attrgetter
from sqlite3 import Connection
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints
from zlib import crc32

from attrs import define, field

from context_bench.columns import RowColumns, column, types_of
from context_bench.errors import StoreError
from context_bench.store.encoding import storable
from context_bench.store.keys import COMPUTED_OF_EXAMPLE, COMPUTED_OF_ROW, RowId

Values = tuple[Any, ...]
Record = TypeVar("Record")

_LINES_AT_ONCE = (40, 8, 1)
"""How many lines one statement inserts; of at most 24 values each: SQLite may be built for 999 in
one statement."""

SQL_TYPES = {bool: "INTEGER", int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}


def _storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)


@define(eq=False, kw_only=True)
class ExampleColumns:
    """An example, stored once for all systems."""

    example_id: str = field(
        converter=storable,
        metadata=column("its `id` as text, or `#` and its position when it had none"),
    )
    label: int = field(metadata=column("number of its label"))
    hash: bytes = field(metadata=column("key of the whole example"))
    cluster: str | None = field(
        default=None,
        metadata=column(
            "by what its rows hang together with others: `cluster`, `session_id` or `context`, a "
            "colon, and a hash of that field; null when it has none of them"
        ),
    )
    body: str | None = field(
        default=None, metadata=column("JSON: the example; null when examples are not stored")
    )


@define(eq=False, kw_only=True)
class ResponseColumns(RowColumns):
    """An answer, with what was measured about it."""

    key: bytes = field(metadata=column("response key"))
    output_hash: bytes = field(default=b"", metadata=column("hash of the output"))
    measured: str | None = field(
        default=None,
        metadata=column(
            "JSON: what else was measured about the call, such as response headers and the time "
            "to the first token"
        ),
    )
    output: str = field(
        default="",
        metadata=column(
            "JSON: everything that the system returned, but for measurements of the call"
        ),
    )


@define(eq=False, kw_only=True)
class TurnColumns:
    """The answer to one turn of a conversation."""

    turn: int = field(
        metadata=column("number of the turn among those that were asked, counted from 0")
    )
    key: bytes = field(
        metadata=column("response key, with everything that was said up to the turn")
    )
    latency: float = field(metadata=column("seconds"))
    attempts: int = field(metadata=column("how often the system was called"))
    measured: str | None = field(metadata=column("JSON: what else was measured about the call"))
    output: str = field(
        metadata=column(
            "JSON: everything that the system returned for this turn, but for measurements of "
            "the call"
        )
    )


@define(eq=False, kw_only=True)
class EvaluationColumns:
    """What one evaluator said about one answer, scores aside."""

    evaluator: int = field(metadata=column("number of the evaluator"))
    key: bytes = field(metadata=column("score key"))
    unscored: str | None = field(
        default=None,
        converter=_storable_or_none,
        metadata=column("why there is no score"),
    )
    details: str | None = field(
        default=None, metadata=column("JSON: what it said beyond its scores")
    )


@define(eq=False, kw_only=True)
class ScoreColumns:
    """One score of one answer."""

    evaluator: int = field(metadata=column("number of the evaluator"))
    name: str = field(metadata=column("score key, with its prefix"))
    value: float = field(metadata=column("the score"))
    shown: bool = field(
        default=True,
        converter=bool,
        metadata=column("0 when the evaluator leaves this key to another one"),
    )


@define(eq=False, kw_only=True)
class FailureColumns:
    """What went wrong with one row."""

    stage: str = field(metadata=column("`system` or `evaluator`"))
    evaluator: int = field(metadata=column("number of the evaluator; -1 for the system"))
    kind: str = field(metadata=column("class of the error"))
    message: str = field(converter=storable, metadata=column("the text of the error"))
    attempts: int = field(metadata=column("how often it was tried"))
    latency: float = field(metadata=column("seconds until the system failed"))
    input_tokens: int = field(metadata=column("tokens of the text that the system was given"))
    cost: float | None = field(
        default=None,
        metadata=column(
            "what the answered turns of the conversation cost before it failed, in the currency of "
            "the run; null when unknown"
        ),
    )
    traceback: str = field(converter=storable, metadata=column("the traceback"))


class Table(Generic[Record]):
    """A table whose lines are records of one class, each of them about the row with a packed
    identity.

    Args:
        name: Name of the table.
        record: Class that declares the columns.
        identity: Name of the first column, which holds the packed identity.
        within: Columns that, with the identity, tell the lines of the table apart.
        computed: SQL expressions by name: columns that SQLite computes from the identity.
        has_checksum: Whether each line ends with a checksum.
    """

    def __init__(
        self,
        name: str,
        record: type[Record],
        *,
        identity: str = "response",
        within: Sequence[str] = (),
        computed: dict[str, str] | None = None,
        has_checksum: bool = True,
    ) -> None:
        self.name = name
        self.record = record
        self.identity = identity
        self.within = tuple(within)
        self.computed = computed or {}
        self.has_checksum = has_checksum

    @cached_property
    def _types(self) -> dict[str, tuple[type, bool]]:
        """Type of each declared column, and whether it can be null, by name."""
        types = {}
        for name, annotation in types_of(self.record).items():
            members = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
            [kind] = [member for member in members if member is not NoneType]
            types[name] = (kind, NoneType in members)
        return types

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the declared columns."""
        return tuple(self._types)

    @cached_property
    def stored_names(self) -> tuple[str, ...]:
        """Names of the columns of a stored line: identity, declared columns, checksum."""
        checksum = ("check_sum",) if self.has_checksum else ()
        return (self.identity, *self.names, *checksum)

    @cached_property
    def allowed(self) -> tuple[Any, ...]:
        """Types that a stored line may have, for :func:`of_types`."""
        declared = []
        for kind, is_nullable in self._types.values():
            stored = int if kind is bool else kind
            declared.append(stored | None if is_nullable else stored)
        checksum = (int,) if self.has_checksum else ()
        return (int, *declared, *checksum)

    @property
    def create_statement(self) -> str:
        """The SQL that creates the table."""
        columns = [f"{self.identity} INTEGER {'NOT NULL' if self.within else 'PRIMARY KEY'}"]
        columns += [
            f"{name} INTEGER GENERATED ALWAYS AS ({expression}) VIRTUAL"
            for name, expression in self.computed.items()
        ]
        for name, (kind, is_nullable) in self._types.items():
            columns.append(f"{name} {SQL_TYPES[kind]}{'' if is_nullable else ' NOT NULL'}")
        if self.has_checksum:
            columns.append("check_sum INTEGER NOT NULL")
        options = ""
        if self.within:
            columns.append(f"PRIMARY KEY ({', '.join((self.identity, *self.within))})")
            options = " WITHOUT ROWID"
        lines = ",\n    ".join(columns)
        return f"CREATE TABLE {self.name} (\n    {lines}\n){options}"

    @cached_property
    def insert_statements(self) -> dict[int, str]:
        """The SQL that inserts lines, each in the place of the line with its key, by the number of
        lines; most first."""
        insert = f"INSERT OR REPLACE INTO {self.name} ({', '.join(self.stored_names)}) VALUES "
        places = f"({', '.join('?' * len(self.stored_names))})"
        return {count: insert + ", ".join([places] * count) for count in _LINES_AT_ONCE}

    def select_statement(self, rest: str) -> str:
        """Return the SQL that reads whole lines, given what follows the name of the table."""
        return f"SELECT {', '.join(self.stored_names)} FROM {self.name} {rest}"

    @cached_property
    def _values_of(self) -> attrgetter[Any]:
        return attrgetter(*self.names)

    def lines(
        self,
        records: Iterable[tuple[int, object]],
        covered: Iterable[Iterable[Values]] = repeat(()),
    ) -> list[Values]:
        """Return the lines that store records.

        Args:
            records: Packed identities of rows, each with an object that has the declared
                attributes.
            covered: For each record other lines that its checksum covers.

        Raises:
            StoreError: A value cannot be stored.
        """
        lines = [(number, *self._values_of(record)) for number, record in records]
        if not self.has_checksum:
            return lines
        return [(*line, checksum(line, others)) for line, others in zip(lines, covered)]

    def read(self, lines: Iterable[Values]) -> Iterator[tuple[int, Record, int]]:
        """Yield packed identity, record and checksum of lines that :meth:`select_statement` reads.

        Raises:
            StoreError: A line has a value of another type.
        """
        names = self.names
        record = self.record
        for number, *values in of_types(self.allowed, lines, self.name):
            yield number, record(**dict(zip(names, values))), values[-1]

    def verify(
        self, number: int, record: Record, check_sum: int, covered: Iterable[Values] = ()
    ) -> None:
        """Check that a line has the checksum of its record.

        Raises:
            StoreError: The line has another one.
        """
        if checksum((number, *self._values_of(record)), covered) != check_sum:
            raise StoreError(
                f"The run file is damaged at {RowId.unpack(number)}: a line of table {self.name} "
                "has a wrong checksum."
            )


EXAMPLES = Table("examples", ExampleColumns, identity="id", computed=COMPUTED_OF_EXAMPLE)
RESPONSES = Table("responses", ResponseColumns, identity="id", computed=COMPUTED_OF_ROW)
TURNS = Table("turns", TurnColumns, within=("turn",))
EVALUATIONS = Table("evaluations", EvaluationColumns, within=("evaluator",))
SCORES = Table("scores", ScoreColumns, within=("evaluator", "name"), has_checksum=False)
FAILURES = Table("failures", FailureColumns, within=("stage", "evaluator"))
ROW_TABLES: tuple[Table[Any], ...] = (
    EXAMPLES,
    RESPONSES,
    TURNS,
    EVALUATIONS,
    SCORES,
    FAILURES,
)


def insert(connection: Connection, table_lines: Mapping[Table[Any], Sequence[Values]]) -> None:
    """Insert lines of several tables, many by one statement.

    Each statement lets other threads run, and waits for its turn again.
    """
    for table, lines in table_lines.items():
        start = 0
        for count, statement in table.insert_statements.items():
            while len(lines) - start >= count:
                values = list(chain.from_iterable(lines[start : start + count]))
                connection.execute(statement, values)
                start += count


def checksum(values: Values, covered: Iterable[Values] = ()) -> int:
    """Return the checksum of values, and of other lines that it covers.

    It is the CRC-32 of the values in version 2 of Python's marshal format. That version writes each
    value as its type and its bytes, without references between them, and is the same in every
    Python. It takes a fifth of the time of ``repr``.

    Raises:
        StoreError: A value cannot be stored.
    """
    try:
        whole = dumps((*values, *covered), 2)
    except ValueError as error:
        raise StoreError(f"A row cannot be written: {error}.") from error
    checked = 0
    view = memoryview(whole)
    for start in range(0, len(whole), _SUMMED_AT_ONCE):
        checked = crc32(view[start : start + _SUMMED_AT_ONCE], checked)
    return checked


_SUMMED_AT_ONCE = 5 * 1024
"""Bytes for which a checksum does not release Python's lock; see
:func:`context_bench.store.keys.hashed`."""


Line = TypeVar("Line", bound=NamedTuple)


def as_records(kind: type[Line], lines: Iterable[Values]) -> Iterator[Line]:
    """Yield the lines of a query as named tuples.

    Raises:
        StoreError: A value is not of the type that the named tuple declares.
    """
    allowed = tuple(get_type_hints(kind).values())
    return map(kind._make, of_types(allowed, lines, kind.__name__))


def of_types(allowed: Sequence[Any], lines: Iterable[Values], where: str) -> Iterator[Values]:
    """Yield lines whose values are of the allowed types: SQLite accepts any value in any column.

    Raises:
        StoreError: A value has another type.
    """
    return chain.from_iterable(groups_of_types(allowed, ((line,) for line in lines), where))


def groups_of_types(
    allowed: Sequence[Any], groups: Iterable[Sequence[Values]], where: str
) -> Iterator[Sequence[Values]]:
    """Yield groups of lines, as :func:`of_types` yields lines.

    Raises:
        StoreError: A value has another type.
    """
    known_shapes: set[tuple[type, ...]] = set()
    for group in groups:
        for values in group:
            shape = tuple(map(type, values))
            if shape not in known_shapes:
                if not all(map(isinstance, values, allowed)):
                    raise StoreError(
                        f"The run file is damaged: a value in {where} has a type that it cannot "
                        "have."
                    )
                known_shapes.add(shape)
        yield group

"""The tables of the database: those of a run file, for all runs together, with the number of the run
and that of the commit that wrote the line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from context_bench.protocols import TableLayout

SCHEMA = "context_bench"
_TYPES = {"INTEGER": "bigint", "REAL": "double precision", "TEXT": "text", "BLOB": "bytea"}
_ESCAPE = "\x10"
"""Text of PostgreSQL cannot hold a zero character, so it is written as this one and ``0``."""

Line = tuple[Any, ...]

RUNS = f"""
CREATE TABLE {SCHEMA}.runs (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    identity uuid NOT NULL DEFAULT gen_random_uuid(),
    commits  bigint NOT NULL DEFAULT 0,
    base     bigint NOT NULL DEFAULT 0,
    session  bigint NOT NULL DEFAULT 0,
    writer   text NOT NULL DEFAULT ''
);
CREATE TABLE {SCHEMA}.removed (
    run_number    bigint NOT NULL,
    commit_number bigint NOT NULL,
    table_name    text NOT NULL,
    key           text NOT NULL
);
CREATE INDEX ON {SCHEMA}.removed (run_number, commit_number);
CREATE TABLE {SCHEMA}.format (tables text NOT NULL)
"""
RESULTS = f"""
CREATE VIEW {SCHEMA}.results AS
SELECT runs.name AS run, systems.label AS system, labels.label AS dataset, examples.example_id,
       responses.repetition, evaluators.id AS evaluator, scores.name AS score, scores.value,
       responses.latency
FROM {SCHEMA}.scores
JOIN {SCHEMA}.runs ON runs.number = scores.run_number
JOIN {SCHEMA}.responses ON responses.run_number = runs.number AND responses.id = scores.response
JOIN {SCHEMA}.examples ON examples.run_number = runs.number
    AND examples.dataset = responses.dataset AND examples.position = responses.position
JOIN {SCHEMA}.systems ON systems.run_number = runs.number
    AND systems.system_number = responses.system_number
JOIN {SCHEMA}.labels ON labels.run_number = runs.number AND labels.number = examples.label
JOIN {SCHEMA}.evaluators ON evaluators.run_number = runs.number
    AND evaluators.number = scores.evaluator
"""


class MirroredTable:
    """A table of run files in the database.

    Attributes:
        layout: What a run file stores in it.
    """

    def __init__(self, layout: TableLayout) -> None:
        self.layout = layout
        self.name = f'{SCHEMA}."{layout.name}"'
        self._columns = list(layout.columns)
        self._types = [_TYPES[kind] for kind in layout.columns.values()]
        self._texts = [kind == "TEXT" for kind in layout.columns.values()]

    @property
    def create_statements(self) -> list[str]:
        """The SQL that creates the table."""
        columns = ["run_number bigint NOT NULL", "commit_number bigint NOT NULL"]
        columns += [f'"{name}" {kind}' for name, kind in zip(self._columns, self._types)]
        columns += [
            f'"{name}" bigint GENERATED ALWAYS AS ({expression}) STORED'
            for name, expression in self.layout.computed.items()
        ]
        columns.append(f"PRIMARY KEY (run_number, {_names(self.layout.key)})")
        return [
            f"CREATE TABLE {self.name} ({', '.join(columns)})",
            f"CREATE INDEX ON {self.name} (run_number, commit_number)",
        ]

    @property
    def write_statement(self) -> str:
        """The SQL that writes lines, given the numbers of run and commit, and :meth:`arrays`."""
        arrays = ", ".join(f"%s::{kind}[]" for kind in self._types)
        changed = [name for name in self._columns if name not in self.layout.key]
        updates = ", ".join(f'"{name}" = EXCLUDED."{name}"' for name in ("commit_number", *changed))
        return (
            f"INSERT INTO {self.name} (run_number, commit_number, {_names(self._columns)}) "
            f"SELECT %s, %s, * FROM unnest({arrays}) "
            f"ON CONFLICT (run_number, {_names(self.layout.key)}) DO UPDATE SET {updates}"
        )

    def arrays(self, lines: Sequence[Line]) -> list[list[Any]]:
        """Return the values of lines by column."""
        arrays = [list(values) for values in zip(*lines)]
        for place, is_text in enumerate(self._texts):
            if is_text:
                arrays[place] = [escaped(value) for value in arrays[place]]
        return arrays

    @property
    def remove_statement(self) -> str:
        """The SQL that removes lines, given the number of the run, and the values of their keys by
        column."""
        arrays = ", ".join(f"%s::{_TYPES[self.layout.columns[name]]}[]" for name in self.layout.key)
        equal = " AND ".join(f'line."{name}" = gone."{name}"' for name in self.layout.key)
        return (
            f"DELETE FROM {self.name} AS line USING unnest({arrays}) "
            f"AS gone ({_names(self.layout.key)}) WHERE line.run_number = %s AND {equal}"
        )

    def keys(self, removed: Sequence[Line]) -> list[list[Any]]:
        """Return the values of keys by column."""
        return [[escaped(value) for value in values] for values in zip(*removed)]

    @property
    def read_statement(self) -> str:
        """The SQL that reads the lines of a run after a commit, in the order of their keys."""
        return (
            f"SELECT {_names(self._columns)} FROM {self.name} "
            f"WHERE run_number = %s AND commit_number > %s ORDER BY {_names(self.layout.key)}"
        )

    def read(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield lines as a run file has them."""
        for line in lines:
            yield tuple(map(plain, line))


def write_key(key: Line) -> str:
    """Return the key of a removed line as text."""
    return json.dumps(key)


def read_key(text: str) -> Line:
    """Return the key that :func:`write_key` wrote."""
    return tuple(json.loads(text))


def format_of(tables: Iterable[TableLayout]) -> str:
    """Return what differs where the tables of a run file do."""
    told = [(table.name, dict(table.columns), table.key, dict(table.computed)) for table in tables]
    return sha256(repr(told).encode()).hexdigest()


def _names(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def escaped(value: Any) -> Any:
    """Return a value as the database can hold it."""
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return value


def plain(value: Any) -> Any:
    """Return the value that :func:`escaped` wrote."""
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)
    return value

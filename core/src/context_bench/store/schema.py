"""What a run file defines: the tables about a run, next to those of its rows, and the view for
readers with other tools.

``docs/reference/run-file.md`` describes them.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path
from typing import NamedTuple

from context_bench.errors import StoreError
from context_bench.store.keys import sql_example_of
from context_bench.store.tables import ROW_TABLES

SCHEMA_VERSION = 4
APPLICATION_ID = 0x43_54_58_42  # "CTXB"

PLAN_TABLES = """
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE run (
    id         TEXT PRIMARY KEY,
    created    TEXT NOT NULL,
    finished   TEXT,
    status     TEXT NOT NULL,
    config     TEXT NOT NULL,
    provenance TEXT NOT NULL
);

CREATE TABLE systems (
    system_number INTEGER PRIMARY KEY,
    label         TEXT NOT NULL UNIQUE,
    key           BLOB NOT NULL,
    reusable      INTEGER NOT NULL,
    description   TEXT NOT NULL
);

CREATE TABLE datasets (
    number      INTEGER PRIMARY KEY,
    label       TEXT NOT NULL,
    description TEXT NOT NULL,
    length      INTEGER,
    content     BLOB
);

CREATE TABLE labels (
    number   INTEGER PRIMARY KEY,
    label    TEXT NOT NULL UNIQUE,
    primary_score TEXT,
    keys     TEXT NOT NULL,
    plan     TEXT NOT NULL
);

CREATE TABLE evaluators (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    key        BLOB NOT NULL,
    provenance TEXT NOT NULL
);
"""

VIEWS = f"""
CREATE VIEW results AS
SELECT systems.label AS system, labels.label AS dataset, examples.example_id, responses.repetition,
       evaluators.id AS evaluator, scores.name AS score, scores.value, responses.latency
FROM scores
JOIN responses ON responses.id = scores.response
JOIN examples ON examples.id = {sql_example_of("responses.id")}
JOIN systems ON systems.system_number = responses.system_number
JOIN labels ON labels.number = examples.label
JOIN evaluators ON evaluators.number = scores.evaluator;
"""


def create_statements() -> list[str]:
    """Return the SQL statements that create the tables and views of a run file."""
    written = [*PLAN_TABLES.split(";"), *VIEWS.split(";")]
    statements = [statement for statement in written if statement.strip()]
    return [*(table.create_statement for table in ROW_TABLES), *statements]


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Compare all that a run file defines with what this version defines.

    Raises:
        StoreError: The file has another format, or defines something that no run file of this
            version does.
    """
    expected = _expected_objects()
    objects = [SchemaObject(*line) for line in connection.execute(_OBJECTS)]
    if not any((item.kind, item.name) == ("table", "meta") for item in objects):
        raise StoreError(f"{path} is not a run file: it has no table meta.")
    for item in objects:
        if item not in expected:
            _check_version(connection, path)
            raise StoreError(
                f"{path} is not as context-bench writes it: its {item.kind} "
                f"{str(item.name)[:60]!r} is not part of a run "
                "file. Nothing was read from it. Remove what was added, or open it with the "
                "version that wrote it."
            )
    _check_version(connection, path)
    missing = expected.difference(objects)
    if missing:
        first = min(missing)
        raise StoreError(f"{path} is damaged: it has no {first.kind} {first.name}.")


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    line = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    version = "none" if line is None else str(next(iter(line)))
    if version != str(SCHEMA_VERSION):
        raise StoreError(
            f"{path} has run-file format {version[:20]}; this version reads {SCHEMA_VERSION}. "
            "Open it with the version of context-bench that wrote it."
        )


class SchemaObject(NamedTuple):
    """A table, view or index as SQLite lists it."""

    kind: str
    name: str
    table: str
    sql: str | None


_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


@cache
def _expected_objects() -> frozenset[SchemaObject]:
    """Return what this format defines, as SQLite lists it."""
    connection = sqlite3.connect(":memory:")
    for statement in create_statements():
        connection.execute(statement)
    objects = frozenset(SchemaObject(*line) for line in connection.execute(_OBJECTS))
    connection.close()
    return objects

"""The tables of a run file. ``docs/reference/run-file.md`` describes them for readers with other tools."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError
from context_bench.store.keys import sql_example_of

SCHEMA_VERSION = 3
Values = tuple[Any, ...]
APPLICATION_ID = 0x43_54_58_42  # "CTXB"

TABLES = f"""
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
    slot        INTEGER PRIMARY KEY,
    label       TEXT NOT NULL UNIQUE,
    key         BLOB NOT NULL,
    shared      INTEGER NOT NULL,
    description TEXT NOT NULL
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
    headline TEXT,
    keys     TEXT NOT NULL,
    plan     TEXT NOT NULL
);

CREATE TABLE evaluators (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    key        BLOB NOT NULL,
    provenance TEXT NOT NULL
);

CREATE TABLE examples (
    id         INTEGER PRIMARY KEY,
    dataset    INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    example_id TEXT NOT NULL,
    label      INTEGER NOT NULL,
    hash       BLOB NOT NULL,
    body       TEXT,
    check_sum  INTEGER NOT NULL
);

CREATE TABLE responses (
    id            INTEGER PRIMARY KEY,
    dataset       INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    slot          INTEGER NOT NULL,
    sample        INTEGER NOT NULL,
    key           BLOB NOT NULL,
    output        TEXT NOT NULL,
    hash          BLOB NOT NULL,
    input_tokens  INTEGER NOT NULL,
    prompt_tokens INTEGER,
    response_tokens INTEGER NOT NULL,
    context_tokens INTEGER,
    cached_tokens INTEGER,
    cost          REAL,
    cost_source   TEXT,
    latency       REAL NOT NULL,
    system_latency REAL,
    attempts      INTEGER NOT NULL,
    measured      TEXT,
    reused        INTEGER NOT NULL,
    check_sum     INTEGER NOT NULL
);

CREATE TABLE turns (
    response  INTEGER NOT NULL,
    turn      INTEGER NOT NULL,
    key       BLOB NOT NULL,
    output    TEXT NOT NULL,
    latency   REAL NOT NULL,
    attempts  INTEGER NOT NULL,
    measured  TEXT,
    check_sum INTEGER NOT NULL,
    PRIMARY KEY (response, turn)
) WITHOUT ROWID;

CREATE TABLE evaluations (
    response  INTEGER NOT NULL,
    evaluator INTEGER NOT NULL,
    key       BLOB NOT NULL,
    unscored  TEXT,
    details   TEXT,
    check_sum INTEGER NOT NULL,
    PRIMARY KEY (response, evaluator)
) WITHOUT ROWID;

CREATE TABLE scores (
    response  INTEGER NOT NULL,
    evaluator INTEGER NOT NULL,
    name      TEXT NOT NULL,
    value     REAL NOT NULL,
    shown     INTEGER NOT NULL,
    PRIMARY KEY (response, evaluator, name)
) WITHOUT ROWID;

CREATE TABLE failures (
    response  INTEGER NOT NULL,
    stage     TEXT NOT NULL,
    evaluator INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    message   TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    latency   REAL NOT NULL,
    input_tokens INTEGER NOT NULL,
    traceback TEXT NOT NULL,
    check_sum INTEGER NOT NULL,
    PRIMARY KEY (response, stage, evaluator)
) WITHOUT ROWID;

CREATE VIEW results AS
SELECT systems.label AS system, labels.label AS dataset, examples.example_id, responses.sample,
       evaluators.id AS evaluator, scores.name AS score, scores.value, responses.latency
FROM scores
JOIN responses ON responses.id = scores.response
JOIN examples ON examples.id = {sql_example_of("responses.id")}
JOIN systems ON systems.slot = responses.slot
JOIN labels ON labels.number = examples.label
JOIN evaluators ON evaluators.number = scores.evaluator;
"""


@cache
def column_types() -> dict[str, tuple[Any, ...]]:
    """Return the types that the values of each table's columns may have."""
    types: dict[str, Any] = {"INTEGER": int, "TEXT": str, "REAL": float, "BLOB": bytes}
    found = {}
    for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", TABLES, re.DOTALL):
        columns = re.findall(
            r"^    \w+ +(INTEGER|TEXT|REAL|BLOB)( NOT NULL| PRIMARY KEY|)", body, re.MULTILINE
        )
        found[name] = tuple(
            types[kind] if is_given else types[kind] | None for kind, is_given in columns
        )
    return found


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Hold all that a run file defines against what this version does.

    Raises:
        StoreError: It was written in another format, or defines what no run file of ours does.
    """
    ours, objects = _objects(), connection.execute(_OBJECTS).fetchall()
    if not any(line[:2] == ("table", "meta") for line in objects):
        raise StoreError(f"{path} is no run file: it has no table meta.")
    for kind, name, *_ in (line for line in objects if line not in ours):
        raise StoreError(
            f"{path} is not as context-bench writes it: its {kind} {str(name)[:60]!r} is none of a run file's. Nothing was "
            "read from it; remove what was added, or open it with the version of context-bench that wrote it."
        )
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    version = str(found[0]) if found else ""
    if version != str(SCHEMA_VERSION):
        raise StoreError(
            f"{path} has run-file format {version[:20] or 'none'}; this version reads {SCHEMA_VERSION}. "
            "Open it with the version of context-bench that wrote it."
        )
    if lost := ours.difference(objects):
        raise StoreError(f"{path} is damaged: it has no {' '.join(min(lost)[:2])}.")


_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master"


@cache
def _objects() -> frozenset[Values]:
    """Return what this format defines, as SQLite tells it."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    found = frozenset(connection.execute(_OBJECTS).fetchall())
    connection.close()
    return found

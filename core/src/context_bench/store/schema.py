"""The tables of a run file. ``docs/reference/run-file.md`` describes them for readers with other tools."""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from context_bench.errors import StoreError
from context_bench.store.keys import sql_example_of

SCHEMA_VERSION = 2
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

SCHEMAS = {SCHEMA_VERSION: TABLES}
"""Every format that is read, by its version. A new version adds itself here, and keeps the one before it word for word:
run files are held against these texts before anything is read from them."""


@cache
def column_types() -> dict[str, tuple[frozenset[type], ...]]:
    """Return the types that the values of each table's columns may have."""
    types = {"INTEGER": int, "TEXT": str, "REAL": float, "BLOB": bytes}
    found: dict[str, tuple[frozenset[type], ...]] = {}
    for name, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", TABLES, re.DOTALL):
        columns = re.findall(r"^    \w+ +(INTEGER|TEXT|REAL|BLOB)(.*)$", body, re.MULTILINE)
        found[name] = tuple(
            frozenset({types[kind]} if "NOT NULL" in rule or "PRIMARY KEY" in rule else {types[kind], type(None)})
            for kind, rule in columns
        )
    return found


def check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a run file's format, after holding all that it defines against that format.

    Raises:
        StoreError: It was written in another format, or defines what no run file of ours does.
    """
    objects = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    if not any(line[:2] == ("table", "meta") for line in objects):
        raise StoreError(f"{path} is no run file: it has no table meta.")
    strange = [line for line in objects if line not in _every_object()]
    if strange:
        kind, name, *_ = strange[0]
        raise StoreError(
            f"{path} is not as context-bench writes it: its {kind} {str(name)[:60]!r} is none of a run file's. Nothing was "
            "read from it; remove what was added, or open it with the version of context-bench that wrote it."
        )
    found = connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    version = str(found[0]) if found else ""
    if not version.isdecimal() or int(version) not in SCHEMAS:
        raise StoreError(
            f"{path} has run-file format {version[:20] or 'none'}; this version reads {', '.join(map(str, SCHEMAS))}. "
            "Open it with the version of context-bench that wrote it."
        )
    missing = _objects(SCHEMAS[int(version)]) - set(objects)
    if missing:
        raise StoreError(f"{path} is damaged: it has no {' '.join(min(missing)[:2])}.")
    return int(version)


@cache
def _every_object() -> frozenset[Values]:
    return frozenset().union(*map(_objects, SCHEMAS.values()))


@cache
def _objects(tables: str) -> frozenset[Values]:
    """Return what a format defines, as SQLite tells it."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(tables)
    found = frozenset(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall())
    connection.close()
    return found

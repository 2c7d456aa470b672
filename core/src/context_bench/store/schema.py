"""The tables of a run file. ``docs/reference/run-file.md`` describes them for readers with other tools."""

from __future__ import annotations

SCHEMA_VERSION = 2
APPLICATION_ID = 0x43_54_58_42  # "CTXB"

TABLES = """
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
JOIN examples ON examples.id = responses.id & ~1048575
JOIN systems ON systems.slot = responses.slot
JOIN labels ON labels.number = examples.label
JOIN evaluators ON evaluators.number = scores.evaluator;
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

pytest.importorskip("context_bench_replay", reason="these runs need the replay plugin")
pytest.importorskip("context_bench_local", reason="these runs need the local plugin")
pytest.importorskip(
    "context_bench_answer_quality", reason="these runs need the answer-quality plugin"
)

ROWS = [
    {"id": "a", "question": "q", "answer": "Paris", "pred": "Paris"},
    {"id": "b", "question": "q", "answer": "Rome", "pred": "It is Rome"},
]
Run = Callable[..., Any]


@pytest.fixture
def run_file(context_bench: Run, jsonl: Run, tmp_path: Path) -> Path:
    done = context_bench(
        "run", "-s", "replay:field=pred", "-d", jsonl(ROWS), "-q", "--run-file", "r.sqlite"
    )
    assert done.code == 0
    return tmp_path / "r.sqlite"


def test_a_run_is_verified_and_its_scores_are_computed_again(
    context_bench: Run, run_file: Path
) -> None:
    before = run_file.read_bytes()
    done = context_bench("verify", "r.sqlite", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found == {
        "has_checksum": False,
        "rows": 2,
        "recomputed": 2,
        "left_out": 0,
        "problems": [],
        "notes": [],
    }
    assert run_file.read_bytes() == before


def test_a_file_that_differs_from_its_checksum_gives_exit_code_10(
    context_bench: Run, run_file: Path
) -> None:
    assert context_bench("verify", "r.sqlite", "--write-checksum").code == 0
    digest, name = (run_file.parent / "r.sqlite.sha256").read_text().split()
    assert (digest, name) == (sha256(run_file.read_bytes()).hexdigest(), "r.sqlite")
    done = context_bench("verify", "r.sqlite", "--json")
    assert (done.code, json.loads(done.out)["has_checksum"]) == (0, True)
    with closing(sqlite3.connect(run_file)) as connection, connection:
        connection.execute("UPDATE run SET status = 'stopped'")
    done = context_bench("verify", "r.sqlite")
    assert done.code == 10
    assert "r.sqlite.sha256" in done.out


def test_a_row_with_a_wrong_checksum_gives_exit_code_10(context_bench: Run, run_file: Path) -> None:
    with closing(sqlite3.connect(run_file)) as connection, connection:
        connection.execute("UPDATE responses SET latency = latency + 1 WHERE position = 1")
    done = context_bench("verify", "r.sqlite", "--json")
    assert done.code == 10
    [problem] = json.loads(done.out)["problems"]
    assert "position=1" in problem


def test_a_page_that_sqlite_finds_damaged_gives_exit_code_10(
    context_bench: Run, run_file: Path
) -> None:
    with closing(sqlite3.connect(run_file)) as connection:
        [(page,)] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'scores'"
        ).fetchall()
        [(size,)] = connection.execute("PRAGMA page_size").fetchall()
    content = bytearray(run_file.read_bytes())
    content[(page - 1) * size + 3] ^= 255  # the number of cells of the page
    run_file.write_bytes(content)
    assert context_bench("verify", "r.sqlite").code == 10


def test_a_score_that_does_not_come_out_again_is_told(context_bench: Run, run_file: Path) -> None:
    """A forger who repairs the checksums is still found by the scores themselves."""
    from marshal import dumps

    with closing(sqlite3.connect(run_file)) as connection, connection:
        [row] = connection.execute(
            "SELECT * FROM evaluations ORDER BY response DESC LIMIT 1"
        ).fetchall()
        connection.execute(
            "UPDATE scores SET value = 1.0 WHERE response = ? AND name = 'f1'", (row[0],)
        )
        scores = connection.execute(
            "SELECT * FROM scores WHERE response = ? ORDER BY name", (row[0],)
        ).fetchall()
        covered = [(*score[:-1], bool(score[-1])) for score in scores]
        forged = crc32(dumps((*row[:-1], *covered), 2))
        connection.execute(
            "UPDATE evaluations SET check_sum = ? WHERE response = ?", (forged, row[0])
        )
    done = context_bench("verify", "r.sqlite")
    assert done.code == 10
    assert "scored {" in done.out


def test_what_cannot_be_computed_again_is_named(context_bench: Run, jsonl: Run) -> None:
    context_bench(
        "run",
        "-s",
        "replay:field=pred",
        "-d",
        jsonl(ROWS),
        "-q",
        "--run-file",
        "n.sqlite",
        "--no-store-examples",
    )
    done = context_bench("verify", "n.sqlite")
    assert done.code == 0
    assert "without its examples" in done.err


def test_no_store_examples_keeps_them_out_of_the_file(
    context_bench: Run, jsonl: Run, tmp_path: Path
) -> None:
    rows = [
        {
            "id": "a",
            "question": "q",
            "answer": "Paris",
            "pred": "Paris",
            "private": "the-private-text",
        }
    ]
    context_bench(
        "run",
        "-s",
        "replay:field=pred",
        "-d",
        jsonl(rows),
        "-q",
        "--run-file",
        "n.sqlite",
        "--no-store-examples",
    )
    assert b"the-private-text" not in (tmp_path / "n.sqlite").read_bytes()
    assert context_bench("report", "n.sqlite").code == 0
    assert "without its examples" in context_bench("rescore", "n.sqlite").err


@pytest.mark.parametrize(
    "table", ["labels", "systems", "datasets", "examples", "responses", "evaluators", "run", "meta"]
)
@pytest.mark.parametrize("command", ["report", "rescore", "resume", "verify", "export", "explain"])
def test_a_file_without_the_lines_of_a_table_is_told_in_a_line(
    context_bench: Run, run_file: Path, table: str, command: str
) -> None:
    with closing(sqlite3.connect(run_file)) as database, database:
        database.execute(f"DELETE FROM {table}")
    done = context_bench(command, "r.sqlite")
    assert "Traceback" not in done.err
    assert done.code in (0, 2, 3, 10), done.err

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import StoreError
from context_bench.records import Failure, KeyMeaning
from context_bench.store.keys import RowId
from context_bench.store.queries import examples
from context_bench.store.reader import RunReader
from context_bench.store.rows import (
    Label,
    StoredEvaluation,
    StoredExample,
    StoredRow,
    StoredTurn,
)
from context_bench.store.runfile import RunFile
from context_bench.store.tables import checksum


def a_run(path: Path) -> RunFile:
    store = RunFile.create(path, "run", "2026-01-01T00:00:00+00:00", {"n": 1}, {})
    store.add_system(0, "sys", b"k" * 16, True, {"adapter": "x"})
    store.add_dataset(0, "data", {})
    store.add_evaluator(0, "d/e", b"e" * 16, {})
    store.add_label(Label(0, "data", "f1", {"f1": KeyMeaning("d/e")}, {}))
    return store


def an_example(position: int) -> StoredExample:
    return StoredExample(
        id=RowId(0, position),
        example_id=f"id-{position}",
        label=0,
        hash=b"h" * 16,
        body='{"question":"q"}',
    )


def a_row(position: int, **changes: Any) -> StoredRow:
    values: dict[str, Any] = {
        "id": RowId(0, position),
        "key": bytes([position]) * 16,
        "output": '{"response":"r"}',
        "output_hash": b"o" * 16,
        "input_tokens": 3,
        "latency": 0.5,
        "evaluations": [
            StoredEvaluation(evaluator=0, key=b"s" * 16, scores={"f1": 0.25}, details='{"why":"x"}')
        ],
    }
    return StoredRow(**{**values, **changes})


def test_a_dataset_without_examples_leaves_the_places_of_the_others_alone(tmp_path: Path) -> None:
    store = a_run(tmp_path / "r.sqlite")
    store.add_dataset(1, "empty", {})
    store.commit([an_example(0), a_row(0)])
    store.close_dataset(0, 1, b"c" * 16)
    store.close_dataset(1, 0, b"c" * 16)
    store.finish("finished", "then")
    reader = RunReader(tmp_path / "r.sqlite")
    assert (reader.size(), reader.id_at(0)) == (1, RowId(0, 0).pack())


def test_what_is_committed_is_read_back_in_canonical_order(tmp_path: Path) -> None:
    store = a_run(tmp_path / "r.sqlite")
    store.commit([an_example(1), a_row(1), an_example(0), a_row(0)])
    rows = list(RunReader(tmp_path / "r.sqlite").rows())
    assert [row.position for row in rows] == [0, 1]
    first = rows[0]
    assert (first.system, first.dataset, first.example_id) == ("sys", "data", "id-0")
    assert (first.response, first.scores, first.score) == ("r", {"f1": 0.25}, 0.25)
    assert first.details == {"d/e": {"why": "x"}}
    assert (first.latency, first.input_tokens, first.prompt_tokens) == (0.5, 3, None)
    assert list(store.finished()) == []  # when the session began
    store.close()
    assert [(row, key) for row, key, _ in RunFile.open(tmp_path / "r.sqlite").finished()] == [
        (RowId(0, 0).pack(), bytes(16)),
        (RowId(0, 1).pack(), b"\x01" * 16),
    ]


def test_a_failed_row_is_kept_and_forgotten_once_it_succeeds(tmp_path: Path) -> None:
    store = a_run(tmp_path / "r.sqlite")
    failure = Failure("system", "TimeoutError", "too slow \ud800", traceback="...")
    store.commit([an_example(0), a_row(0, output=None, evaluations=[], failures=[(-1, failure)])])
    [row] = store.rows()
    assert row.failed
    assert row.score == 0.0
    assert row.errors[0].kind == "TimeoutError"
    assert list(store.finished()) == []
    store.close()
    store = RunFile.open(tmp_path / "r.sqlite")
    store.commit([a_row(0)])
    [row] = store.rows()
    assert not row.failed
    assert row.errors == ()


def test_the_examples_of_a_batch_that_cannot_be_written_are_not_written_either(
    tmp_path: Path,
) -> None:
    store = a_run(tmp_path / "r.sqlite")
    with pytest.raises(StoreError, match="cannot be written"):
        store.commit([an_example(0), a_row(0, output=object())])
    assert list(examples(store)) == []


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    a_run(tmp_path / "r.sqlite")
    with pytest.raises(StoreError, match="context-bench resume"):
        RunFile.create(tmp_path / "r.sqlite", "other", "now", {}, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no run file"),
        (b"", "not a run file"),
        (b"not a database at all" * 100, "not a run file, or is damaged"),
    ],
    ids=["missing", "empty", "garbage"],
)
def test_what_is_no_run_file_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "r.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        RunReader(path)


def test_a_file_of_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    a_run(tmp_path / "r.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    with pytest.raises(StoreError, match="format 99; this version reads 4"):
        RunReader(tmp_path / "r.sqlite")


@pytest.mark.parametrize(
    "damage",
    [
        'UPDATE responses SET output = \'{"response":"R"}\'',
        "UPDATE responses SET latency = 0.25",
        'UPDATE evaluations SET details = \'{"why":"y"}\'',
        "UPDATE scores SET value = 1.0",
        "DELETE FROM scores",
        "UPDATE examples SET example_id = 'other'",
        "DELETE FROM examples",
    ],
)
def test_a_value_that_was_changed_behind_our_back_is_found(tmp_path: Path, damage: str) -> None:
    store = a_run(tmp_path / "r.sqlite")
    store.commit([an_example(0), a_row(0)])
    store.close()
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        connection.execute(damage)
    with pytest.raises(StoreError, match="damaged"):
        list(RunReader(tmp_path / "r.sqlite").rows())


def test_any_tool_can_read_the_scores(tmp_path: Path) -> None:
    store = a_run(tmp_path / "r.sqlite")
    store.commit([an_example(0), a_row(0)])
    with closing(sqlite3.connect(tmp_path / "r.sqlite")) as connection, connection:
        found = connection.execute(
            "SELECT system, dataset, example_id, evaluator, score, value FROM results"
        ).fetchall()
    assert found == [("sys", "data", "id-0", "d/e", "f1", 0.25)]


@pytest.mark.skipif(sys.platform == "win32", reason="only POSIX bounds the size of files")
def test_a_run_file_that_could_not_be_created_leaves_nothing(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from context_bench.errors import StoreError\n"
        "from context_bench.store.runfile import RunFile\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))\n"
        "try:\n"
        "    RunFile.create(Path(sys.argv[1]), 'run', 'now', {}, {})\n"
        "except StoreError:\n"
        "    print('refused')\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run.sqlite")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "refused\n"
    assert list(tmp_path.iterdir()) == []


def test_a_turn_that_comes_when_the_run_has_ended_is_not_kept(tmp_path: Path) -> None:
    store, row = a_run(tmp_path / "run.sqlite"), RowId(0, 0)
    first, late = (
        StoredTurn(
            row=row,
            turn=number,
            key=b"k" * 16,
            output='{"response":"r"}',
            latency=0.5,
            attempts=1,
            measured=None,
        )
        for number in range(2)
    )
    store.keep_turn(first)
    store.finish("stopped", "2026-01-01T00:00:01+00:00")
    with pytest.raises(TimeoutError, match="the run has ended"):
        store.keep_turn(late)
    assert [turn.turn for turn in store.turns(row)] == [0]
    store.close()
    again = RunFile.open(store.path)
    again.begin()
    again.keep_turn(late)
    assert [turn.turn for turn in again.turns(row)] == [0, 1]
    again.close()


def test_the_checksum_of_every_kind_of_value_is_the_same_in_every_python() -> None:
    texts = ("", "Paris", "東京 🗼")
    numbers = (2**62, -1, 0, 0.1, -0.0, 1e300, 2**31, -(2**31), 2**31 - 1)
    values = (2**62, -1, 0, *texts, b"\x00\xff", None, *numbers[3:])
    assert checksum(values) == 1632394004
    interned = tuple(sys.intern(value) if isinstance(value, str) else value for value in values)
    assert checksum(interned) == 1632394004
    assert checksum((1, "naïve 日本\n" * 3000)) == 220426478

"""A damaged run file is an error that names the file; damage to a write-ahead log leaves a prefix of the commits."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import StoreError
from context_bench.runs import open_run
from context_bench.store.keys import RowId
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}


class Same:
    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": 1.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    examples = [{"id": f"e{n}", "question": "why?", "answer": "so"} for n in range(3)]
    evaluate(Echo(), examples, [Same()], progress=False, run_file=path)
    return path


CHANGES = {
    "an output": 'UPDATE responses SET output = \'{"response":"else"}\' WHERE position = 1',
    "a measurement": "UPDATE responses SET latency = latency + 1 WHERE position = 1",
    "a score": "UPDATE scores SET value = 0.5 WHERE response >> 20 = 1",
    "an example": "UPDATE examples SET example_id = 'other' WHERE position = 1",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_row_with_a_wrong_checksum_is_an_error_and_the_rows_before_it_are_read(
    path: Path, change: str
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with open_run(path) as run:
        rows = run.rows()
        assert next(rows).position == 0
        with pytest.raises(StoreError, match="position=1"):
            next(rows)


def test_a_file_that_is_not_sqlite_is_an_error(path: Path) -> None:
    path.write_bytes(b"x" * 10_000)
    with pytest.raises(StoreError, match=path.name):
        open_run(path)


def test_a_truncated_file_is_an_error(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(StoreError, match=path.name), open_run(path) as run:
        list(run.rows())


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_a_damaged_write_ahead_log_leaves_a_prefix_of_the_commits(
    tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "run.sqlite"
    log = tmp_path / "run.sqlite-wal"
    store = RunFile.create(path, "run", "now", {}, {})
    store.add_system(0, "echo", b"k" * 16, True, {})
    for number in range(40):
        example = StoredExample(
            id=RowId(0, number),
            example_id=f"e{number}",
            label=0,
            hash=b"h" * 16,
            body="x" * 200,
        )
        row = StoredRow(id=RowId(0, number), key=b"k" * 16, output='{"response":"r"}')
        store.commit([example, row])
    main = path.read_bytes()
    whole = log.read_bytes()
    chance = random.Random(4)
    lengths = set()
    for number in range(40):
        copy = tmp_path / f"copy{number}.sqlite"
        copy.write_bytes(main)
        damaged = bytearray(whole)
        offset = chance.randrange(len(damaged))
        if damage == "flip":
            damaged[offset] ^= 1 << chance.randrange(8)
        else:
            del damaged[offset:]
        copy.with_name(f"{copy.name}-wal").write_bytes(damaged)
        try:
            positions = [RowId.unpack(row).position for row, *_ in RunFile.open(copy).finished()]
        except StoreError:  # not even the tables had reached the main file
            continue
        assert positions == list(range(len(positions)))
        lengths.add(len(positions))
    assert len(lengths) > 5

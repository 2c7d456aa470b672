"""Damage to a finished run file is found, wherever it is; damage to a write-ahead log leaves a prefix of the commits."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import StoreError
from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.runs import open_run
from context_bench.store.keys import RowId
from context_bench.store.questions import is_sealed
from context_bench.store.reader import RunReader
from context_bench.store.rows import StoredExample, StoredRow
from context_bench.store.runfile import RunFile
from context_bench_audit.verification import verify

TRIES = 150


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["question"]}


class Same:
    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": 1.0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.sqlite"
    examples = [
        {"id": f"e{number}", "question": "why? " * (number % 50), "answer": "so"}
        for number in range(300)
    ]
    evaluate(Echo(), examples, [Same()], progress=False, run_file=path)
    return path


def is_found_damaged(path: Path) -> bool:
    try:
        return not is_sealed(path)
    except StoreError:
        return True


def test_a_finished_run_file_is_sealed_and_stays_so_when_it_is_read(finished: Path) -> None:
    assert is_sealed(finished)
    assert len(list(RunReader(finished).rows())) == 300
    assert is_sealed(finished)


def test_flipping_random_bytes_is_found_every_time(finished: Path, tmp_path: Path) -> None:
    whole = finished.read_bytes()
    chance = random.Random(1)
    path = tmp_path / "run.sqlite"
    for _ in range(TRIES):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 50))):
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(1, 256)
        path.write_bytes(damaged)
        assert damaged == whole or is_found_damaged(path)


def test_a_damaged_fact_beside_the_seal_is_told_as_damage_of_the_file(
    finished: Path, tmp_path: Path
) -> None:
    whole = finished.read_bytes()
    path = tmp_path / "run.sqlite"
    path.write_bytes(whole.replace(b'"compression_ratio"', b'"compression\xffratio"'))
    with pytest.raises(
        StoreError, match=r"run\.sqlite is damaged: it is not as it was when its run ended\."
    ):
        is_sealed(path)


def test_examples_with_a_label_that_makes_no_sense_are_told_as_damage(
    finished: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    shutil.copy(finished, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("""UPDATE labels SET plan = '{"agreement": {}}'""")
    with open_run(path) as run:
        for ask in (lambda: list(run.examples()), lambda: run.example((0, 0))):
            with pytest.raises(StoreError, match=r"run\.sqlite is no run file, or is damaged"):
                ask()


def test_truncating_is_found_every_time(finished: Path, tmp_path: Path) -> None:
    whole = finished.read_bytes()
    chance = random.Random(2)
    path = tmp_path / "run.sqlite"
    for length in [0, 1, 99, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(TRIES))]:
        path.write_bytes(whole[:length])
        assert is_found_damaged(path)


def test_verify_tells_of_damage_and_never_raises_for_it(finished: Path, tmp_path: Path) -> None:
    whole = finished.read_bytes()
    chance = random.Random(3)
    path = tmp_path / "run.sqlite"
    catalog = discover(PluginSettings.read(environ={}))
    assert verify(catalog, finished).problems == []
    for _ in range(20):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert verify(catalog, path).problems


def test_a_file_that_is_written_to_again_is_unsealed_until_the_run_ends(
    finished: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    shutil.copy(finished, path)
    store = RunFile.open(path)
    store.begin()
    store.close()
    assert not is_sealed(path)
    store = RunFile.open(path)
    assert store.seal()
    assert is_sealed(path)


def test_a_file_that_another_program_has_open_is_not_sealed(tmp_path: Path) -> None:
    store = RunFile.create(tmp_path / "run.sqlite", "run", "now", {}, {})
    other = sqlite3.connect(tmp_path / "run.sqlite")
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM run").fetchone()
    store.begin()
    store.warn(["something is written"])
    assert not store.seal()
    other.close()
    assert RunFile.open(tmp_path / "run.sqlite").seal()


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_a_damaged_write_ahead_log_leaves_a_prefix_of_the_commits(
    tmp_path: Path, damage: str
) -> None:
    path, log = tmp_path / "run.sqlite", tmp_path / "run.sqlite-wal"
    store = RunFile.create(path, "run", "now", {}, {})
    store.add_system(0, "echo", b"k" * 16, True, {})
    for number in range(40):
        example = StoredExample(0, number, f"e{number}", 0, b"h" * 16, "x" * 200)
        store.commit([example, StoredRow(RowId(0, number), b"k" * 16, '{"response":"r"}')])
    main, whole = path.read_bytes(), log.read_bytes()
    chance = random.Random(4)
    lengths = set()
    for number in range(40):
        copy = tmp_path / f"copy{number}.sqlite"
        copy.write_bytes(main)
        damaged = bytearray(whole)
        place = chance.randrange(len(damaged))
        if damage == "flip":
            damaged[place] ^= 1 << chance.randrange(8)
        else:
            del damaged[place:]
        copy.with_name(f"{copy.name}-wal").write_bytes(damaged)
        try:
            found = [RowId.unpack(row).position for row, *_ in RunFile.open(copy).finished()]
        except StoreError:  # not even the tables had reached the main file
            continue
        assert found == list(range(len(found)))
        lengths.add(len(found))
    assert len(lengths) > 5

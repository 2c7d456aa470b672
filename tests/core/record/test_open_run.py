"""The reading door: typed records over one connection, and rows by their place in the same time whatever the size."""

from __future__ import annotations

import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import StoreError
from context_bench.runs import RowId, open_run
from context_bench.store import schema
from context_bench.store.reader import RunReader
from context_bench.store.runfile import RunFile


class Echo:
    name = "echo"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if example["question"] == "break":
            raise ValueError("it broke")
        return {"response": example["question"]}


class Second(Echo):
    name = "second"


class Same:
    name = "same"
    version = "1"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        if original["question"] == "puzzle":
            raise RuntimeError("what?")
        return {"same": float(original["answer"] == processed["response"])}


def examples(*questions: str) -> list[dict[str, Any]]:
    return [
        {"id": f"e{n}", "question": question, "answer": "a"} for n, question in enumerate(questions)
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "run.sqlite"
    data = {"one": examples("a", "break", "puzzle"), "two": examples("b", "a")}
    evaluate(
        [Echo(), Second()],
        evaluators=[Same()],
        datasets=data,
        repeat=2,
        progress=False,
        run_file=path,
    )
    return path


def test_it_tells_all_that_the_run_file_holds(path: Path) -> None:
    with open_run(path) as run:
        assert [system["label"] for system in run.systems] == ["echo", "second"]
        assert [(dataset["label"], dataset["length"]) for dataset in run.datasets] == [
            ("one", 3),
            ("two", 2),
        ]
        assert len(run) == len(list(run.rows())) == 20
        assert len(list(run.rows(system_number=1))) == 10
        assert run.row((0, 1, 1, 1)).errors[0].message == "it broke"
        assert run.example((1, 0)).content == {"id": "e0", "question": "b", "answer": "a"}
        assert [(example.label, example.identity) for example in run.examples("e1")] == [
            ("one", (0, 1)),
            ("two", (1, 1)),
        ]
        [first, *_] = run.keys((0, 0))
        assert first.identity == RowId(0, 0, 0, 0)
        assert [dict(found) for found in first.values.values()] == [{"same": 1.0}]
        assert run.has_key(first.response) is False, "a system without a fingerprint shares no key"
        kinds = {(failure.failure.kind, count) for failure, count in run.causes()}
        assert kinds == {("ValueError", 2), ("RuntimeError", 2)}
        assert len(list(run.failures())) == 8
        assert list(run.faults()) == []
        assert run.completeness.is_complete


def test_what_is_not_there_is_said(path: Path) -> None:
    with open_run(path) as run:
        with pytest.raises(StoreError, match="has no row"):
            run.row((5, 0, 0, 0))
        with pytest.raises(StoreError, match="has no example"):
            run.example((0, 9))
        with pytest.raises(IndexError, match="there are 20 rows, and none at 20"):
            run[20]


@pytest.mark.parametrize("way", ["dense", "sampled", "unfinished", "failing"])
def test_a_row_by_its_place_is_the_row_of_that_place(way: str, tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    questions = ["break" if way == "failing" and number % 3 == 0 else "a" for number in range(40)]
    more: dict[str, Any] = {"sample": 7, "seed": 3} if way == "sampled" else {}
    evaluate(
        [Echo(), Second()],
        examples(*questions),
        [Same()],
        repeat=3,
        progress=False,
        run_file=path,
        **more,
    )
    if way == "unfinished":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM responses WHERE position % 5 = 1")
            connection.execute("UPDATE run SET status = 'interrupted'")
    with open_run(path) as run:
        rows = [
            (row.dataset, row.position, row.system_number, row.repetition) for row in run.rows()
        ]
        places = list(range(len(rows)))
        random.Random(1).shuffle(places)
        for place in places:
            row = run[place]
            assert (row.dataset, row.position, row.system_number, row.repetition) == rows[place]
        assert run[-1].position == rows[-1][1]


def test_a_row_of_a_large_run_is_found_without_a_walk_through_the_file(tmp_path: Path) -> None:
    """SQLite's own steps are counted: as many for the last row of 3,000 as for the last row of 30."""

    def steps(count: int) -> int:
        path = tmp_path / f"{count}.sqlite"
        evaluate(Echo(), examples(*["a"] * count), [Same()], progress=False, run_file=path)
        reader = RunReader(path)
        counted = 0

        def step() -> None:
            nonlocal counted
            counted += 1

        with reader.snapshot() as sqlite:
            sqlite.set_progress_handler(step, 1)
            for place in (count - 1, 0, count // 2):
                [_] = reader.rows(reader.id_at(place), reader.id_at(place))
            sqlite.set_progress_handler(None, 0)
        reader.close()
        return counted

    assert steps(3_000) < 1.3 * steps(30)


def test_an_evaluation_and_its_rows_open_few_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    connect = sqlite3.connect

    def counting(path: Any, *arguments: Any, **named: Any) -> Any:
        opened.append(str(path))
        return connect(path, *arguments, **named)

    monkeypatch.setattr(sqlite3, "connect", counting)
    schema._expected_objects.cache_clear()
    result = evaluate(Echo(), examples(*["a"] * 100), [Same()], progress=False)
    before = len(opened)
    assert before <= 5
    assert [result.rows[place].score for place in range(100)] == [1.0] * 100
    assert len(opened) <= before + 1


def test_a_value_of_a_type_that_its_column_cannot_have_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE responses SET latency = 'soon' WHERE id = 0")
    with open_run(path) as run, pytest.raises(StoreError, match="a type that it cannot have"):
        run.row((0, 0, 0, 0))


def test_threads_read_apart_and_closing_waits_for_what_one_is_reading(path: Path) -> None:
    """Closing a connection while another thread reads from it would end the process."""
    reader = RunReader(path)
    wanted = [row.example_id for row in reader.rows()]
    found: list[list[str]] = []
    errors: list[BaseException] = []

    def read() -> None:
        try:
            found.extend([row.example_id for row in reader.rows()] for _ in range(30))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        reader.close()
    assert not errors
    assert found == [wanted] * 90


def test_what_is_committed_after_a_snapshot_began_is_seen_by_other_threads(tmp_path: Path) -> None:
    store = RunFile.create(tmp_path / "run.sqlite", "run", "now", {}, {})
    store.begin()
    store.warn(["first"])
    seen: list[list[str]] = []
    with store.snapshot():
        assert store.warnings() == ["first"]
        store._connection.execute("UPDATE meta SET value = '[\"second\"]' WHERE name = 'warnings'")
        store._connection.commit()
        assert store.warnings() == ["first"]
        thread = threading.Thread(target=lambda: seen.append(store.warnings()))
        thread.start()
        thread.join()
    assert seen == [["second"]]
    assert store.warnings() == ["second"]

"""Copies of runs that a store holds: the store here is a dictionary."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from context_bench.errors import LostStoreError, StoreError
from context_bench.protocols import Change, Since
from context_bench.runs import open_run
from context_bench.session.stores import folder_of
from context_bench.store.copies import catch_up, commit_of, layouts
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader
from context_bench.store.rows import Label, StoredEvaluation, StoredExample, StoredRow
from context_bench.store.runfile import Rescoring, RunFile

ADDRESS = "memory://here#nightly"


class MemoryStore:
    """A store with one run, and the right to write into it."""

    address, identity = "memory://here", "memory"

    def __init__(self) -> None:
        self.commits = self.base = 0
        self.lines: dict[tuple[str, Any], tuple[int, Any]] = {}
        self.removed: list[tuple[int, str, Any]] = []
        self.is_lost = False
        self.run = "the run"

    @contextmanager
    def since(self, run: str, identity: str, commit: int) -> Iterator[Since]:
        is_whole = identity != self.run or commit < self.base
        start = 0 if is_whole else commit
        tables = {table.name: table for table in layouts()}
        gone = [
            Change(tables[name], removed=[key])
            for number, name, key in self.removed
            if number > start
        ]
        new = [
            Change(tables[name], lines=[line])
            for (name, _), (number, line) in self.lines.items()
            if number > start
        ]
        yield Since(self.run, self.commits, is_whole, changes=[*gone, *new])

    def commit(self, number: int, changes: Iterable[Change]) -> None:
        if self.is_lost:
            raise LostStoreError("The store is lost.")
        assert number == self.commits + 1
        for change in changes:
            places = [list(change.table.columns).index(name) for name in change.table.key]
            for key in change.removed:
                del self.lines[change.table.name, key]
                self.removed.append((number, change.table.name, key))
            for line in change.lines:
                key = tuple(line[place] for place in places)
                self.lines[change.table.name, key] = (number, line)
        self.commits = number

    def replace(self, number: int, changes: Iterable[Change]) -> None:
        self.lines, self.removed, self.base = {}, [], number
        self.commit(number, changes)

    def close(self) -> None:
        pass


class Session(MemoryStore):
    address, identity = ADDRESS, "the run"


@pytest.fixture
def store() -> Any:
    return MemoryStore()


def session(store: MemoryStore) -> Any:
    """Return the right to write into the run of a store."""
    own = Session()
    own.__dict__ = store.__dict__
    return own


def a_run(path: Path, store: MemoryStore) -> RunFile:
    run = RunFile.create(path, "run", "2026-01-01", {"n": 1}, {}, remote=session(store))
    run.add_system(0, "sys", b"k" * 16, True, {})
    run.add_dataset(0, "data", {})
    run.add_evaluator(0, "d/e", b"e" * 16, {})
    run.add_label(Label(0, "data", "f1", {}, {}))
    return run


def items(position: int, value: float = 0.25, *more: str) -> list[StoredExample | StoredRow]:
    scores = {"f1": value, **dict.fromkeys(more, 1.0)}
    row = StoredRow(
        id=RowId(0, position),
        key=b"k" * 16,
        output='{"response":"r"}',
        evaluations=[StoredEvaluation(evaluator=0, key=b"s" * 16, scores=scores)],
    )
    return [
        StoredExample(id=RowId(0, position), example_id=f"\0{position}", label=0, hash=b"h"),
        row,
    ]


def content(path: Path) -> list[Any]:
    """Return all lines of a run file, but for what only its copy knows."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            sorted(connection.execute(f"SELECT * FROM {table.name}").fetchall())
            for table in layouts()
        ]
        return [[line for line in lines if line[0] not in ("store", "copy")] for lines in tables]


def test_a_copy_follows_every_commit(tmp_path: Path, store: Any) -> None:
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    with closing(a_run(first, store)) as run:
        run.commit(items(0))
        catch_up(store, "nightly", second)
        assert content(second) == content(first)
        run.commit([*items(1), *items(2)])
        catch_up(store, "nightly", second)
    with closing(RunFile.open(first, session(store))) as run:
        run.commit(items(1, 0.5, "other"))
        run.commit(items(2, 0.75)[1:])
        run.commit(items(1, 0.5)[1:])  # a score of the last session is gone
        run.finish("finished", "then")
    catch_up(store, "nightly", second)
    assert content(second) == content(first)
    with open_run(second) as opened:
        assert [row.score for row in opened.rows()] == [0.25, 0.5, 0.75]


@pytest.mark.parametrize("home", ["whole", "relative"])
def test_a_copy_is_read_while_it_catches_up(
    home: str, tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path) if home == "whole" else "data")
    copy = folder_of(store) / "nightly.sqlite"
    with closing(a_run(tmp_path / "first.sqlite", store)) as run:
        run.commit(items(0))
        catch_up(store, "nightly", copy)
        with open_run(copy) as opened:
            with opened.snapshot():
                assert len(opened) == 1
                run.commit(items(1))
                catch_up(store, "nightly", copy)
                assert [row.score for row in opened.rows()] == [0.25]
            assert len(opened) == 2


def test_a_session_goes_on_in_another_copy(tmp_path: Path, store: Any) -> None:
    with closing(a_run(tmp_path / "first.sqlite", store)) as run:
        run.commit(items(0))
    other = tmp_path / "other.sqlite"
    catch_up(store, "nightly", other)
    with closing(RunFile.open(other, session(store))) as run:
        run.commit(items(1))
    catch_up(store, "nightly", tmp_path / "first.sqlite")
    assert content(other) == content(tmp_path / "first.sqlite")


def test_what_the_store_did_not_take_is_not_in_the_copy(tmp_path: Path, store: Any) -> None:
    path = tmp_path / "run.sqlite"
    with closing(a_run(path, store)) as run:
        run.commit(items(0))
        store.is_lost = True
        with pytest.raises(LostStoreError):
            run.commit(items(1))
        assert run.size() == 1
        store.is_lost = False
        run.commit(items(2))
    with closing(sqlite3.connect(path)) as connection:
        assert commit_of(connection) == store.commits


def test_a_commit_that_the_copy_lacks_is_fetched(tmp_path: Path, store: Any) -> None:
    """The driver was killed between the two commits."""
    path, other = tmp_path / "run.sqlite", tmp_path / "other.sqlite"
    with closing(a_run(path, store)) as run:
        catch_up(store, "nightly", other)
        run.commit(items(0))
    with closing(RunReader(other)) as reader:
        assert reader.size() == 0
    catch_up(store, "nightly", other)
    with closing(RunFile.open(other, session(store))) as run:
        assert [number for number, _, _ in run.finished()] == [RowId(0, 0).pack()]


def test_a_copy_is_not_written_into_without_its_store(tmp_path: Path, store: Any) -> None:
    path = tmp_path / "run.sqlite"
    a_run(path, store).close()
    with pytest.raises(StoreError, match=f"Name that run: {ADDRESS}"):
        RunFile.open(path)
    with pytest.raises(StoreError, match=f"Name that run: {ADDRESS}"):
        Rescoring(path, {})


def test_a_rescoring_sends_what_differs_at_once(tmp_path: Path, store: Any) -> None:
    path, other = tmp_path / "run.sqlite", tmp_path / "other.sqlite"
    with closing(a_run(path, store)) as run:
        run.commit([*items(0, 0.25, "gone"), *items(1, 0.5)])
        run.finish("finished", "then")
    catch_up(store, "nightly", other)
    before = store.commits
    rescoring = Rescoring(path, {}, session(store))
    rescoring.store.commit([item for item in items(0, 0.75) if isinstance(item, StoredRow)])
    assert store.commits == before
    rescoring.publish()
    rescoring.leave()
    assert store.commits == before + 1
    sent = sorted(name for (name, _), (number, _) in store.lines.items() if number > before)
    assert sent == ["evaluations", "meta", "scores"]
    assert [(name, key[2]) for number, name, key in store.removed if number > before] == [
        ("scores", "gone")
    ]
    catch_up(store, "nightly", other)
    assert content(other) == content(path)
    with open_run(other) as opened:
        assert [row.score for row in opened.rows()] == [0.75, 0.5]


def test_a_rescoring_that_its_store_did_not_take_changes_nothing(
    tmp_path: Path, store: Any
) -> None:
    path = tmp_path / "run.sqlite"
    with closing(a_run(path, store)) as run:
        run.commit(items(0))
    before = content(path)
    rescoring = Rescoring(path, {}, session(store))
    rescoring.store.commit(items(0, 0.75)[1:])
    store.is_lost = True
    with pytest.raises(LostStoreError):
        rescoring.publish()
    rescoring.leave()
    assert content(path) == before


def test_a_copy_of_a_run_that_was_removed_starts_anew(tmp_path: Path, store: Any) -> None:
    path, other = tmp_path / "run.sqlite", tmp_path / "other.sqlite"
    with closing(a_run(path, store)) as run:
        run.commit([*items(0), *items(1)])
    catch_up(store, "nightly", other)
    following = MemoryStore()
    following.run = "another run"
    with closing(a_run(path, following)) as run:
        run.commit(items(2))
    catch_up(following, "nightly", other)
    with closing(RunReader(other)) as reader:
        assert reader.size() == 1

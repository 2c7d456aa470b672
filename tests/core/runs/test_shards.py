"""Shards of a run keep the positions of the whole, and merged they are the run of the whole."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.run.examples import Shard
from context_bench.runs import open_run
from context_bench.store.merging import positions_text
from context_bench.store.reader import RunReader

pytest.importorskip("context_bench_answer_quality", reason="it scores")
pytest.importorskip("context_bench_compress", reason="it brings the systems")
pytest.importorskip("context_bench_local", reason="it reads the rows")
pytest.importorskip("context_bench_python", reason="it brings the reader")
pytest.importorskip("context_bench_replay", reason="it fails where nothing is recorded")

READER = ("--reader", "python:target=string:capwords,input=question,version=1")
REQUEST = ("-s", "all=identity", "-s", "some=head:tokens=5", *READER, "--baseline", "all")
QUIET = ("--format", "none", "-q")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "home"))
    write_rows("rows.jsonl", 23)
    return tmp_path


def write_rows(name: str, count: int, **more: Any) -> None:
    rows = [
        {
            "id": f"e{number}",
            "context": "word " * 9 + str(number),
            "question": f"q {number}",
            "answer": f"Q {number}" if number % 3 else "x",
            "response": None if number % 11 == 5 else f"Q {number}",
            **more,
        }
        for number in range(count)
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run(path: str, *more: str, request: Sequence[str] = REQUEST, data: str = "rows.jsonl") -> int:
    return execute(["run", *request, "-d", data, "--run-file", path, *QUIET, *more])


def shards(count: int, *more: str, **request: Any) -> list[str]:
    paths = [f"shard{number}.sqlite" for number in range(1, count + 1)]
    for number, path in enumerate(paths, 1):
        code = run(path, "--shard", f"{number}/{count}", *more, **request)
        assert code in (0, 12)
    return paths


def merge(paths: Sequence[str], *more: str) -> int:
    return execute(["merge", *paths, "-o", "all.sqlite", "--format", "none", *more])


def export(path: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert execute(["export", "--canonical", path]) == 0
    return capsys.readouterr().out


def summary(path: str, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    execute(["report", path, "--format", "json"])
    result = json.loads(capsys.readouterr().out)
    return {
        system: {
            key: value
            for key, value in values.items()
            if not any(
                part in key for part in ("latency", "p50", "p95", "speed", "pareto", "seconds")
            )
        }
        for system, values in result["summary"].items()
    }


@pytest.mark.parametrize("examples", [0, 1, 3, 20])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_part_the_examples(examples: int, count: int) -> None:
    parts = [Shard(number, count) for number in range(1, count + 1)]
    takers = [[str(part) for part in parts if part.takes(index)] for index in range(examples)]
    assert all(len(taker) == 1 for taker in takers)
    for part in parts:
        assert part.size(examples) == takers.count([str(part)])


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/", "-1/2", "1/2/3", "1.5/2"])
def test_what_is_no_shard_is_an_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("x.sqlite", "--shard", text) == 2
    assert "--shard" in capsys.readouterr().err
    assert not Path("x.sqlite").exists()


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--repeat", "2"),
        ("--order", "system"),
        ("--sample", "9", "--seed", "3"),
        ("--ids", "e1,e4,e7,e20"),
        ("-n", "10"),
        ("-d", "second.jsonl"),
        ("--max-workers", "4"),
        ("--no-store-examples",),
    ],
    ids=lambda more: " ".join(more) or "all",
)
def test_merged_shards_export_as_the_whole(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows("second.jsonl", 5, question="another")
    assert run("whole.sqlite", *more) == 0
    paths = shards(4, *more)
    assert merge(paths[::-1]) == 0
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)
    assert summary("all.sqlite", capsys) == summary("whole.sqlite", capsys)
    with open_run("all.sqlite") as merged, open_run("whole.sqlite") as whole:
        assert list(merged.faults()) == []
        assert merged.completeness.sentence == whole.completeness.sentence
        assert merged.datasets == whole.datasets
        assert merged.plan == whole.plan
        assert dict(merged.request) == dict(whole.request)
        assert merged.seconds is None, "its shards may have gone on at the same time"
        identities = [(row.dataset_number, row.position, row.system_number) for row in whole.rows()]
        for index in (0, len(identities) - 1):
            row = merged[index]
            assert (row.dataset_number, row.position, row.system_number) == identities[index]


def test_a_shard_keeps_the_positions_of_the_whole() -> None:
    paths = shards(4)
    for index, path in enumerate(paths):
        with open_run(path) as part:
            positions = {row.position for row in part.rows()}
            assert positions == set(range(index, 23, 4))
            assert part.completeness.is_complete
            assert list(part.faults()) == []
            assert [row.position for row in (part[0], part[-1])] == [min(positions), max(positions)]


def test_failed_rows_are_merged_and_counted_against_the_limit_of_the_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    request = ("-s", "old=replay", "--keep-going")
    assert run("whole.sqlite", "--max-failed", "50%", request=request) == 0
    assert merge(shards(2, "--max-failed", "50%", request=request)) == 0
    rows = [json.loads(line) for line in export("all.sqlite", capsys).splitlines()]
    assert [row["position"] for row in rows if row["errors"]] == [5, 16]
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)
    for path in ("shard1.sqlite", "shard2.sqlite", "all.sqlite"):
        Path(path).unlink()
    for number in (1, 2):  # both failed rows are a sixth of one shard's, and none of the other's
        more = ("--max-failed", "10%", "--shard", f"{number}/2")
        assert run(f"shard{number}.sqlite", *more, request=request) == 0
    assert merge(["shard1.sqlite", "shard2.sqlite"]) == 0


def test_labels_are_numbered_as_in_the_whole_however_late_a_shard_meets_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        {
            "id": str(number),
            "question": f"q {number}",
            "answer": "Q 1",
            "context": "c",
            "dataset": ("squad", "gsm8k", "dialogsum")[number * number % 3],
        }
        for number in range(12)
    ]
    Path("mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("whole.sqlite", data="mixed.jsonl") == 0
    assert merge(shards(3, data="mixed.jsonl")) == 0
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)
    labels = [RunReader(Path(path)).labels() for path in ("all.sqlite", "whole.sqlite")]
    assert [label.label for label in labels[0]] == [label.label for label in labels[1]]


def test_a_shard_beyond_the_examples_has_no_rows_and_is_complete() -> None:
    paths = shards(25)
    with open_run(paths[-1]) as last:
        assert len(last) == 0
        assert last.completeness.is_complete
    assert merge(paths) == 0
    with open_run("all.sqlite") as merged:
        assert len(merged) == 46


def test_a_missing_shard_is_named_with_its_positions(capsys: pytest.CaptureFixture[str]) -> None:
    paths = shards(4)
    assert merge([paths[0], paths[1], paths[3]]) == 3
    error = capsys.readouterr().err
    assert "positions 2, 6, 10, 14, 18, 22 of dataset rows" in error
    assert "shard 3/4" in error
    assert not Path("all.sqlite").exists()


def test_a_missing_shard_of_a_sample_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    paths = shards(3, "--sample", "9")
    assert merge(paths[:2]) == 3
    error = capsys.readouterr().err
    assert "6 of the 9 examples of dataset rows" in error
    assert "shard 3/3" in error


def test_rows_that_two_files_have_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    paths = shards(2)
    shutil.copy(paths[0], "again.sqlite")
    assert merge([*paths, "again.sqlite"]) == 2
    assert "positions 0, 2, 4" in capsys.readouterr().err
    assert not Path("all.sqlite").exists()


def test_what_is_there_is_merged_when_asked_and_resume_does_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("whole.sqlite") == 0
    paths = shards(4)
    assert merge(paths[:3], "--partial") == 0
    with open_run("all.sqlite") as merged:
        assert not merged.completeness.is_complete
        assert "36 of 46 rows" in merged.completeness.sentence
        earlier = {row.position: row.latency for row in merged.rows(0)}
    assert execute(["resume", "all.sqlite", *QUIET]) == 0
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)
    with open_run("all.sqlite") as merged:  # and asked nothing that was there
        latencies = {row.position: row.latency for row in merged.rows(0)}
    assert all(latencies[position] == latency for position, latency in earlier.items())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("--repeat", "2"), "repeat"),
        (("--tokenizer", "nosuch"), None),
        (("--score-field", "recall"), "score_field"),
        (("--add-evaluator", "survival"), "add_evaluators"),
    ],
)
def test_shards_of_another_request_are_refused(
    change: tuple[str, ...], named: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if "survival" in change:
        pytest.importorskip("context_bench_survival", reason="it is added")
    run("one.sqlite", "--shard", "1/2")
    code = run("two.sqlite", "--shard", "2/2", *change)
    if named is None:
        assert code == 2
        return
    assert merge(["one.sqlite", "two.sqlite"]) == 2
    assert named in capsys.readouterr().err
    assert not Path("all.sqlite").exists()


def test_shards_of_another_system_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    run("one.sqlite", "--shard", "1/2", request=("-s", "x=head:tokens=5", *READER))
    run("two.sqlite", "--shard", "2/2", request=("-s", "x=head:tokens=6", *READER))
    assert merge(["one.sqlite", "two.sqlite"]) == 2
    assert "tokens" in capsys.readouterr().err


def test_shards_of_other_data_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    run("one.sqlite", "--shard", "1/2")
    write_rows("rows.jsonl", 24)
    run("two.sqlite", "--shard", "2/2")
    assert merge(["one.sqlite", "two.sqlite"]) == 2
    error = capsys.readouterr().err
    assert "dataset rows" in error


def test_shards_of_another_version_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    paths = shards(2)
    import sqlite3

    with closing(sqlite3.connect(paths[1])) as connection, connection:
        connection.execute(
            "UPDATE run SET provenance = json_set(provenance, '$.context_bench', '1.0.7')"
        )
    assert merge(paths) == 2
    error = capsys.readouterr().err
    assert "version of context-bench" in error
    assert "1.0.7" in error


def test_a_damaged_shard_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    import sqlite3

    paths = shards(2)
    with closing(sqlite3.connect(paths[1])) as connection, connection:
        connection.execute('UPDATE responses SET output = \'{"response":"better"}\'')
    assert merge(paths) == 2
    assert "checksum" in capsys.readouterr().err
    assert not Path("all.sqlite").exists()
    assert not list(Path().glob(".all*"))


def test_a_file_that_is_there_is_not_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    paths = shards(2)
    Path("all.sqlite").write_text("mine")
    assert merge(paths) == 2
    assert Path("all.sqlite").read_text() == "mine"


def test_a_shard_that_was_interrupted_is_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("whole.sqlite") == 0
    paths = shards(2)
    import sqlite3

    with closing(sqlite3.connect(paths[0])) as connection, connection:  # as a kill leaves it
        for table, column in (
            ("responses", "id"),
            ("evaluations", "response"),
            ("scores", "response"),
        ):
            connection.execute(f"DELETE FROM {table} WHERE ({column} >> 20) % 3 = 0")
        connection.execute(
            "UPDATE run SET status = 'running', provenance = json_remove(provenance, '$.whole')"
        )
    assert merge(paths) == 3
    assert "shard 1/2" in capsys.readouterr().err
    assert execute(["resume", paths[0], *QUIET]) == 0
    assert merge(paths) == 0
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)


def test_gates_are_judged_on_the_whole_alone(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("context_bench_compare", reason="it brings the gates")
    gate = ("--gate", "recall:min=0.99")
    assert run("whole.sqlite", *gate) == 10
    paths = [f"shard{number}.sqlite" for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        assert run(path, "--shard", f"{number}/2", *gate) == 0
    assert merge(paths) == 10


def test_gates_of_foreign_files_are_judged_when_they_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("context_bench_compare", reason="it brings the gates")
    paths = shards(2, "--gate", "recall:min=0.99")
    monkeypatch.setenv("CONTEXT_BENCH_HOME", str(tmp_path / "other"))
    assert merge(paths) == 0
    assert "--trust" in capsys.readouterr().err
    Path("all.sqlite").unlink()
    assert merge(paths, "--trust") == 10


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_a_merge_that_is_killed_leaves_nothing_under_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("whole.sqlite") == 0
    paths = shards(3)
    command = [sys.executable, "-m", "context_bench", "merge", *paths, "-o", "all.sqlite"]
    chance = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not Path(".all.sqlite.merging").exists() and process.poll() is None:
            assert time.monotonic() < deadline
        time.sleep(chance.random() * 0.02)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if Path("all.sqlite").exists():  # it was whole before the kill
            assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)
            Path("all.sqlite").unlink()
    assert merge(paths) == 0
    assert export("all.sqlite", capsys) == export("whole.sqlite", capsys)


def test_positions_are_told_as_ranges() -> None:
    assert positions_text([range(3, 4)]) == "position 3"
    assert positions_text([range(3, 6), range(9, 10)]) == "positions 3-5, 9"
    many = [range(number, number + 1) for number in range(0, 40, 2)]
    assert positions_text(many).endswith("22, and 8 more")

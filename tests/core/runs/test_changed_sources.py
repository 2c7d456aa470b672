"""A run whose dataset changed while it was read is not complete; a run of one that stayed is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.runs import open_run

pytest.importorskip("context_bench_local", reason="reads the file")

ROWS = 40


def write(path: Path, rows: int = ROWS, answer: str = "a") -> None:
    path.write_text(
        "".join(
            json.dumps({"id": str(n), "context": "c" * 5000, "question": f"q{n}", "answer": answer})
            + "\n"
            for n in range(rows)
        )
    )


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write(json.dumps({"id": "more", "context": "c"}) + "\n")


CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": truncate,
    "appended to": append,
    "written again": lambda path: write(path, answer="b"),
    "removed": lambda path: path.unlink(),
}


class System:
    """Changes the file when it is asked first."""

    name = "system"

    def __init__(self, change: Callable[[], Any]) -> None:
        self._change: Callable[[], Any] | None = change

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if self._change is not None:
            self._change()
            self._change = None
        return {"response": "a"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_source_makes_the_run_incomplete(change: str, tmp_path: Path) -> None:
    data, run = tmp_path / "data.jsonl", tmp_path / "run.sqlite"
    write(data)
    system = System(lambda: CHANGES[change](data))
    with pytest.raises(RunStoppedError) as stopped:
        evaluate(system, str(data), [], progress=False, run_file=run, max_workers=1)
    assert stopped.value.exit_code in (2, 3)
    with open_run(run) as opened:
        assert not opened.completeness.is_complete


@pytest.mark.parametrize("change", ["touched", "written as it was", "nothing"])
def test_a_source_with_the_same_contents_is_complete(change: str, tmp_path: Path) -> None:
    data, run = tmp_path / "data.jsonl", tmp_path / "run.sqlite"
    write(data)
    changes: dict[str, Callable[[], Any]] = {
        "touched": lambda: os.utime(data, (1, 1)),
        "written as it was": lambda: write(data),
        "nothing": lambda: None,
    }
    evaluate(System(changes[change]), str(data), [], progress=False, run_file=run, max_workers=1)
    with open_run(run) as opened:
        assert opened.completeness.is_complete
        assert len(opened) == ROWS


class Seen:
    """Keeps the fields that it is shown."""

    name = "seen"

    def __init__(self) -> None:
        self.fields: set[str] = set()

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.fields |= example.keys()
        return {"response": "a"}


class Oracle(Seen):
    """Declares that it reads gold."""

    name = "oracle"
    reads_gold = True


def test_an_object_sees_gold_of_its_own_examples_or_where_it_declares_it(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    write(data, 3)
    seen, oracle, own = Seen(), Oracle(), Seen()
    evaluate([seen, oracle], str(data), [], progress=False)
    assert "answer" not in seen.fields
    assert {"context", "question", "id"} <= seen.fields
    assert "answer" in oracle.fields
    evaluate(own, [{"id": "1", "context": "c", "answer": "a"}], [], progress=False)
    assert "answer" in own.fields

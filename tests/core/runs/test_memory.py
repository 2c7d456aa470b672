"""A long run holds 16 bytes for each row when it adds up its result, and nothing for a row before."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_bench import EvalResult, evaluate
from context_bench.results.reading import read_result
from context_bench.run import examples

pytestmark = (
    pytest.mark.one_python
)  # a traced run takes a minute, and what is held is held on every Python

EARLY, LATE, WINDOW = 2_000, 8_000, 1_000
OF_A_ROW = 24
"""Bytes: fewer than a list takes for a number of each row, which are 32; a set takes more."""
OF_A_RESULT = 24
OF_A_UNIT = 10
"""Bytes: a score and a latency are 8 each, and an array has some room to grow."""


class Answers:
    name = "answers"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "because"}

    def fingerprint(self) -> dict[str, Any]:
        return {}


class Match:
    name = "match"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"match": float(original["answer"] == processed["response"])}


class Rows:
    """A dataset that measures what is alive while it is read.

    Attributes:
        held: The least memory in bytes within a window of rows, by the row that begins the window: calls in flight and
            rows that wait for their commit come and go.
    """

    name = "rows"

    def __init__(self, number: int, is_shared: bool = False) -> None:
        self.number = number
        self.is_shared = is_shared  # whether all rows have one context
        self.held: dict[int, int] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for number in range(self.number):
            if tracemalloc.is_tracing() and not number % 50:
                for start in (EARLY, LATE):
                    if start <= number < start + WINDOW:
                        self._measure(start)
            yield {
                "id": f"row-{number}",
                "context": ("" if self.is_shared else f"{number} ") + "x " * 60,
                "question": "?",
                "answer": "because",
            }

    def _measure(self, start: int) -> None:
        gc.collect()
        live, _ = tracemalloc.get_traced_memory()
        self.held[start] = min(live, self.held.get(start, live))


@pytest.fixture
def tracing() -> Iterator[None]:
    gc.collect()
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@pytest.fixture(autouse=True)
def remember_few_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are kept in memory up to a number that is reached too late for a test."""
    monkeypatch.setattr(examples, "_REMEMBERED_IDS", 1_000)


def run(rows: Any, path: Path, workers: int | None = None) -> EvalResult:
    return evaluate(
        Answers(), rows, [Match()], progress=False, max_workers=workers, run_file=str(path)
    )


def growth(rows: Rows) -> float:
    """Bytes of a row that stay in memory."""
    return (rows.held[LATE] - rows.held[EARLY]) / (LATE - EARLY)


@pytest.mark.parametrize("workers", [1, 8])
def test_a_run_holds_nothing_for_a_row_that_is_done(
    tmp_path: Path, tracing: None, workers: int
) -> None:
    rows = Rows(LATE + WINDOW)
    result = run(rows, tmp_path / "run.sqlite", workers)
    assert len(result.rows) == rows.number
    assert growth(rows) < OF_A_ROW


def test_a_resumed_run_holds_nothing_for_a_row_that_is_done(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "run.sqlite"
    run(Rows(LATE + WINDOW), path)
    request.getfixturevalue("tracing")
    rows = Rows(LATE + WINDOW)
    assert len(run(rows, path).rows) == rows.number
    assert growth(rows) < OF_A_ROW


@pytest.mark.parametrize(
    ("is_shared", "most"), [(False, OF_A_RESULT), (True, OF_A_RESULT + OF_A_UNIT)]
)
def test_a_result_takes_a_score_and_a_latency_of_memory_for_a_row(
    tmp_path: Path, is_shared: bool, most: int
) -> None:
    few, many = 9_000, 17_000  # from 8,192 rows on they are sorted in parts
    peaks: dict[int, int] = {}
    for number in (50, few, many):  # the first imports what a result needs
        path = tmp_path / f"{number}.sqlite"
        run(Rows(number, is_shared), path)
        gc.collect()
        tracemalloc.start()
        try:
            assert read_result(path).summary["answers"]["num_rows"] == number
            _, peaks[number] = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (peaks[many] - peaks[few]) / (many - few) < most

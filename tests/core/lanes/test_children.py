"""Evaluators that are bound to the processor score in processes that can be killed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run.children import Children
from context_bench.run.model import Scorer

MODULE = """
import os, time

class Heavy:
    name = "heavy"
    def score(self, original, processed):
        print("noise")
        if processed["response"] == "hang":
            time.sleep(60)
        if processed["response"] == "die":
            os._exit(3)
        if processed["response"] == "raise":
            raise ValueError("no number")
        return {"parent": float(os.getppid()), "heavy": 1.0}
"""


class Pending:
    def __init__(self, response: str, found: SimpleQueue[Any], context: str = "") -> None:
        self.pair = ({"context": context}, {"response": response})
        self.add = lambda scorer, result: found.put((response, result))


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "heavy_evaluator.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    from heavy_evaluator import Heavy  # type: ignore[import-not-found]

    children = Children(Scorer(0, "heavy", Heavy(), b"", cpu_bound=True), 1, 1.0)
    yield children
    children.close()


def test_a_hanging_and_a_dying_evaluation_fail_alone(children: Children) -> None:
    found: SimpleQueue[Any] = SimpleQueue()
    asked = ["good", "hang", "die", "raise", "good again"]
    started = time.monotonic()
    for response in asked:
        children.put(Pending(response, found))
    results = dict(found.get(timeout=30) for _ in asked)
    assert results["good"]["heavy"] == results["good again"]["heavy"] == 1.0
    assert isinstance(results["hang"], TimeoutError)
    assert "exit code 3" in str(results["die"])
    assert str(results["raise"]) == "no number"
    assert time.monotonic() - started < 20


def test_a_long_context_reaches_its_process_in_time_that_grows_with_it_and_no_faster(
    children: Children,
) -> None:
    found: SimpleQueue[Any] = SimpleQueue()
    children.put(Pending("good", found))  # the process has begun by then
    found.get(timeout=30)
    started = time.monotonic()
    children.put(Pending("good", found, "x" * 50_000_000))
    assert found.get(timeout=60)[1]["heavy"] == 1.0
    assert time.monotonic() - started < 4


def test_an_evaluator_that_cannot_travel_scores_here() -> None:
    class Local:
        name = "local"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"local": 1.0}

    found: SimpleQueue[Any] = SimpleQueue()
    children = Children(Scorer(0, "local", Local(), b"", cpu_bound=True), 2, None)
    children.put(Pending("good", found))
    assert found.get(timeout=10) == ("good", {"local": 1.0})
    children.close()


COSTLY = """
import os, time

class Costly:
    name = "costly"
    cpu_bound = True
    def score(self, original, processed):
        until = time.thread_time() + float(original["cost"])
        while time.thread_time() < until:
            pass
        return {"process": float(os.getpid())}
"""


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("cost", "rows", "is_elsewhere"), [(0.05, 60, True), (0.0001, 60, False), (0.05, 5, False)]
)
def test_processes_score_what_has_cost_enough_and_only_that(
    cost: float,
    rows: int,
    is_elsewhere: bool,
    workers: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "costly_evaluator.py").write_text(COSTLY)
    monkeypatch.syspath_prepend(tmp_path)
    from costly_evaluator import Costly  # type: ignore[import-not-found]

    examples = [{"id": str(n), "question": "why?", "cost": cost} for n in range(rows)]
    result = evaluate(
        lambda example: "1", examples, [Costly()], progress=False, max_workers=workers
    )
    processes = {row.scores["process"] for row in result.rows}
    assert not any(row.errors for row in result.rows)
    assert len(result.rows) == rows
    assert float(os.getpid()) in processes
    assert (len(processes) > 1) is is_elsewhere


def test_an_error_that_cannot_be_sent_as_it_is_says_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raising_evaluator.py").write_text(
        "class PlaceError(Exception):\n"
        "    def __init__(self, line, column):\n"
        "        super().__init__(f'wrong at {line}:{column}')\n"
        "class Raising:\n"
        "    name = 'raising'\n"
        "    def score(self, original, processed):\n"
        "        raise PlaceError(3, 4)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from raising_evaluator import Raising  # type: ignore[import-not-found]

    found: SimpleQueue[Any] = SimpleQueue()
    children = Children(Scorer(0, "raising", Raising(), b"", cpu_bound=True), 1, None)
    children.put(Pending("x", found))
    assert str(found.get(timeout=30)[1]) == "PlaceError: wrong at 3:4"
    children.close()


def test_what_is_under_way_when_the_processes_are_ended_is_left_for_the_next_session(
    children: Children,
) -> None:
    found: SimpleQueue[Any] = SimpleQueue()
    children.put(Pending("good", found))
    found.get(timeout=30)
    pending = Pending("hang", found)
    pending.drop = lambda: found.put("dropped")  # type: ignore[attr-defined]
    children.put(pending)
    time.sleep(0.3)
    children.close()
    assert found.get(timeout=30) == "dropped"

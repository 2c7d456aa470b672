"""Evaluators that are bound to the processor score in processes that can be killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate

MODULE = """
import os, time

class Heavy:
    name, cpu_bound = "heavy", True
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


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "heavy_evaluator.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    from heavy_evaluator import Heavy  # type: ignore[import-not-found]

    return Heavy()


def test_a_hanging_and_a_dying_evaluation_fail_alone(heavy: Any) -> None:
    responses = ["good", "hang", "die", "raise", "good again"]
    examples = [{"id": response} for response in responses]
    rows = evaluate(
        lambda example: example["id"], examples, [heavy], progress=False, row_timeout=3.0
    ).rows
    found = {row.example_id: row for row in rows}
    assert found["good"].scores["heavy"] == found["good again"].scores["heavy"] == 1.0
    assert found["good"].scores["parent"] == os.getpid()
    assert [found[name].errors[0].kind for name in ("hang", "die", "raise")] == [
        "TimeoutError",
        "RuntimeError",
        "ValueError",
    ]
    assert "exit code 3" in found["die"].errors[0].message


def test_an_evaluator_that_cannot_be_pickled_scores_here() -> None:
    class Local:
        name, cpu_bound = "local", True

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            return {"process": float(os.getpid())}

    rows = evaluate(
        lambda example: "x", [{"id": "0"}], [Local()], progress=False, row_timeout=60
    ).rows
    assert [row.scores for row in rows] == [{"process": float(os.getpid())}]


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
        "    name, cpu_bound = 'raising', True\n"
        "    def score(self, original, processed):\n"
        "        raise PlaceError(3, 4)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from raising_evaluator import Raising  # type: ignore[import-not-found]

    [row] = evaluate(
        lambda example: "x", [{"id": "0"}], [Raising()], progress=False, row_timeout=60
    ).rows
    assert row.errors[0].message == "PlaceError: wrong at 3:4"

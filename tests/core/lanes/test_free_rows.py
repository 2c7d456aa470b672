"""A response that costs nothing to have again is committed once, with all of its scores; any other one before the slow
evaluators score it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.runs import open_run
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

EXAMPLES = [{"id": str(number)} for number in range(40)]


class Answers:
    name = "answers"

    def __init__(self, is_recorded: bool) -> None:
        self.is_recorded = is_recorded

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": example["id"]}


class Later:
    name = "later"

    def __init__(self, failing: str = "") -> None:
        self.failing = failing

    async def score(self, original: Any, processed: Any) -> dict[str, float]:
        if original["id"] == self.failing:
            raise ValueError("not this one")
        return {"later": 1.0}


class Now:
    name = "now"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        return {"now": 0.5}


def both(failing: str = "") -> list[Any]:
    """Return an evaluator that scores before the commit, and one that scores later."""
    return [Now(), Later(failing)]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The rows that are committed, each as position and number of evaluations."""
    written: list[tuple[str, int]] = []
    commit = RunFile.commit

    def noted(store: RunFile, items: Sequence[Any]) -> None:
        rows = [item for item in items if isinstance(item, StoredRow)]
        written.extend((str(row.id.position), len(row.evaluations)) for row in rows)
        commit(store, items)

    monkeypatch.setattr(RunFile, "commit", noted)
    return written


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(("is_recorded", "each"), [(True, [2]), (False, [1, 1])])
def test_how_often_a_row_is_committed(
    is_recorded: bool, each: list[int], workers: int, commits: list[tuple[str, int]], tmp_path: Path
) -> None:
    path = tmp_path / "run.sqlite"
    options: Any = {"progress": False, "max_workers": workers, "run_file": path}
    result = evaluate(Answers(is_recorded), EXAMPLES, both(), **options)
    assert [row.scores for row in result.rows] == [{"now": 0.5, "later": 1.0}] * len(EXAMPLES)
    for example in EXAMPLES:
        assert [count for position, count in commits if position == example["id"]] == each
    commits.clear()
    evaluate(Answers(is_recorded), EXAMPLES, both(), **options)
    assert not commits  # nothing is left to do
    with open_run(path) as run:
        assert run.completeness.status == "finished"


def test_a_failure_of_a_late_score_is_stored_beside_the_other_scores() -> None:
    rows = evaluate(Answers(True), EXAMPLES, both("7"), progress=False).rows
    assert [row.scores for row in rows if row.errors] == [{"now": 0.5}]
    assert [(row.example_id, row.errors[0].kind) for row in rows if row.errors] == [
        ("7", "ValueError")
    ]


def test_a_recorded_row_whose_scoring_was_stopped_is_done_by_the_next_session(
    tmp_path: Path,
) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from EXAMPLES[:30]
        raise OSError("the disk is gone")

    options: Any = {"progress": False, "run_file": tmp_path / "run.sqlite"}
    with pytest.raises(RunStoppedError):
        evaluate(Answers(True), broken(), both(), **options)
    rows = evaluate(Answers(True), EXAMPLES, both(), **options).rows
    assert [row.scores for row in rows] == [{"now": 0.5, "later": 1.0}] * len(EXAMPLES)

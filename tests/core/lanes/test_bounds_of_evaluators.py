"""Async evaluators are asked for as many rows at a time as they say, and only what they are asked for takes its time."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError


def respond(example: dict[str, Any]) -> dict[str, Any]:
    return {"response": example["answer"]}


class Narrow:
    """Scores slowly on the event loop, and counts how many rows it is asked for at a time."""

    name = "narrow"

    def __init__(self, most: Any = None, seconds: float = 0.0) -> None:
        if most is not None:
            self.max_in_flight = most
        self._seconds, self._now, self.seen = seconds, 0, 0

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        raise AssertionError("the blocking method was called")

    async def ascore(self, original: Any, processed: Any) -> dict[str, float]:
        self._now += 1
        self.seen = max(self.seen, self._now)
        try:
            await self._say(original)
        finally:
            self._now -= 1
        return {"narrow": 1.0}

    async def _say(self, original: Any) -> None:
        for _ in range(5):
            await asyncio.sleep(self._seconds / 5)


class Failing(Narrow):
    """Fails on one row in three: by raising, by hanging, by blocking the loop."""

    async def _say(self, original: Any) -> None:
        kind = int(original["question"]) % 9
        if kind == 0:
            raise ValueError("no")
        if kind == 3:
            await asyncio.sleep(60)
        if int(original["question"]) == 6:
            time.sleep(1.5)
        await asyncio.sleep(0.001)


class Full(Narrow):
    """Scores nothing before it is asked for as many rows as it takes at a time."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._is_full = asyncio.Event()

    async def _say(self, original: Any) -> None:
        if self.seen == self.max_in_flight:
            self._is_full.set()
        await self._is_full.wait()


@pytest.mark.parametrize("most", [1, 3, 16])
def test_an_async_evaluator_is_asked_for_as_many_rows_as_it_says(
    most: int, make_examples: Callable[[int], Any]
) -> None:
    evaluator = Full(most)
    found = evaluate(
        respond, make_examples(60), [evaluator], progress=False, max_workers=8, row_timeout=60
    )
    assert [row.scores for row in found.rows] == [{"narrow": 1.0}] * 60
    assert evaluator.seen == most


@pytest.mark.parametrize("said", [None, 0, "many", True], ids=str)
def test_what_is_no_bound_bounds_nothing(said: Any, make_examples: Callable[[int], Any]) -> None:
    found = evaluate(respond, make_examples(20), [Narrow(said)], progress=False, max_workers=4)
    assert [row.scores for row in found.rows] == [{"narrow": 1.0}] * 20


class Judge(Narrow):
    """Lets nobody else in while it asks, as the client of a judge does."""

    def __init__(self) -> None:
        super().__init__(1, seconds=0.1)
        self._free = asyncio.Lock()

    async def _say(self, original: Any) -> None:
        async with self._free:
            await super()._say(original)


def test_waiting_for_a_place_is_no_part_of_the_deadline(
    make_examples: Callable[[int], Any],
) -> None:
    evaluator = Judge()
    found = evaluate(
        respond, make_examples(40), [evaluator], progress=False, max_workers=4, row_timeout=2.0
    )
    assert [row.errors for row in found.rows] == [()] * 40


def test_rows_behind_those_that_raise_hang_or_block_the_loop_are_scored(
    make_examples: Callable[[int], Any],
) -> None:
    found = evaluate(
        respond, make_examples(18), [Failing(2)], progress=False, max_workers=4, row_timeout=0.5
    )
    kinds = {
        int(row.example_id.lstrip("e")): row.errors[0].kind if row.errors else ""
        for row in found.rows
    }
    assert [kinds[number] for number in (0, 3, 9, 12)] == ["ValueError", "TimeoutError"] * 2
    assert {kinds[number] for number in (7, 8, 10, 11, 13, 14, 15, 16, 17)} == {""}


def test_a_stopped_run_leaves_rows_that_wait_for_a_place_to_be_scored_on_resume(
    make_examples: Callable[[int], Any], tmp_path: Path
) -> None:
    class Stopping(Narrow):
        is_armed = True

        async def _say(self, original: Any) -> None:
            if original["question"] == "5" and self.is_armed:
                Stopping.is_armed = False
                signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0.01)

    path = tmp_path / "run.sqlite"
    with pytest.raises((KeyboardInterrupt, RunStoppedError)):
        evaluate(respond, make_examples(40), [Stopping(1)], progress=False, run_file=path)
    resumed = evaluate(respond, make_examples(40), [Stopping(1)], progress=False, run_file=path)
    assert [row.scores for row in resumed.rows] == [{"narrow": 1.0}] * 40

"""Rows take their way at any number of workers, and come out the same."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.results.reading import canonical_row


def answer(example: dict[str, Any]) -> dict[str, Any]:
    number = int(example["question"])
    if number == 13:
        raise RuntimeError("poison")
    return {"response": str(number % 5)}


async def answer_async(example: dict[str, Any]) -> dict[str, Any]:
    await asyncio.sleep(0.001 * (int(example["question"]) % 3))
    return answer(example)


class Batches:
    """Scores many rows at once, and chokes on one of them."""

    name = "batches"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        raise AssertionError("asked for one row")

    def score_batch(self, pairs: list[tuple[Any, Any]]) -> list[dict[str, float]]:
        self.sizes.append(len(pairs))
        if any(original["id"] == "e20" for original, _ in pairs):
            raise ValueError("indigestible")
        return [{"batched": float(processed["response"])} for _, processed in pairs]


class Awaited:
    """Scores on the event loop."""

    name = "awaited"

    def score(self, original: Any, processed: Any) -> dict[str, float]:
        raise AssertionError("the blocking method was called")

    async def ascore(self, original: Any, processed: Any) -> dict[str, float]:
        await asyncio.sleep(0)
        return {"awaited": float(original["question"])}


def canonical(result: Any) -> list[str]:
    return [json.dumps(canonical_row(row), sort_keys=True) for row in result.rows]


HEAVY = """
class Heavy:
    name, cpu_bound = "heavy", True

    def score(self, original, processed):
        if original["id"] == "e17":
            raise ValueError("indigestible")
        return {"heavy": float(processed["response"]) / 5, "elsewhere": 1.0}
"""


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an evaluator that scores in other processes from its first row on."""
    (tmp_path / "heavy_of_lanes.py").write_text(HEAVY)
    monkeypatch.syspath_prepend(tmp_path)
    from heavy_of_lanes import Heavy  # type: ignore[import-not-found]

    return Heavy()


@pytest.mark.parametrize("lane", ["blocking", "async"])
def test_rows_and_metrics_are_the_same_at_1_8_and_64_workers(
    lane: str,
    make_system: Callable[..., Any],
    make_examples: Callable[[int], Any],
    same: Any,
    heavy: Any,
) -> None:
    system = make_system(answer) if lane == "blocking" else make_system(aprocess=answer_async)
    results = []
    for workers in (1, 8, 64):
        result = evaluate(
            system,
            make_examples(200),
            [same, Batches(), Awaited(), heavy],
            progress=False,
            max_workers=workers,
            row_timeout=120,
        )
        metrics = {
            name: value for name, value in result.summary["made"].items() if "latency" not in name
        }
        results.append((canonical(result), metrics))
    one, eight, sixty_four = results
    assert one == eight == sixty_four
    assert len(result.rows) == 200
    assert [row.example_id for row in result.rows if row.errors] == ["e13", "e17", "e20"]


def test_batches_hold_many_rows_and_a_broken_one_fails_alone(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any]
) -> None:
    batches = Batches()
    result = evaluate(
        make_system(answer), make_examples(100), [batches], progress=False, max_workers=16
    )
    rows = {row.example_id: row for row in result.rows}
    assert [row.example_id for row in result.rows if row.errors] == ["e13", "e20"]
    assert "indigestible" in rows["e20"].errors[0].message
    assert rows["e21"].scores == {"batched": 1.0}
    assert max(batches.sizes) > 4


def test_a_poison_row_among_ten_thousand_fails_alone(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    result = evaluate(
        make_system(aprocess=poisoned),
        make_examples(10_000),
        [same],
        progress=False,
        max_workers=64,
    )
    failed = [row for row in result.rows if row.errors]
    assert len(result.rows) == 10_000
    assert [(row.example_id, row.errors[0].kind, row.errors[0].message) for row in failed] == [
        ("e4321", "RuntimeError", "poison")
    ]
    assert sum(bool(row.scores) for row in result.rows) == 9_999
    assert result.summary["made"]["num_failed"] == 1


async def poisoned(example: dict[str, Any]) -> dict[str, Any]:
    if example["question"] == "4321":
        raise RuntimeError("poison")
    return {"response": "1"}


def test_it_works_inside_a_running_loop_and_from_threads(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    system = make_system(aprocess=answer_async)

    def run() -> int:
        return len(evaluate(system, make_examples(40), [same], progress=False, max_workers=8).rows)

    async def notebook() -> int:
        return run()

    assert asyncio.run(notebook()) == 40
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(run())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [40] * 3


@pytest.mark.parametrize("lane", ["blocking", "async", "blocked loop"])
def test_a_hung_call_is_bounded_by_the_deadline_and_stalls_nobody(
    lane: str, make_system: Callable[..., Any], make_examples: Callable[[int], Any], same: Any
) -> None:
    release = threading.Event()

    def hang(example: dict[str, Any]) -> dict[str, Any]:
        if example["question"] in ("3", "4"):
            release.wait(300)
        return {"response": "1"}

    async def hang_async(example: dict[str, Any]) -> dict[str, Any]:
        if example["question"] in ("3", "4"):
            await asyncio.sleep(300)
        return {"response": "1"}

    async def block(example: dict[str, Any]) -> dict[str, Any]:
        return hang(example)

    system = make_system(hang) if lane == "blocking" else None
    system = system or make_system(aprocess=hang_async if lane == "async" else block)
    started = time.monotonic()
    result = evaluate(
        system, make_examples(50), [same], progress=False, max_workers=2, row_timeout=2.0
    )
    seconds = time.monotonic() - started
    release.set()
    failed = {row.example_id: row.errors[0] for row in result.rows if row.errors}
    assert len(result.rows) == 50
    assert {"e3", "e4"} <= set(failed)
    assert failed["e3"].kind == "TimeoutError"
    assert "deadline" in failed["e3"].message
    if lane != "blocked loop":
        assert set(failed) == {"e3", "e4"}
    assert seconds < 250, "the run waited for a call that hangs for 300 s"


def test_a_late_answer_is_noted_and_not_counted(
    make_system: Callable[..., Any], same: Any, tmp_path: Path
) -> None:
    def late(example: dict[str, Any]) -> dict[str, Any]:
        time.sleep(2.4 if example["question"] == "0" else 0.1)
        return {"response": "1"}

    examples = [{"id": f"e{n}", "question": str(n), "answer": "1"} for n in range(12)]
    result = evaluate(
        make_system(late), examples, [same], progress=False, max_workers=1, row_timeout=2.0
    )
    first = result.rows[0]
    assert first.errors[0].kind == "TimeoutError"
    assert "An answer came " in first.errors[0].traceback
    assert first.scores == {}
    assert all(row.scores == {"same": 1.0} for row in result.rows[1:])


def test_a_hung_evaluator_costs_its_score_and_not_the_response(
    make_system: Callable[..., Any], make_examples: Callable[[int], Any]
) -> None:
    release = threading.Event()

    class Hanging:
        name = "hanging"

        def score(self, original: Any, processed: Any) -> dict[str, float]:
            if original["id"] == "e2":
                release.wait(300)
            return {"good": 1.0}

    result = evaluate(
        make_system(aprocess=answer_async),
        make_examples(10),
        [Hanging()],
        progress=False,
        max_workers=2,
        row_timeout=2.0,
    )
    release.set()
    row = result.rows[2]
    assert row.response == "2"
    assert [(error.stage, error.kind) for error in row.errors] == [("evaluator", "TimeoutError")]
    assert [row.scores for row in result.rows if row.example_id != "e2"] == [{"good": 1.0}] * 9


def test_an_async_function_is_a_system_and_is_awaited(
    same: Any, make_examples: Callable[[int], Any]
) -> None:
    running = most = 0

    async def answer(example: dict[str, Any]) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return "1"

    result = evaluate(answer, make_examples(20), [same], progress=False)
    assert [row.response for row in result.rows] == ["1"] * 20
    assert most > 1
    assert (
        evaluate(partial(answer), make_examples(2), [same], progress=False).rows[0].response == "1"
    )


def test_an_async_system_is_awaited_behind_rows_that_were_kept(tmp_path: Path) -> None:
    class Kept:
        name = "kept"

        def fingerprint(self) -> dict[str, str]:
            return {"answers": "x"}

        async def process(self, example: dict[str, Any]) -> dict[str, str]:
            return {"response": "x"}

    class One:
        name = "one"

        def score(self, original: object, processed: object) -> dict[str, float]:
            return {"one": 1.0}

    examples = [{"id": str(number), "question": "why?"} for number in range(400)]
    evaluate(
        Kept(),
        examples[:250],
        [One()],
        progress=False,
        max_workers=1,
        run_file=tmp_path / "first.sqlite",
    )
    result = evaluate(Kept(), examples, [One()], progress=False, max_workers=1, cache_dir=tmp_path)
    assert [str(error) for row in result.rows for error in row.errors] == []
    assert sum(bool(row.reused) for row in result.rows) == 250

"""Which calls the runner repeats, how long it waits before, and what the row counts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.run import admission
from context_bench.run.admission import pause

RETRY_AFTER = 0.2
FAILURES: dict[str, dict[str, Any]] = {
    "a server failure": {"status": 500},
    "a refusal": {"status": 429},
    "a busy server that names a time": {"status": 503, "retry_after": RETRY_AFTER},
    "no status": {},
}


class CallError(RuntimeError):
    """What a system raises where its endpoint fails."""

    def __init__(
        self, status: int | None = None, retryable: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__("it broke.")
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after


class Failing:
    """A system that fails so often for one example, and answers then."""

    name = "failing"

    def __init__(self, error: CallError, failures: float, failing: str = "2") -> None:
        self.error = error
        self.failures = failures
        self.failing = failing
        self.called: list[float] = []

    def process(self, example: dict[str, Any]) -> dict[str, str]:
        if example["id"] == self.failing:
            self.called.append(time.monotonic())
            if len(self.called) <= self.failures:
                raise self.error
        return {"response": "1"}


class AsyncFailing(Failing):
    """The same, async."""

    async def aprocess(self, example: dict[str, Any]) -> dict[str, str]:
        return self.process(example)


def examples(count: int) -> list[dict[str, str]]:
    return [{"id": str(number), "context": "c", "question": "q"} for number in range(count)]


@pytest.fixture
def ceilings(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The upper bounds of the pauses that the runner draws; each pause is a hundredth of its bound."""
    bounds: list[float] = []

    def shortened(attempt: int, asked: float | None, jitter: float) -> float | None:
        longest = pause(attempt, asked, 1.0)
        if longest is None:
            return None
        bounds.append(longest)
        return longest / 100

    monkeypatch.setattr(admission, "pause", shortened)
    return bounds


@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("kind", [Failing, AsyncFailing])
@pytest.mark.parametrize("case", FAILURES)
def test_a_call_that_may_succeed_later_is_repeated_and_counted(
    case: str,
    kind: type[Failing],
    workers: int,
    ceilings: list[float],  # which makes the pauses short
) -> None:
    system = kind(CallError(**FAILURES[case]), failures=2)
    result = evaluate(system, examples(4), [], progress=False, max_workers=workers)
    rows = {row.example_id: row for row in result.rows}
    assert not any(row.errors for row in result.rows)
    assert {name: row.attempts for name, row in rows.items()} == {
        **dict.fromkeys(rows, 1),
        "2": 3,
    }
    assert len(system.called) == 3
    if "retry_after" in FAILURES[case]:
        first, second, third = system.called
        assert min(second - first, third - second) >= RETRY_AFTER
        assert rows["2"].waiting >= 2 * RETRY_AFTER
    assert rows["2"].waiting >= 0.02


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        ({"status": 500}, 4),
        ({}, 4),
        ({"status": 500, "retryable": False}, 1),
        ({"status": 429, "retryable": False}, 1),
        ({"status": 503, "retry_after": 301.0}, 1),
    ],
)
def test_a_call_is_given_up_after_so_many_attempts_and_growing_pauses(
    failure: dict[str, Any], attempts: int, ceilings: list[float]
) -> None:
    system = Failing(CallError(**failure), failures=float("inf"), failing="19")
    result = evaluate(system, examples(20), [], progress=False, max_workers=2, max_failed=1.0)
    [row] = [row for row in result.rows if row.errors]
    [error] = row.errors
    assert (error.stage, error.kind, error.attempts) == ("system", "CallError", attempts)
    assert (row.attempts, len(system.called)) == (attempts, attempts)
    assert ceilings[: attempts - 1] == [1.0, 2.0, 4.0][: attempts - 1]

"""An endpoint whose limits nobody learns: it is left alone when it refuses, one goes ahead, and no row is lost by it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from importlib.util import module_from_spec, spec_from_file_location
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from context_bench.run.admission import _MAX_REFUSED_ATTEMPTS, pause
from context_bench.run.limits import FULL, EvenRates, Limiter


def load() -> Any:
    spec = spec_from_file_location(
        "limit_simulation", Path(__file__).parents[2] / "benchmarks" / "limit_simulation.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["limit_simulation"] = module
    spec.loader.exec_module(module)
    return module


Server = load().Server


def told(clock: Callable[[], float], most: int = 64) -> Limiter:
    return Limiter(most, EvenRates(None, None), clock=clock)


def refusals_of(server: Any, seconds: float, rows: int, says: bool) -> list[int]:
    """Return how often each row was refused until all were answered, in simulated time.

    Args:
        server: Answers or refuses.
        seconds: How long an answer takes, on average.
        rows: How many rows there are; those that were refused line up in front of the others.
        says: Whether a refusal says when to ask again.
    """
    random = Random(1)
    now = [1000.0]
    limiter = told(lambda: now[0])
    again, new, refused, left = deque[int](), deque(range(rows)), [0] * rows, rows
    asking: list[tuple[float, int, bool, float, float | None]] = []
    pausing: list[tuple[float, int]] = []
    while left:
        wait = 0.0
        while (again or new) and (wait := limiter.enter()) <= 0:
            row = (again or new).popleft()
            is_answered, _, _, reset = server.ask(now[0], 1)
            done = now[0] + (seconds * random.uniform(0.9, 1.1) if is_answered else 0.01)
            heappush(asking, (done, row, is_answered, now[0], float(ceil(reset)) if says else None))
        moments = [heap[0][0] for heap in (asking, pausing) if heap]
        moments += [now[0] + wait] if (again or new) and wait != FULL else []
        now[0] = max(now[0] + 1e-4, min(moments))
        while pausing and pausing[0][0] <= now[0]:
            again.append(heappop(pausing)[1])
        while asking and asking[0][0] <= now[0]:
            _, row, is_answered, began, asked = heappop(asking)
            limiter.leave()
            if is_answered:
                left -= 1
                limiter.answered(now[0] - began)
            else:
                refused[row] += 1
                limiter.refused(asked, now[0] - began)
                heappush(
                    pausing, (now[0] + (pause(refused[row], asked, random.random()) or 0.0), row)
                )
    return refused


@pytest.mark.parametrize("says", [False, True], ids=["nothing said", "Retry-After"])
@pytest.mark.parametrize("kind", ["fixed", "sliding", "bucket"])
@pytest.mark.parametrize(
    ("limit", "window", "seconds"),
    [
        (5, 1.0, 1.0),
        (50, 1.0, 0.02),
        (20, 3.0, 0.5),
        (100, 10.0, 3.0),
        (50, 60.0, 2.0),
        (20, 60.0, 0.5),
        (2, 60.0, 0.5),
    ],
)
def test_no_row_is_refused_so_often_that_it_is_given_up(
    limit: int,
    window: float,
    seconds: float,
    kind: str,
    says: bool,
) -> None:
    refused = refusals_of(Server(limit, window, kind), seconds, min(400, 12 * limit), says)
    assert sum(refused) > 0
    assert max(refused) < _MAX_REFUSED_ATTEMPTS


def test_one_goes_ahead_and_the_others_follow_when_it_is_not_refused() -> None:
    now = [1000.0]
    limiter = told(lambda: now[0])
    assert [limiter.enter() for _ in range(20)] == [0.0] * 20
    now[0] += 0.05
    for _ in range(20):
        limiter.leave()
        limiter.refused(5.0, 0.05)
    now[0] += 4.9
    assert limiter.enter() > 0
    now[0] += 0.11
    assert limiter.enter() == 0
    assert limiter.enter() > 0
    now[0] += 0.2
    assert limiter.enter() == 0


@pytest.mark.parametrize("asked", [3.0, 60.0])
def test_nothing_is_sent_before_the_first_retry_after_is_over(asked: float) -> None:
    now = [1000.0]
    limiter = told(lambda: now[0])
    assert limiter.enter() == 0
    limiter.leave()
    limiter.refused(asked, 0.01)
    now[0] += asked - 0.1
    assert limiter.enter() > 0
    now[0] += 0.2
    assert limiter.enter() == 0


def test_the_pause_is_doubled_as_long_as_the_one_that_goes_ahead_is_refused() -> None:
    now = [1000.0]
    limiter = told(lambda: now[0])
    pauses = []
    for _ in range(5):
        assert limiter.enter() == 0
        now[0] += 0.01
        limiter.leave()
        limiter.refused(None, 0.01)
        pauses.append(limiter.enter())
        now[0] += pauses[-1]
    assert pauses == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0])


def test_a_quarter_as_many_are_asked_at_once_after_a_refusal_and_more_with_each_answer() -> None:
    now = [1000.0]
    limiter = told(lambda: now[0], most=16)

    def fill() -> int:
        while limiter.enter() == 0:
            pass
        return limiter.in_flight

    assert fill() == 16
    now[0] += 0.01
    for _ in range(16):
        limiter.leave()
        limiter.refused(1.0, 0.01)
    now[0] += 1.0
    assert limiter.enter() == 0
    now[0] += 0.2
    assert fill() == 4
    for _ in range(8):
        limiter.leave()
        limiter.answered(0.1)
        fill()
    assert limiter.in_flight == 5


def test_what_was_sent_before_the_last_refusal_says_nothing_new() -> None:
    now = [1000.0]
    limiter = told(lambda: now[0])
    assert [limiter.enter() for _ in range(3)] == [0.0] * 3
    now[0] += 0.5
    limiter.leave()
    limiter.refused(1.0, 0.5)
    now[0] += 1.0
    assert limiter.enter() == 0
    now[0] += 2.0
    limiter.leave()
    limiter.answered(2.0)  # the one that went ahead
    limiter.leave()
    limiter.refused(60.0, 3.5)
    assert limiter.enter() == 0

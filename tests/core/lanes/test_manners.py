"""Manners towards an endpoint that refuses, on a clock that only waiting moves; and no more calls than a store keeps up with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from threading import Event, Lock
from typing import Any

import pytest

from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.run import admission, calls, limits, stopping
from context_bench.run.admission import pause, requested_wait
from context_bench.run.limits import Limiter
from context_bench.store.rows import StoredRow
from context_bench.store.runfile import RunFile

LATE = datetime(
    2019, 4, 1, 12, 0, 0, tzinfo=timezone.utc
)  # what a server with a wrong clock takes for now
IN_40_SECONDS = {"Date": format_datetime(LATE, usegmt=True)}
IN_40_SECONDS["Retry-After"] = format_datetime(LATE + timedelta(seconds=40), usegmt=True)


class RefusedError(Exception):
    def __init__(self, **attributes: Any) -> None:
        super().__init__("too many requests")
        self.status = 429
        self.__dict__.update(attributes)


class Clock:
    """Tells seconds; whoever would sleep moves it instead."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def pause(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(admission, "monotonic", clock)
    monkeypatch.setattr(limits, "monotonic", clock)
    monkeypatch.setattr(limits, "Limiter", partial(Limiter, clock=clock))
    monkeypatch.setattr(calls, "monotonic", clock)
    monkeypatch.setattr(calls.RowTask, "pause", clock.pause)
    return clock


class Refusing:
    """Refuses so many calls, and answers the others.

    Attributes:
        asked: When it was asked.
    """

    name = "refusing"

    def __init__(self, clock: Clock, refusals: int, **error: Any) -> None:
        self._clock, self._refusals, self._error = clock, refusals, error
        self.asked: list[float] = []

    def fingerprint(self) -> dict[str, str]:
        return {"endpoint": "http://refusing.test"}

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(self._clock())
        if len(self.asked) <= self._refusals:
            raise RefusedError(**self._error)
        return {"response": "1", "usage": {"input_tokens": 1}}


@pytest.mark.parametrize(
    "error",
    [{"retry_after": 40.0}, {"headers": {"Retry-After": "40"}}, {"headers": IN_40_SECONDS}],
    ids=["attribute", "seconds", "a date, by the server's own clock"],
)
@pytest.mark.parametrize("refusals", [1, 2, 3])
def test_a_call_is_never_asked_again_before_its_retry_after_is_over(
    refusals: int,
    error: dict[str, Any],
    clock: Clock,
    make_examples: Callable[[int], Any],
    same: Any,
) -> None:
    system = Refusing(clock, refusals, **error)
    [row] = evaluate(system, make_examples(1), [same], progress=False, max_workers=1).rows
    assert row.response == "1"
    pauses = [after - before for before, after in zip(system.asked, system.asked[1:], strict=False)]
    assert len(pauses) == refusals
    assert min(pauses) >= 40.0
    assert max(pauses) < 90.0  # and it is not put off for good


@pytest.mark.parametrize("asked", [31.0, 300.0])
def test_the_pause_of_a_call_is_never_shorter_than_its_retry_after(asked: float) -> None:
    assert all(pause(attempt, asked, 1.0) == asked for attempt in range(1, 40))


def test_the_pause_of_a_call_is_a_part_of_a_time_that_doubles() -> None:
    assert [pause(attempt, None, 0.5) for attempt in range(1, 5)] == [0.5, 1.0, 2.0, 4.0]
    assert pause(40, None, 1.0) == 30.0


def test_a_date_is_read_by_the_clock_of_the_server_that_wrote_it() -> None:
    error = RefusedError(headers=IN_40_SECONDS)
    assert requested_wait(error) == requested_wait(error, LATE - timedelta(days=1)) == 40.0


def test_a_call_that_is_always_refused_is_given_up(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    system = Refusing(clock, 60)
    rows = evaluate(
        system, make_examples(2), [same], progress=False, max_workers=1, keep_going=True
    ).rows
    assert [(row.errors[0].kind, row.errors[0].attempts) for row in rows] == [
        ("RefusedError", 10)
    ] * 2
    assert len(system.asked) == 20


def test_an_error_that_is_not_to_be_repeated_is_not(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    system = Refusing(clock, 60, retryable=False, retry_after=1.0)
    rows = evaluate(
        system, make_examples(4), [same], progress=False, max_workers=1, keep_going=True
    ).rows
    assert [row.errors[0].attempts for row in rows] == [1] * 4
    assert len(system.asked) == 4


def test_a_call_that_is_told_to_wait_for_long_is_left_for_later(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    system = Refusing(clock, 60, retry_after=86_400.0)
    [row] = evaluate(
        system, make_examples(1), [same], progress=False, max_workers=1, keep_going=True
    ).rows
    assert row.errors[0].attempts == len(system.asked) == 1


def test_an_endpoint_that_refuses_everything_for_two_minutes_stops_the_run(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    system = Refusing(clock, 600, retry_after=35.0)
    with pytest.raises(
        RunStoppedError, match=r"refused every request for .* too many requests"
    ) as stopped:
        evaluate(system, make_examples(50), [same], progress=False, max_workers=1)
    assert stopped.value.exit_code == 12
    assert len(system.asked) <= 5


def test_an_endpoint_that_only_refuses_is_called_ever_more_rarely_and_not_taken_for_dead(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    system = Refusing(clock, 600)
    with pytest.raises(RunStoppedError) as stopped:
        evaluate(system, make_examples(50), [same], progress=False, max_workers=1)
    assert isinstance(stopped.value.__cause__, stopping.RefusedError)
    gaps = [after - before for before, after in zip(system.asked, system.asked[1:], strict=False)]
    assert gaps[0] <= 2.5
    assert gaps[-1] >= 8 * gaps[0]
    assert len(system.asked) <= 20


def test_refusals_in_a_row_that_ask_for_little_cost_little(
    clock: Clock, make_examples: Callable[[int], Any], same: Any
) -> None:
    """An endpoint that asks for 0.3 s each time is left alone for a few seconds at most, however often it refuses."""
    system = Refusing(clock, 30, retry_after=0.3)
    rows = evaluate(system, make_examples(40), [same], progress=False, max_workers=1).rows
    assert not any(row.errors for row in rows[4:])
    gaps = [after - before for before, after in zip(system.asked, system.asked[1:], strict=False)]
    assert max(gaps) < 10.0


@pytest.mark.parametrize("lane", ["blocking", "async"])
@pytest.mark.parametrize("places", [4, 16])
def test_no_more_calls_are_made_than_there_are_places_while_the_store_is_busy(
    places: int,
    lane: str,
    make_system: Callable[..., Any],
    make_examples: Callable[[int], Any],
    same: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, overtaken = Lock(), Event()
    started = committed = most = stalls = 0
    commit = RunFile.commit

    def commit_slowly(self: RunFile, entries: Any) -> None:
        nonlocal committed, stalls
        rows = sum(isinstance(entry, StoredRow) for entry in entries)
        if rows and stalls < 3:
            stalls += 1
            overtaken.wait(0.2)  # a call too many ends the wait
        commit(self, entries)
        with lock:
            committed += rows

    def ask(example: dict[str, Any]) -> dict[str, str]:
        nonlocal started, most
        with lock:
            started += 1
            most = max(most, started - committed)
        if most > places:
            overtaken.set()
        return {"response": "1"}

    async def aask(example: dict[str, Any]) -> dict[str, str]:
        return ask(example)

    monkeypatch.setattr(RunFile, "commit", commit_slowly)
    system = make_system(ask) if lane == "blocking" else make_system(aprocess=aask)
    rows = evaluate(system, make_examples(120), [same], progress=False, max_workers=places).rows
    assert len(rows) == started == committed == 120
    assert stalls == 3
    assert most <= places

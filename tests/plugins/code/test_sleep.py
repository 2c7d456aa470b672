"""Only a program that sleeps while the machine runs is seen to sleep."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from context_bench_code import sleep
from context_bench_code.sleep import SleepWatch

TICK = 1.0
Look = tuple[float, bool, float]
"""The clock, whether every thread sleeps, and the processor time so far."""


@pytest.mark.parametrize(
    ("looks", "had"),
    [
        pytest.param(
            [(TICK * n, True, 0.0) for n in range(1, 12)], 10 * TICK, id="asleep at every look"
        ),
        pytest.param(
            [(TICK * n, False, 0.0) for n in range(1, 12)], 0.0, id="waiting for a processor"
        ),
        pytest.param(
            [(TICK * n, n % 2 == 0, 0.0) for n in range(1, 12)],
            0.0,
            id="asleep at every other look",
        ),
        pytest.param(
            [(TICK * n, False, TICK * n / 2) for n in range(1, 11)],
            5 * TICK,
            id="running half of the time",
        ),
        pytest.param(
            [(TICK, True, 0.0), (TICK * 2, True, TICK / 2)],
            TICK,
            id="running and sleeping by turns",
        ),
        pytest.param([(TICK, True, 0.0), (1000.0, True, 0.0)], 2 * TICK, id="a paused machine"),
        pytest.param(
            [(TICK, True, 0.0), (TICK * 1.5, True, 0.0)], 0.0, id="looked at within a tick"
        ),
    ],
)
def test_only_sleep_and_processor_time_count(
    monkeypatch: pytest.MonkeyPatch, looks: list[Look], had: float
) -> None:
    now: list[Look] = [(0.0, False, 0.0)]
    clocks = SimpleNamespace(monotonic=lambda: now[0][0], clock_gettime=lambda _: now[0][2])
    monkeypatch.setattr(sleep, "TICK_SECONDS", TICK)
    monkeypatch.setattr(sleep, "time", clocks)
    monkeypatch.setattr(sleep, "_sender", lambda _: 1)
    monkeypatch.setattr(sleep, "_sleeps", lambda _: now[0][1])
    near, far = socket.socketpair()
    with near, far:
        watch = SleepWatch(near)
        for look in looks:
            now[0] = look
            found = watch.look()
    assert found == pytest.approx(had)


def test_nothing_is_seen_of_a_program_that_has_said_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sleep, "TICK_SECONDS", 0.0)
    near, far = socket.socketpair()
    with near, far:
        assert [SleepWatch(near).look() for _ in range(2)] == [0.0, 0.0]

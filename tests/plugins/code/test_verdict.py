"""What the end of a program says: only processor time that was used up, and what the program did itself, is a result."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from context_bench_code.verdict import Ending, judge

HEADER = b'{"form": "body"}\n'
NONCE = b"n" * 32
FAILED = b'{"outcome": "failed assertion"}\n'


def ending(
    report: bytes, status: int | None, *, used: float, killed: bool = False, overslept: bool = False
) -> Ending:
    return Ending(
        report=HEADER + report,
        output=b"",
        status=status,
        was_killed=killed,
        flooded=False,
        overslept=overslept,
        seconds=40.0,
        processor_seconds=used,
        timeout=10.0,
    )


CASES: dict[str, tuple[Ending, str]] = {
    "done": (ending(NONCE, 0, used=1.0), "passed"),
    "done on a slow machine": (ending(NONCE, 0, used=9.0), "passed"),
    "wrong": (ending(FAILED, 0, used=1.0), "failed assertion"),
    "wrong on a slow machine": (ending(FAILED, 0, used=0.1), "failed assertion"),
    "its time used up, and killed for it": (
        ending(b"", -signal.SIGKILL, used=10.01, killed=True),
        "timeout",
    ),
    "its time used up, and ended by the kernel": (
        ending(b"", -signal.SIGKILL, used=11.0),
        "timeout",
    ),
    "its time used up, and told so by the kernel": (
        ending(b"", -signal.SIGXCPU, used=11.0),
        "timeout",
    ),
    "asleep for its time": (ending(b"", None, used=0.0, overslept=True), "timeout"),
    "asleep for its time, and done at the last moment": (
        ending(NONCE, 0, used=0.1, overslept=True),
        "timeout",
    ),
    "late, with half of its time": (
        ending(b"", -signal.SIGKILL, used=5.0, killed=True),
        "undecided",
    ),
    "late, with none of its time": (
        ending(b"", -signal.SIGKILL, used=0.0, killed=True),
        "undecided",
    ),
    "late, and done at the last moment": (ending(NONCE, 0, used=5.0, killed=True), "undecided"),
    "killed from outside": (ending(b"", -signal.SIGKILL, used=1.0), "undecided"),
    "crashed": (ending(b"", -signal.SIGSEGV, used=1.0), "crashed"),
    "left early": (ending(b"", 0, used=1.0), "exited early"),
}


@pytest.mark.parametrize(("found", "outcome"), CASES.values(), ids=CASES.keys())
def test_an_ending_has_one_outcome(found: Ending, outcome: str) -> None:
    verdict: Any = judge(found, NONCE, ["assert True"])
    assert verdict.outcome == outcome
    if outcome == "undecided":
        assert "memory" in verdict.facts["message"] or "busy or paused" in verdict.facts["message"]

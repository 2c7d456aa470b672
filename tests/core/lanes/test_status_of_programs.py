"""A program's exit status is known in a run, also where whoever began it has SIGCHLD ignored, as some launchers do."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from context_bench import evaluate

if not hasattr(signal, "SIGCHLD"):
    pytest.skip("there is no such signal here", allow_module_level=True)


@pytest.fixture(params=[signal.SIG_IGN, signal.SIG_DFL], ids=["ignored", "not ignored"])
def handler(request: pytest.FixtureRequest) -> Iterator[Any]:
    before = signal.signal(signal.SIGCHLD, request.param)
    yield request.param
    signal.signal(signal.SIGCHLD, before)


class Fails:
    name = "fails"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {
            "response": subprocess.run(
                [sys.executable, "-c", "raise SystemExit(3)"], check=False
            ).returncode
        }


def test_the_status_of_a_program_that_fails_is_not_lost(handler: Any) -> None:
    result = evaluate(Fails(), [{"question": "q"}], [], progress=False)
    assert [row.response for row in result.rows] == ["3"]
    assert signal.getsignal(signal.SIGCHLD) == handler

"""Code that a model wrote, scored by running the tests of its problem."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from context_bench.answers import NO_ANSWER, answer_of
from context_bench.errors import InconclusiveScoreError
from context_bench.records import Scores
from context_bench_code import sandbox
from context_bench_code.errors import SandboxError
from context_bench_code.marking import marked
from context_bench_code.problem import job_of
from context_bench_code.tiers import TIERS

_MOST_SECONDS = 24 * 3600
_LEAST_MEMORY, _MOST_MEMORY = 64, 1024 * 1024
_TIERS = ("auto", *(tier.name for tier in TIERS))


class CodeExecution:
    """Whether the code in a response passes the tests of its problem: `pass_at_1` is 1.0 or 0.0.

    The problem is a row in the layout of HumanEval (`prompt`, `test`, `entry_point`) or of MBPP (`test_list`,
    `test_imports`, `test_setup_code`). The response may be a function's body, a whole function, or either of them in
    fences and with talk around it. A row is unscored (`{}`), whatever the response is, without tests, with tests that are no
    Python, or with tests or a prompt that import what the sandbox lacks; so is a response that is no text. An empty response
    scores 0.0, and so does one that imports a missing package which neither tests nor prompt import.

    A program that has used up its time, by its processor or asleep, scores 0.0. One that has not, and is not done long after, is
    undecided: the machine may be busy or paused. That is an error of the row, which a rescore tries again.

    `details` holds `outcome` (passed, failed assertion, error, timeout, memory, exited early, crashed, output limit, no
    code found), `tier`, `seconds`, `form`, and of a failure what is known of `error`, `message`, `line`, `test` and
    `output`.

    Args:
        timeout: Seconds that a program may compute or sleep.
        memory: Mebibytes of address space that it may use.
        allow_unsandboxed: Whether to run programs without isolation where no isolating sandbox works.
        tier: The sandbox to use instead of the strongest that works.

    Raises:
        ValueError: An option has a value that does not exist or makes no sense.
        SandboxError: This system has no isolating sandbox. Where that shows only by trying, it is raised by the
            first call of `score`.

    >>> row = {"prompt": "def add(a, b):\\n", "test": "def check(f):\\n    assert f(1, 2) == 3", "entry_point": "add"}
    >>> CodeExecution().score(row, {"response": "    return a + b"})  # doctest: +SKIP
    {'pass_at_1': 1.0}
    """

    name = "code_execution"

    def __init__(
        self,
        timeout: float = 10,
        *,
        memory: int = 1024,
        allow_unsandboxed: bool = False,
        tier: str = "auto",
    ) -> None:
        if tier not in _TIERS:
            raise ValueError(
                f"CodeExecution(tier={tier!r}): choose one of {', '.join(map(repr, _TIERS))}."
            )
        if sys.platform == "win32":
            raise SandboxError(
                "CodeExecution runs programs on Linux and macOS. On Windows use it under WSL."
            )
        if sys.platform != "linux" and not allow_unsandboxed:
            raise SandboxError(
                f"CodeExecution has no isolating sandbox on {sys.platform}. To run model-written code with all the "
                "rights of your account, say allow_unsandboxed=True or --allow-unsandboxed-code."
            )
        self.timeout = _seconds(timeout)
        self.memory = _mebibytes(memory)
        self.allow_unsandboxed = bool(allow_unsandboxed)
        self.tier = tier

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """1.0 under `pass_at_1` if every test returned, else 0.0; nothing without tests or response.

        Raises:
            SandboxError: No program can be run here.
            InconclusiveScoreError: The program did not get the time that it may take, or was killed from outside.
        """
        response = answer_of(processed)
        if response is None:
            return Scores({}, {"unscored": NO_ANSWER})
        job = job_of(original, marked(response))
        if job is None:
            return Scores({}, {"unscored": "the example has no tests that could be run"})
        tier, verdict = sandbox.run(
            job,
            timeout=self.timeout,
            memory=self.memory,
            tier=self.tier,
            allow_unsandboxed=self.allow_unsandboxed,
        )
        details = {
            "outcome": verdict.outcome,
            "tier": tier,
            "seconds": round(verdict.seconds, 4),
            **verdict.facts,
        }
        if verdict.outcome == "broken tests":
            return Scores(
                {},
                {
                    **details,
                    "unscored": f"the example's tests cannot be run: {verdict.facts['message']}",
                },
            )
        if verdict.outcome == "undecided":
            raise InconclusiveScoreError(
                f"Whether the code is right could not be seen: {verdict.facts['message']}."
            )
        return Scores({"pass_at_1": 1.0 if verdict.passed else 0.0}, details)

    def isolation(self) -> str:
        """The name of the sandbox that programs run in: it isolates them, or the user allowed one that does not.

        Raises:
            SandboxError: There is none.
        """
        return sandbox.name_of(self.tier, self.allow_unsandboxed)

    def fingerprint(self) -> dict[str, Any]:
        """What can change a score: the limits, and the Python that runs the programs."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return {"timeout": self.timeout, "memory": self.memory, "python": version}


def _seconds(value: Any) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 < value <= _MOST_SECONDS
    ):
        raise ValueError(
            f"CodeExecution(timeout={value!r}): give seconds above 0 and up to {_MOST_SECONDS}."
        )
    return float(value)


def _mebibytes(value: Any) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or not _LEAST_MEMORY <= value <= _MOST_MEMORY
    ):
        raise ValueError(
            f"CodeExecution(memory={value!r}): give whole mebibytes from {_LEAST_MEMORY} to {_MOST_MEMORY}."
        )
    return value

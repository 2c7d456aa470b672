"""What became of a program."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

OUTCOMES = (
    "passed",
    "failed assertion",
    "error",
    "timeout",
    "memory",
    "exited early",
    "crashed",
    "output limit",
    "no code found",
    "broken tests",
    "undecided",
)
_SAID_BY_PROGRAM = {"failed assertion", "error", "memory", "exited early", "no code found"}
_BY_THE_KERNEL = (
    -signal.SIGXCPU,
    -signal.SIGKILL,
)  # how it ends what has used up its processor time
_SHOWN_OUTPUT = 1000


@dataclass(frozen=True)
class Ending:
    """The end of a program as the runner saw it.

    Attributes:
        report: All bytes that came through the report channel.
        output: The last bytes that it printed.
        status: Its exit status, negative for a signal; None if nobody waited for it.
        was_killed: Whether the fork server killed it, its time being up.
        flooded: Whether it printed more than it may.
        overslept: Whether it slept, and was run, for longer than it may, with nothing else in its way.
        seconds: From its start to its end, by the clock.
        processor_seconds: The processor time that it got.
        timeout: The processor time that it may have.
    """

    report: bytes
    output: bytes
    status: int | None
    was_killed: bool
    flooded: bool
    overslept: bool
    seconds: float
    processor_seconds: float
    timeout: float


@dataclass(frozen=True)
class Verdict:
    """Whether the tests returned, and if not, why."""

    outcome: str
    seconds: float
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every test returned."""
        return self.outcome == "passed"


def judge(ending: Ending, nonce: bytes, tests: Sequence[str]) -> Verdict:
    """The verdict: passed if and only if the nonce and nothing else followed the first line of the report.

    Only that line was written before the program ran. Whatever else the report says is the program's own word, good
    enough for an explanation.
    """
    first, _, rest = ending.report.partition(b"\n")
    header = _object(first)
    if header.get("broken"):
        return Verdict("broken tests", ending.seconds, {"message": header["broken"]})
    facts = {"form": header["form"]} if "form" in header else {}
    if (
        rest == nonce
        and ending.status == 0
        and not (ending.was_killed or ending.flooded or ending.overslept)
    ):
        return Verdict("passed", ending.seconds, facts)
    said = _object(rest.partition(b"\n")[0])
    outcome = _outcome(ending, said)
    if outcome == "undecided":
        facts["message"] = _doubt(ending)
    elif outcome == "crashed":
        facts["error"] = _signal_name(-(ending.status or 0))
    elif outcome in _SAID_BY_PROGRAM:
        facts |= {key: said[key] for key in ("error", "message") if isinstance(said.get(key), str)}
        facts |= _place(said, tests)
    if ending.output:
        facts["output"] = ending.output.decode(errors="replace")[-_SHOWN_OUTPUT:]
    return Verdict(outcome, ending.seconds, facts)


def _outcome(ending: Ending, said: dict[str, Any]) -> str:
    if ending.flooded:
        return "output limit"
    if ending.overslept:
        return "timeout"
    if ending.processor_seconds >= ending.timeout and (
        ending.was_killed or ending.status in _BY_THE_KERNEL
    ):
        return "timeout"
    if ending.was_killed or ending.status == -signal.SIGKILL:
        return (
            "undecided"  # it got no processor, or no memory: what it would have done is not known
        )
    if ending.status is not None and ending.status < 0:
        return "crashed"
    outcome = said.get("outcome")
    return outcome if isinstance(outcome, str) and outcome in _SAID_BY_PROGRAM else "exited early"


def _doubt(ending: Ending) -> str:
    if not ending.was_killed:
        return "the program was killed from outside, as programs are when the machine runs out of memory"
    return (
        f"the program had not ended after {ending.seconds:.1f} s, in which it got {ending.processor_seconds:.2f} of the "
        f"{ending.timeout:g} s of processor time that it may take: the machine was busy or paused"
    )


def _place(said: dict[str, Any], tests: Sequence[str]) -> dict[str, Any]:
    """The line of the response in which the error arose, and the line of the tests that led there."""
    facts: dict[str, Any] = {}
    with contextlib.suppress(KeyError, IndexError, TypeError, ValueError):
        name, line = said["where"][-1]
        if name == "<response>":
            facts["line"] = int(line)
    with contextlib.suppress(KeyError, IndexError, TypeError, ValueError):
        name, line = said["test"][-1]
        facts["test"] = tests[int(name.strip("<>").split()[1])].splitlines()[int(line) - 1].strip()
    return facts


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

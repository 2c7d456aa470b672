"""Check commands of tasks: run in a copy of the workspace, with files that the agent did not see."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import frozen

from context_bench.errors import ContextBenchError
from context_bench_agents_live.keeper import VARIABLE
from context_bench_agents_live.workspace import Workspace
from context_bench_command import (
    CommandExitError,
    CommandOutputError,
    CommandTimeoutError,
)
from context_bench_command.once import run_once
from context_bench_command.surroundings import environment
from context_bench_command.templates import fill
from context_bench_tasks import PYTEST, REWARD, STATUS, CommandCheck

_MAX_OUTPUT = 16 * 1024 * 1024
_MAX_REWARD = 1024 * 1024
_PYTEST_LINE = re.compile(r"^(PASSED|FAILED|ERROR|XPASS|XFAIL)\s+\S", re.MULTILINE)
_MISSING = re.compile(r": line \d+: (\S+): command not found|No module named (pytest)\b")


class CheckFailedError(ContextBenchError):
    """A check did not say how much is correct."""

    code = "check-failed"


@frozen
class _Ending:
    """How a command ended.

    Attributes:
        output: What it wrote to standard output.
        is_good: Whether its status is 0.
        is_cut: Whether it was too slow or wrote too much.
    """

    output: str
    is_good: bool
    is_cut: bool = False


def command_share(check: CommandCheck, files: Mapping[str, str]) -> float:
    """Return how much a check command finds correct, 0 to 1, in a folder with these files.

    What it starts is killed when it ends, and the folders are removed. Where the check has a ``workdir``, that path, ``/tests``
    and ``/logs`` are replaced in all texts by the paths of folders for this check.

    Args:
        check: The command, with its hidden files.
        files: Text of each file of the workspace, by path.

    Raises:
        CommandMissingError: Its program does not exist.
        CheckFailedError: It wrote no result, or a program that it calls is missing.
        WorkspaceError: A path leads out of the workspace.
    """
    with ExitStack() as stack:
        workspace = stack.enter_context(Workspace({}, 0))
        tests = stack.enter_context(Workspace({}, 0))
        logs = tests.temporary
        places: dict[str, str] = {}
        if check.workdir:
            places = {
                check.workdir: str(workspace.root),
                "/tests": str(tests.root),
                "/logs": str(logs),
            }
            (logs / "verifier").mkdir()
        for folder, texts in ((workspace, files), (tests, check.files)):
            folder.fill({path: replace_paths(text, places) for path, text in texts.items()})
        ending = _run(check, workspace, tests, places)
        if check.result == REWARD:
            return 0.0 if ending.is_cut else _reward(logs / "verifier", ending)
        if check.result == PYTEST:
            return 0.0 if ending.is_cut else _pytest_share(ending)
    return float(ending.is_good)


def replace_paths(text: str, places: Mapping[str, str]) -> str:
    """Return a text with absolute paths in place of others; a longer path that only ends or begins like one is left.

    >>> replace_paths("cat /app/a /app.txt my/app", {"/app": "/x"})
    'cat /x/a /app.txt my/app'
    """
    if not places:
        return text
    names = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))
    pattern = rf"(?<![\w./*~)}}-])(?:{names})(?![\w-]|\.\w)"
    return re.sub(pattern, lambda match: places[match.group()], text)


def _run(
    check: CommandCheck, workspace: Workspace, tests: Workspace, places: Mapping[str, str]
) -> _Ending:
    variables = {
        **environment({}, ()),
        VARIABLE: workspace.folder,
        "HOME": str(workspace.home),
        "TMPDIR": str(workspace.temporary),
        "TEST_DIR": str(tests.root),
        **{name: replace_paths(value, places) for name, value in check.variables.items()},
    }
    words = [fill(word, {"tests": str(tests.root)}) for word in check.words]
    if check.result != STATUS:  # both outputs as one, as Harbor and terminal-bench read them
        words = ["bash", "-c", 'exec "$@" 2>&1', "check", *words]
    try:
        output = run_once(
            words,
            b"",
            cwd=str(workspace.root),
            environment=variables,
            timeout=check.seconds,
            largest=_MAX_OUTPUT,
            end_others=workspace.end_processes,
        )
    except CommandExitError as error:
        return _Ending(error.output.decode("utf-8", "replace"), is_good=False)
    except (CommandTimeoutError, CommandOutputError):
        return _Ending("", is_good=False, is_cut=True)
    finally:
        workspace.end_processes()
    return _Ending(output.decode("utf-8", "replace"), is_good=True)


def _reward(folder: Path, ending: _Ending) -> float:
    """Return the reward as Harbor reads it: of ``reward.json``, or else the number of ``reward.txt``; cut to 0 to 1."""
    text = _text(folder / "reward.txt")
    rewards: dict[str, float] = {}
    raw = _text(folder / "reward.json")
    if raw is not None:
        rewards = _numbers(raw)
    if "reward" not in rewards and text is not None:
        rewards = {"reward": _number(text)}
    if not rewards:
        _require_programs(ending)
        raise CheckFailedError(f"The tests wrote no reward. {_last_words(ending)}".rstrip())
    if "reward" not in rewards and len(rewards) > 1:
        raise CheckFailedError(
            f"reward.json has no number 'reward', but {', '.join(sorted(rewards))}."
        )
    reward = rewards.get("reward", next(iter(rewards.values())))
    if reward <= 0:
        _require_programs(ending)
    return min(max(reward, 0.0), 1.0)


def _pytest_share(ending: _Ending) -> float:
    """Return the share of the tests that pass, by pytest's short summary."""
    outcomes = _PYTEST_LINE.findall(ending.output)
    if not outcomes:
        _require_programs(ending)
        message = f"The tests printed no summary of pytest. {_last_words(ending)}"
        raise CheckFailedError(message.rstrip())
    return sum(outcome in ("PASSED", "XFAIL") for outcome in outcomes) / len(outcomes)


def _require_programs(ending: _Ending) -> None:
    missing = _MISSING.search(ending.output)
    if missing is not None:
        program = missing.group(1) or missing.group(2)
        raise CheckFailedError(f"The tests need {program}, which is not installed here.")


def _last_words(ending: _Ending) -> str:
    lines = ending.output.strip().splitlines()
    return lines[-1][-300:] if lines else ""


def _numbers(raw: str) -> dict[str, float]:
    try:
        rewards: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise CheckFailedError(f"reward.json is not JSON: {error}") from error
    if not isinstance(rewards, dict):
        raise CheckFailedError("reward.json is not an object.")
    return {
        name: float(value)
        for name, value in rewards.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise CheckFailedError(f"reward.txt contains {text[:40]!r}, not a number.") from error
    if not math.isfinite(number):
        raise CheckFailedError(f"reward.txt contains {text[:40]!r}, not a finite number.")
    return number


def _text(file: Path) -> str | None:
    """Return the text of a file that a check wrote; None where there is none."""
    if file.is_symlink() or not file.is_file():
        return None
    with file.open("rb") as opened:
        return opened.read(_MAX_REWARD).decode("utf-8", "replace")

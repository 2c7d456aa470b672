"""Check commands of tasks: run in a copy of the workspace, only where the user allows it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_agents_live import AgentTask
from context_bench_agents_live.check_commands import command_passes
from context_bench_command import CommandMissingError
from context_bench_tasks import CommandCheck

COUNTS = {
    "turns": 1,
    "calls": {},
    "re_reads": 0,
    "tokens_sent": 0,
    "tokens_cached": 0,
    "tokens_written": 0,
}


_AGENT = """
import os, pathlib, sys, urllib.request
pathlib.Path("hello.txt").write_text(sys.argv[1])
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, b'{"messages": []}', headers)).read()
"""


def passes(*words: str, seconds: int = 300, **files: str) -> bool:
    return command_passes(CommandCheck(words, {"hidden.txt": "1"}, seconds), files)


def test_a_command_passes_with_status_0_and_sees_workspace_and_hidden_files() -> None:
    assert passes("cmp", "a", "{tests}/hidden.txt", a="1")
    assert not passes("cmp", "a", "{tests}/hidden.txt", a="2")
    assert not passes("test", "-e", "hidden.txt", a="1")


def test_a_command_that_is_too_slow_does_not_pass_and_a_missing_one_is_an_error() -> None:
    assert not passes("sleep", "600", seconds=1)
    with pytest.raises(CommandMissingError):
        passes("no-such-check-program")


def test_a_command_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert passes("touch", "b", a="1")
    assert list(tmp_path.iterdir()) == []


def test_a_check_is_run_only_where_the_user_allows_it() -> None:
    command = {"words": ["grep", "-q", "new", "a"], "files": {}, "seconds": 300}
    example = {"check": {"outputs": {}, "unchanged": {}, "command": command}, "files": {"a": "old"}}
    output: dict[str, Any] = {"agent": COUNTS, "workspace": {}, "changes": {"a": "new"}}
    with pytest.raises(ConfigurationError, match="run_checks=true"):
        AgentTask().score(example, output)
    assert AgentTask(run_checks=True).score(example, output)["task_success"] == 1.0
    output["changes"] = {}
    assert AgentTask(run_checks=True).score(example, output)["task_success"] == 0.0


@pytest.mark.parametrize(("written", "success"), [("hello", 1.0), ("bye", 0.0)])
def test_an_agent_works_on_a_harbor_directory(tmp_path: Path, written: str, success: float) -> None:
    task = tmp_path / "task"
    (task / "environment").mkdir(parents=True)
    (task / "tests").mkdir()
    (task / "task.toml").write_text("[verifier]\ntimeout_sec = 300\n")
    (task / "instruction.md").write_text("Write hello into hello.txt.")
    (task / "environment" / "notes.txt").write_text("a note")
    (task / "tests" / "test.sh").write_text("grep -q hello hello.txt && test -f notes.txt")
    agent = tmp_path / "agent.py"
    agent.write_text(_AGENT)
    run_file = tmp_path / "run.sqlite"
    command = ["run", "--dataset", f"tasks,path={tmp_path / 'task'}", "--quiet"]
    command += [
        "--system",
        f"agent:command='{sys.executable} {agent} {written}'",
        "--run-file",
        str(run_file),
    ]
    command += ["--evaluators", "agent-task", "--set", "evaluators.agent-task.run_checks=true"]
    assert execute(command) == 0
    with open_run(run_file) as opened:
        (row,) = opened.rows()
    assert row.scores["task_success"] == success

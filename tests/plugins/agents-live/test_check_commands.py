"""Check commands of tasks: run in a copy of the workspace, only where the user allows it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from context_bench.catalog import open_catalog
from context_bench.cli import execute
from context_bench.errors import ConfigurationError
from context_bench.runs import open_run
from context_bench_agents_live import AgentTask
from context_bench_agents_live.check_commands import CheckFailedError, command_share, replace_paths
from context_bench_command import CommandMissingError
from context_bench_tasks import PYTEST, REWARD, CommandCheck

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
    return command_share(CommandCheck(words, {"hidden.txt": "1"}, seconds), files) == 1.0


def share_of(script: str, result: str = REWARD, /, **files: str) -> float:
    """Return the share that a script of tests finds correct, in a workspace that it calls /app."""
    words = ("bash", "{tests}/test.sh")
    check = CommandCheck(
        words, {"test.sh": script, "b": "1"}, 300, result, "/app", {"AT": "/app/a"}
    )
    return command_share(check, files)


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


@pytest.mark.parametrize(
    ("script", "share"),
    [
        ("cmp /app/a /tests/b && echo 1 > /logs/verifier/reward.txt; exit 3", 1.0),
        ("cmp $AT $TEST_DIR/b && echo 1 > /logs/verifier/reward.txt", 1.0),
        ("mkdir -p /logs/verifier; echo 0.25 > /logs/verifier/reward.txt", 0.25),
        ("""echo '{"reward": 0.5, "speed": 3, "why": "slow"}' > /logs/verifier/reward.json""", 0.5),
        ("echo '{\"score\": 7}' > /logs/verifier/reward.json", 1.0),
        (
            'cd /logs/verifier; echo 0.75 > reward.txt; echo \'{"a": 1, "b": 2}\' > reward.json',
            0.75,
        ),
        ("bash /app/run.sh && echo 1 > /logs/verifier/reward.txt", 1.0),
        ("echo -1 > /logs/verifier/reward.txt", 0.0),
    ],
)
def test_the_reward_that_tests_write_is_the_share(script: str, share: float) -> None:
    assert share_of(script, a="1", **{"run.sh": "#!/bin/bash\ntest -f /app/a"}) == share


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 1", "wrote no reward"),
        ("echo good > /logs/verifier/reward.txt", "not a number"),
        ("echo nan > /logs/verifier/reward.txt", "finite"),
        ('echo \'{"a": 1, "b": 2}\' > /logs/verifier/reward.json', "a, b"),
        ("echo '[1]' > /logs/verifier/reward.json", "not an object"),
        ("no-such-tool; echo 0 > /logs/verifier/reward.txt", "need no-such-tool"),
    ],
)
def test_tests_without_a_usable_reward_are_a_failure_and_not_a_zero(
    script: str, reason: str
) -> None:
    with pytest.raises(CheckFailedError, match=reason):
        share_of(script)


def test_the_share_of_terminal_bench_is_that_of_the_tests_in_the_summary_of_pytest() -> None:
    summary = "echo 'PASSED test_a.py::test_1'; echo 'FAILED test_a.py::test_2 - assert 1'; exit 1"
    assert share_of(summary, PYTEST) == 0.5
    assert share_of("echo 'PASSED test_a.py::test_1'", PYTEST) == 1.0
    with pytest.raises(CheckFailedError, match="no summary"):
        share_of("exit 0", PYTEST)


def test_only_whole_paths_are_replaced() -> None:
    text = "/app /app/a '/app' x=/app; /apps /app.py my/app $HOME/app ./app"
    assert replace_paths(text, {"/app": "/x"}) == (
        "/x /x/a '/x' x=/x; /apps /app.py my/app $HOME/app ./app"
    )


def test_code_of_a_model_is_run_only_with_consent_and_the_manifest_says_so() -> None:
    (component,) = open_catalog().named("evaluators", "agent-task")
    assert {"subprocess", "executes-model-code"} <= set(component.capabilities)
    assert component.manifest.options["run_checks"].needs_trust
    assert "no code" in AgentTask().isolation()


def test_a_check_without_its_script_is_told_before_the_first_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worked = tmp_path / "worked"
    for name, words in (("a", '["true"]'), ("b", '["bash", "{tests}/check.sh"]')):
        task = tmp_path / "tasks" / name
        task.mkdir(parents=True)
        (task / "task.toml").write_text(f"instruction = 'Do it.'\ncheck = {words}\n")
    command = ["run", "--dataset", f"tasks,path={tmp_path / 'tasks'}", "--quiet"]
    command += ["--system", f"agent:command='touch {worked}'", "--evaluators", "agent-task"]
    command += ["--set", "evaluators.agent-task.run_checks=true"]
    assert execute([*command, "--run-file", str(tmp_path / "run.sqlite")]) not in (0, 12)
    assert "{tests}/check.sh" in capsys.readouterr().err
    assert not worked.exists()


def test_a_check_that_is_not_allowed_is_told_before_the_agent_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = tmp_path / "task"
    task.mkdir()
    (task / "task.toml").write_text('instruction = "Do it."\ncheck = ["true"]\n')
    run_file = tmp_path / "run.sqlite"
    command = ["run", "--dataset", f"tasks,path={task}", "--quiet", "--run-file", str(run_file)]
    worked = tmp_path / "worked"
    command += ["--system", f"agent:command='touch {worked}'", "--evaluators", "agent-task"]
    assert execute(command) == 2
    assert "run_checks=true" in capsys.readouterr().err
    assert not worked.exists()


@pytest.mark.parametrize(("written", "success"), [("hello", 1.0), ("bye", 0.0)])
def test_an_agent_works_on_a_harbor_directory(tmp_path: Path, written: str, success: float) -> None:
    task = tmp_path / "task"
    (task / "environment").mkdir(parents=True)
    (task / "tests").mkdir()
    (task / "task.toml").write_text("[verifier]\ntimeout_sec = 300\n")
    (task / "instruction.md").write_text("Write hello into hello.txt.")
    (task / "environment" / "notes.txt").write_text("a note")
    (task / "environment" / "Dockerfile").write_text("FROM ubuntu\nWORKDIR /app\nCOPY notes.txt .")
    script = "grep -q hello /app/hello.txt && test -f notes.txt\n"
    (task / "tests" / "test.sh").write_text(script + "echo $((1 - $?)) > /logs/verifier/reward.txt")
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

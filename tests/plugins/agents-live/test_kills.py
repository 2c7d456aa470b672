"""A run that is killed: no task is lost or worked on again, and no process or workspace is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pytest

from context_bench import open as open_run
from context_bench_agents_live.keeper import VARIABLE

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes are found in /proc"
)

# Notes the task and starts a child in a session of its own. Calls the policy once, or is busy until the run is killed.
_PROGRAM = """
import http.client, json, os, subprocess, sys, time
task, base_url, log = sys.argv[1:]
line = task[-16:].replace("\\n", " ") + "\\n"
with open(log, "a") as file:
    file.write(line)
subprocess.Popen(["sleep", "600"], start_new_session=True)
lines = open(log).readlines()
if len(lines) - lines[::-1].index(line) >= int(open(log + ".hold").read()):
    time.sleep(600)
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"}
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": task}]}).encode()
connection = http.client.HTTPConnection(base_url.removeprefix("http://"))
connection.request("POST", "/v1/chat/completions", body, headers)
connection.getresponse().read()
"""


def working_in(folder: Path) -> list[int]:
    """Return the processes whose workspace is below a folder."""
    entry = f"{VARIABLE}={folder}".encode()
    pids = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(variable.startswith(entry) for variable in variables):
            pids.append(int(file.parent.name))
    return pids


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    until = monotonic() + 300
    while not is_true():
        assert monotonic() < until, what
        sleep(0.02)


def write_tasks(folder: Path, tasks: int) -> None:
    for number in range(tasks):
        task = folder / f"task-{number:02}"
        (task / "expected").mkdir(parents=True)
        (task / "task.toml").write_text(f"instruction = 'This is the task number {number:02}'\n")
        (task / "expected" / "a.txt").write_text("a")


def committed(run_file: Path) -> set[int]:
    if not run_file.exists():
        return set()
    return {row.position for row in open_run(run_file).rows}


@pytest.mark.parametrize("kills", [3])  # twenty in tests/heavy/agents
def test_kills_lose_no_task_and_leave_no_process_and_no_workspace(
    kills: int, tmp_path: Path
) -> None:
    stored = run_and_kill(kills, 10, tmp_path)
    assert len(stored) == kills
    assert max(stored) > 0


def wait_for_tasks(process: subprocess.Popen[bytes], log: Path, number: int) -> None:
    """Wait until so many tasks were begun in all, or the run ended."""
    wait_until(
        lambda: len(log.read_text().splitlines()) >= number or process.poll() is not None,
        "no task began",
    )


def run_and_kill(kills: int, tasks: int, tmp_path: Path) -> list[int]:
    """Kill a run, resume and kill it again, and let it end; return how many tasks were stored at each kill."""
    program, log, run_file = (tmp_path / name for name in ("program.py", "log", "run.sqlite"))
    program.write_text(_PROGRAM)
    log.write_text("")
    write_tasks(tmp_path / "tasks", tasks)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    system = f"agent:command='{sys.executable} {program} {{task}} {{base_url}} {log}'"
    start = ["run", "--dataset", f"tasks,path={tmp_path / 'tasks'}", "--system", system]
    start += ["--evaluators", "agent-task", "--max-workers", "3", "--run-file", str(run_file)]
    resume = ["resume", str(run_file)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    random = Random(5)
    stored: list[int] = []
    while True:
        before = committed(run_file) if run_file.exists() else set()
        begun = len(log.read_text().splitlines())
        command = resume if run_file.exists() else start
        is_killed = len(stored) < kills
        target = begun + random.choice((2, 3)) if is_killed else 10**6
        Path(f"{log}.hold").write_text(str(target))
        process = subprocess.Popen(
            [sys.executable, "-m", "context_bench", *command, "--quiet"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        if is_killed:
            wait_for_tasks(process, log, target)
            if len(stored) % 2:  # else while the first task may still work
                wait_until(lambda: len(committed(run_file)) > max(stored), "no task is stored")
            process.send_signal(signal.SIGKILL)
        _, errors = process.communicate(timeout=600)
        if process.returncode == -signal.SIGKILL:
            stored.append(len(committed(run_file)))
        lines = log.read_text().splitlines()
        again = {int(line.split()[-1]) for line in lines[begun:]} & before
        assert not again, "a stored task was worked on again"
        wait_until(lambda: not working_in(temporary), "a process is left")
        wait_until(lambda: not list(temporary.glob("context-bench-agent-*")), "a folder is left")
        if process.returncode != -signal.SIGKILL:
            assert process.returncode == 0, errors.decode()
            break
    assert committed(run_file) == set(range(tasks))
    assert len(open_run(run_file).rows) == tasks
    return stored

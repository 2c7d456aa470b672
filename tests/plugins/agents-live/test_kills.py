"""A run that is killed: no task is lost or worked on again, and no process or workspace is left."""

from __future__ import annotations

import json
import os
import select
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pytest

from context_bench import open as open_run
from context_bench_agents_live import keeper
from context_bench_agents_live.keeper import VARIABLE
from context_bench_agents_live.workspace import Workspace

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

# Imports what a run needs once, and starts each run as a process of its own that can be killed.
_STARTER = """
import json, os, sys
import aiohttp, aiohttp.client, aiohttp.web
import context_bench_agents_live.agent, context_bench_agents_live.scoring, context_bench_tasks.loader
from context_bench.cli import execute
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        sys.exit(execute(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Run:
    """A run of the command line in a process of its own."""

    def __init__(self, starter: subprocess.Popen[bytes], command: list[str]) -> None:
        assert starter.stdin is not None
        assert starter.stdout is not None
        self._lines = starter.stdout
        starter.stdin.write(json.dumps(command).encode() + b"\n")
        self._pid = int(self._lines.readline())

    @property
    def has_ended(self) -> bool:
        return bool(select.select([self._lines], [], [], 0)[0])

    def kill(self) -> None:
        if not self.has_ended:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        return int(self._lines.readline())


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


def test_a_program_that_was_being_started_when_the_run_was_killed_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    program = subprocess.Popen(["sleep", "600"])
    looks = iter([[], [program.pid]])  # it has no environment when it is first looked for
    monkeypatch.setattr(keeper, "_processes_of", lambda folder: next(looks, []))
    monkeypatch.setattr(keeper, "sleep", lambda seconds: None)
    try:
        keeper.clean_up({str(tmp_path / "workspace")})
        assert program.wait() == -signal.SIGKILL
    finally:
        program.kill()
        program.wait()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("remover", ["workspace", "keeper"])
def test_a_workspace_with_1500_nested_folders_is_removed(
    remover: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "sleep", lambda seconds: None)
    workspace = Workspace({}, max_bytes=1000)
    folder = os.open(workspace.root, os.O_RDONLY)
    for _ in range(1500):  # longer than a path may be
        os.mkdir("nested", dir_fd=folder)
        inner = os.open("nested", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    with open("file", "w", opener=lambda name, flags: os.open(name, flags, dir_fd=folder)) as file:
        file.write("1")
    os.close(folder)
    os.symlink(sys.prefix, workspace.root / "link")
    workspace.write("a.txt", "1")
    assert list(workspace.digests()) == ["a.txt"]
    assert workspace.changes() == {"a.txt": "1"}
    if remover == "workspace":
        workspace.close()
    else:
        keeper.clean_up({workspace.folder})
        keeper.KEEPER.remove(workspace.folder)
    assert not Path(workspace.folder).exists()
    assert Path(sys.prefix).exists()


def test_the_keeper_knows_a_workspace_before_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    existed = []
    monkeypatch.setattr(keeper.KEEPER, "add", lambda folder: existed.append(Path(folder).exists()))
    with Workspace({}, max_bytes=0) as workspace:
        assert stat.S_IMODE(Path(workspace.folder).stat().st_mode) == 0o700
    assert existed == [False]


@pytest.mark.parametrize("kills", [2])  # twenty in tests/heavy/agents
def test_kills_lose_no_task_and_leave_no_process_and_no_workspace(
    kills: int, tmp_path: Path
) -> None:
    stored = run_and_kill(kills, 5, tmp_path)
    assert len(stored) == kills
    assert max(stored) > 0


def wait_for_tasks(run: Run, log: Path, number: int) -> None:
    """Wait until so many tasks were begun in all, or the run ended."""
    wait_until(
        lambda: len(log.read_text().splitlines()) >= number or run.has_ended,
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
    random = Random(5)
    stored: list[int] = []
    with subprocess.Popen(
        [sys.executable, "-c", _STARTER],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as starter:
        status = -signal.SIGKILL
        while status == -signal.SIGKILL:
            before = committed(run_file)
            begun = len(log.read_text().splitlines())
            is_killed = len(stored) < kills
            target = begun + random.choice((2, 3)) if is_killed else 10**6
            Path(f"{log}.hold").write_text(str(target))
            run = Run(starter, [*(resume if run_file.exists() else start), "--quiet"])
            if is_killed:
                wait_for_tasks(run, log, target)
                if len(stored) % 2:  # else while the first task may still work
                    wait_until(lambda: len(committed(run_file)) > max(stored), "no task is stored")
                run.kill()
            status = run.wait()
            if status == -signal.SIGKILL:
                stored.append(len(committed(run_file)))
            lines = log.read_text().splitlines()
            again = {int(line.split()[-1]) for line in lines[begun:]} & before
            assert not again, "a stored task was worked on again"
            wait_until(lambda: not working_in(temporary), "a process is left")
            wait_until(
                lambda: not list(temporary.glob("context-bench-agent-*")), "a folder is left"
            )
    assert status == 0
    assert committed(run_file) == set(range(tasks))
    assert len(open_run(run_file).rows) == tasks
    return stored

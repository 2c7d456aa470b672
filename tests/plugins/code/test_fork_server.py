"""The fork server's life: late to start, quick to come back, gone with its runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_bench_code import CodeExecution

Row = dict[str, Any]
RIGHT = {"response": "    return a + b"}
SLOW = {"response": "    import time\n    time.sleep(0.2)\n    return a + b"}

# A runner of its own: it says which processes it has below it, and then waits inside of `score`.
RUNNER = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may have been started without it
from context_bench_code import CodeExecution

row = {{"prompt": "def add(a, b):\\n", "test": "def check(f):\\n    assert f(1, 2) == 3", "entry_point": "add"}}
evaluator = CodeExecution(timeout=100)
evaluator.score(row, {{"response": "    return a + b"}})
{action}
"""


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def runner(action: str) -> subprocess.Popen[str]:
    code = RUNNER.format(action=textwrap.dedent(action))
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes_of_session(leader_parent: int) -> set[int]:
    """The sessions that a process has started, and everything in them."""
    found: set[int] = set()
    stats: dict[int, tuple[int, int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                stats[int(entry)] = (int(fields[1]), int(fields[3]))
    wanted = {leader_parent}
    while wanted:
        wanted = {pid for pid, (parent, _) in stats.items() if parent in wanted} - found
        found |= wanted
    return found


@pytest.mark.usefixtures("evaluator")
def test_importing_and_constructing_start_nothing() -> None:
    code = (
        "import os, context_bench_code as c\nc.CodeExecution()\n"
        "print(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read().split())"
    )
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel does not list a process's children")
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_many_threads_get_their_own_verdicts(evaluator: CodeExecution, row: Row) -> None:
    responses = [f"    return a + b + {number % 3}" for number in range(60)]
    with ThreadPoolExecutor(16) as pool:
        scores = list(
            pool.map(lambda response: evaluator.score(row, {"response": response}), responses)
        )
    assert [score["pass_at_1"] for score in scores] == [
        float(number % 3 == 0) for number in range(60)
    ]


@pytest.mark.parametrize("which", ["the first process", "the last process"])
def test_a_fork_server_that_was_killed_is_started_again(
    which: str, evaluator: CodeExecution, row: Row, descendants: Callable[[], set[int]]
) -> None:
    evaluator.score(row, RIGHT)
    servers = sorted(descendants())
    os.kill(servers[0 if which == "the first process" else -1], signal.SIGKILL)
    assert evaluator.score(row, RIGHT) == {"pass_at_1": 1.0}
    assert wait_until(lambda: not set(servers) & processes_of_session(os.getpid()))


def test_programs_in_flight_are_run_again_when_their_server_is_killed(
    evaluator: CodeExecution, row: Row, descendants: Callable[[], set[int]]
) -> None:
    evaluator.score(row, RIGHT)
    server = min(descendants())
    with ThreadPoolExecutor(8) as pool:
        scores = [pool.submit(evaluator.score, row, SLOW) for _ in range(8)]
        time.sleep(0.3)
        os.kill(server, signal.SIGKILL)
        assert [future.result() for future in scores] == [{"pass_at_1": 1.0}] * 8


def test_a_forked_runner_gets_a_server_of_its_own(evaluator: CodeExecution) -> None:
    action = """
        import os
        child = os.fork()
        score = evaluator.score(row, {"response": "    return a + b"})
        if child:
            _, status = os.waitpid(child, 0)
            again = evaluator.score(row, {"response": "    return a + b"})
            print(score, again, status)
        else:
            from context_bench_code import sandbox
            sandbox._sandboxes._close()
            os._exit(score["pass_at_1"] != 1.0)
    """
    with runner(action) as process:
        out, complaints = process.communicate(timeout=60)
    assert (out.strip(), complaints) == ("{'pass_at_1': 1.0} {'pass_at_1': 1.0} 0", "")


def test_nothing_is_left_when_the_runner_ends(evaluator: CodeExecution) -> None:
    action = "print(*map(str, sorted(__import__('os').listdir('/proc/self/fd'))), flush=True)"
    with runner(action) as process:
        children = processes_of_session(process.pid)
        _, complaints = process.communicate(timeout=60)
    assert complaints == ""
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


@pytest.mark.parametrize(
    "death", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda death: death.name
)
def test_nothing_is_left_when_the_runner_dies_by(
    death: signal.Signals, evaluator: CodeExecution
) -> None:
    action = """
        threading.Timer(0.3, lambda: print("inside", flush=True)).start()
        evaluator.score(row, {"response": "    import time\\n    time.sleep(90)"})
    """
    with runner(action) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        children = processes_of_session(process.pid)
        process.send_signal(death)
        process.communicate(timeout=20)
    assert len(children) >= 2
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


def test_the_python_of_programs_is_not_looked_for_on_the_path(
    evaluator: CodeExecution, tmp_path: Path
) -> None:
    for name in ("python", "python3"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    code = RUNNER.format(
        action="import sys; print(evaluator.score(row, {'response': '    return a + b'}))"
    )
    environment = {
        **os.environ,
        "PATH": str(tmp_path),
        "PYTHONHOME": "",
        "PYTHONSTARTUP": "nowhere",
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "{'pass_at_1': 1.0}\n"

"""What the tests of the executors on clusters share: rows, a system, runs and their exports."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from context_bench.cli import execute

ROWS = 60
FIRST_BATCH = 8
"""Rows of a batch before anything is measured, and at most what a batch of slow rows has."""
QUIET = ("--format", "none", "-q", "--keep-going", "--max-failed", "50%")
ANSWERS = ("-s", "acme=python:target=acme_remote:answer,input=question,version=1")
NEEDY = ("-s", "acme=python:target=acme_remote:Needy,version=1")

SYSTEM = '''
"""Answers each question, and notes that it was called."""

import os
import time


def answer(question):
    number = int(question.split()[1])
    with open("calls.txt", "a") as calls:
        calls.write(f"{number} {os.environ.get('WORKER', '')}\\n")
    if number == 17 and os.environ.get("DEADLY"):
        os._exit(9)
    time.sleep(float(os.environ.get("SECONDS", "0")))
    return question


class Needy:
    """Needs a graphics processor."""

    name = "needy"
    resources = {"gpus": 1}

    def process(self, example):
        return {"response": answer(example["question"])}
'''


def prepare(folder: Path, count: int = ROWS) -> None:
    """Write the rows and the system."""
    rows = [
        {
            "id": f"e{number}",
            "context": "word " * 9 + str(number),
            "question": f"q {number}",
            "answer": f"q {number}" if number % 3 else "x",
            "dataset": ("squad", "gsm8k")[number % 5 == 0],
        }
        for number in range(count)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "acme_remote.py").write_text(SYSTEM)


def run(path: str, *request: str) -> int:
    """Run here, and return the exit code."""
    return execute(["run", "-d", "rows.jsonl", "--run-file", path, *QUIET, *request])


def start(*words: str, seconds: float = 0.0) -> subprocess.Popen[str]:
    """Start the command line in a process; each call of the system takes so many seconds."""
    return subprocess.Popen(
        [sys.executable, "-m", "context_bench", *words, *QUIET],
        env={**os.environ, "SECONDS": str(seconds), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def export(path: str) -> bytes:
    """Return the canonical export of a run file."""
    command = [sys.executable, "-m", "context_bench", "export", "--canonical", path]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout


def called() -> list[int]:
    """Return the numbers of the calls that were made."""
    path = Path("calls.txt")
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line.split()[0]) for line in lines if line.strip()]


def wait_until(is_met: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Wait until something is so.

    Raises:
        AssertionError: It took too long.
    """
    deadline = time.monotonic() + seconds
    while not is_met():
        assert time.monotonic() < deadline, f"{what} takes more than {seconds:.0f} s"
        time.sleep(0.02)


class Killable(Protocol):
    """A cluster with two workers, of which each part can be killed."""

    address: str

    def replace_worker(self, chance: random.Random) -> None:
        """Kill a worker; another one takes its place."""

    def replace_head(self) -> None:
        """Kill what leads the cluster, with its workers; another one takes its place."""


KILLS = {"worker": 22, "head": 3, "driver": 5}
MANY = 900


def survive_kills(cluster: Killable, executor: str, kills: Mapping[str, int] = KILLS) -> None:
    """Kill parts of a run at thirty random moments, and require that nothing is lost, and nothing
    is called twice but for what was in flight.

    Moments are counted in calls, not in seconds: on a slow machine everything takes longer, but
    nothing else is killed.
    """
    chance = random.Random(5)
    parts = [part for part, number in kills.items() for _ in range(number)]
    chance.shuffle(parts)
    prepare(Path(), MANY)
    assert run("local.sqlite", *ANSWERS) == 0
    Path("calls.txt").unlink()
    request = ("run", "-d", "rows.jsonl", "--run-file", "killed.sqlite", *ANSWERS)
    again = ("resume", "killed.sqlite")
    driver = start(*request, "--executor", executor)
    try:
        for part in parts:
            wanted = len(called()) + chance.randint(6, 14)
            wait_until(lambda: len(called()) >= wanted or driver.poll() is not None, "a batch")  # noqa: B023
            assert driver.poll() is None, driver.communicate()[1]
            if part == "worker":
                cluster.replace_worker(chance)
            elif part == "head":
                cluster.replace_head()
            else:
                driver.kill()
                driver.communicate()
                driver = start(*again, "--executor", executor)
        _, errors = driver.communicate(timeout=120)
    finally:
        driver.kill()
        driver.wait()
    assert driver.returncode == 0, errors
    assert export("killed.sqlite") == export("local.sqlite")
    at_most = kills["worker"] + 2 * (kills["head"] + kills["driver"])
    assert len(called()) <= MANY + at_most * FIRST_BATCH
    assert set(called()) == set(range(MANY))

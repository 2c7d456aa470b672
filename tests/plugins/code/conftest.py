"""Rows, real data, and an evaluator that is known to isolate; no attack here ever runs without walls."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from context_bench_code import CodeExecution, SandboxError

Row = dict[str, Any]
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="session")
def row() -> Row:
    """`add`, in the layout of HumanEval, called three times."""
    return {
        "prompt": 'def add(a, b):\n    """The sum."""\n',
        "test": "def check(candidate):\n    for i in range(3):\n        assert candidate(i, 2) == i + 2\n",
        "entry_point": "add",
    }


@pytest.fixture(scope="session")
def evaluator(row: Row) -> CodeExecution:
    """An evaluator behind walls; it has not been given leave to run anything without them."""
    if sys.platform != "linux":
        pytest.skip("the sandbox is built from Linux namespaces")
    evaluator = CodeExecution(timeout=10)
    try:
        evaluator.score(row, {"response": "    return a + b"})
    except SandboxError as error:
        if os.environ.get("CI"):
            raise  # there the attacks must be tried: a sandbox that stopped working is no reason to skip them
        pytest.skip(f"no isolating sandbox works on this machine: {error}")
    return evaluator


@pytest.fixture(scope="session")
def hasty(evaluator: CodeExecution) -> CodeExecution:
    """The same with one second."""
    return CodeExecution(timeout=1)


@pytest.fixture(scope="session")
def shared() -> Callable[[str], list[Row]]:
    """Reads a file of real records, or skips."""

    def read(name: str) -> list[Row]:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"the shared benchmark records are not beside this checkout: {path.name}")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def humaneval(shared: Callable[[str], list[Row]]) -> list[Row]:
    """The 164 problems."""
    return shared("humaneval.raw.jsonl.gz")


@pytest.fixture(scope="session")
def mbpp(shared: Callable[[str], list[Row]]) -> list[Row]:
    """280 of the sanitized problems."""
    return shared("mbpp.raw.jsonl.gz")


@pytest.fixture(scope="session")
def failures(evaluator: CodeExecution) -> Callable[[list[Row], Callable[[Row], str]], list[Any]]:
    """Scores a response to each row; gives what failed, and why."""

    def run(rows: list[Row], respond: Callable[[Row], str]) -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            scores = list(
                pool.map(lambda row: evaluator.score(row, {"response": respond(row)}), rows)
            )
        return [
            (row["task_id"], getattr(score, "details", None))
            for row, score in zip(rows, scores)
            if score != {"pass_at_1": 1.0}
        ]

    return run


OF_OTHERS = re.compile(rb"context_bench(\.|_(?!code))")
"""Names a module of core or of another package in a command line: their tests leave workers behind for the next ones."""


def _descendants() -> set[int]:
    """The processes below this one that are of this package, from a Linux /proc."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                after_name = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2]
                command = Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if OF_OTHERS.search(command) and int(entry) != os.getpid():
                continue
            parents[int(entry)] = int(after_name.split()[1])
    found: set[int] = set()
    wanted = {os.getpid()}
    while wanted:
        wanted = {pid for pid, parent in parents.items() if parent in wanted} - found
        found |= wanted
    return found


@pytest.fixture
def nothing_left(evaluator: CodeExecution) -> Iterator[None]:
    """Fails a test that leaves a process behind."""
    before = _descendants()
    yield
    deadline = time.monotonic() + 3
    while _descendants() - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _descendants() - before


@pytest.fixture(scope="session")
def descendants() -> Callable[[], set[int]]:
    """The processes below this one."""
    return _descendants

"""A run that is killed between the commit of a response and that of its slow scores is scored on resume, and asks nothing."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from context_bench.plugins.discovery import discover
from context_bench.plugins.settings import PluginSettings
from context_bench.results.reading import canonical_row, read_result
from context_bench.store.reader import RunReader
from context_bench_audit.verification import verify

ROWS = 40

SCRIPT = """
import asyncio, sys, time
from context_bench import evaluate

path, rows, kind, keep, labelled, session = sys.argv[1:]
HANGS = session == "killed"

class Echo:
    name = "echo"
    def process(self, example):
        if session == "resumed":
            raise AssertionError("a committed response was asked again")
        return {"response": example["question"]}
    def fingerprint(self):
        return {}

class Quick:
    name = "quick"
    version = "1"
    def score(self, original, processed):
        return {"quick": 1.0}

class Batches:
    name = "slow"
    version = "1"
    def score(self, original, processed):
        raise AssertionError("it takes batches")
    def score_batch(self, pairs):
        if HANGS and any(original["id"] != "e0" for original, _ in pairs):
            time.sleep(600)
        return [{"slow": len(original["private"]) / 100} for original, _ in pairs]

class Async:
    name = "slow"
    version = "1"
    def score(self, original, processed):
        raise AssertionError("it is async")
    async def ascore(self, original, processed):
        if HANGS and original["id"] != "e0":
            await asyncio.sleep(600)
        return {"slow": len(original["private"]) / 100}

def examples():
    for n in range(int(rows)):
        example = {"id": f"e{n}", "question": f"q{n}", "private": "the-private-text" + "x" * n}
        yield {**example, "dataset": f"d{n % 3}"} if labelled == "rows" else example

evaluators = [Quick(), Batches() if kind == "batches" else Async()]
evaluate(Echo(), examples(), evaluators, progress=False, run_file=path, store_examples=keep == "kept", max_workers=2)
"""


def start(path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, str(path), str(ROWS), *arguments]
    with path.with_suffix(".err").open("w") as errors:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)


def count(path: Path, query: str) -> int:
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute(query).fetchone()[0])
    except sqlite3.Error:  # not there yet
        return 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
@pytest.mark.parametrize("labels", ["one", "rows"])
@pytest.mark.parametrize("keep", ["kept", "dropped"])
@pytest.mark.parametrize("kind", ["batches", "async"])
def test_responses_without_their_slow_scores_are_scored_on_resume(
    tmp_path: Path, kind: str, keep: str, labels: str
) -> None:
    assert start(tmp_path / "whole.sqlite", kind, keep, labels, "whole").wait() == 0
    path = tmp_path / "killed.sqlite"
    process = start(path, kind, keep, labels, "killed")
    while process.poll() is None and count(path, "SELECT count(*) FROM responses") < ROWS:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    slow = "SELECT count(*) FROM scores WHERE name = 'slow'"
    assert count(path, slow) <= 1
    resumed = start(path, kind, keep, labels, "resumed")
    assert resumed.wait() == 0, path.with_suffix(".err").read_text()
    assert (
        count(path, slow) == count(path, "SELECT count(*) FROM scores WHERE name = 'quick'") == ROWS
    )
    exported = [
        [json.dumps(canonical_row(row), sort_keys=True) for row in RunReader(file).rows()]
        for file in (path, tmp_path / "whole.sqlite")
    ]
    assert exported[0] == exported[1]
    assert read_result(path).summary["echo"]["num_unscored"] == 0
    assert verify(discover(PluginSettings.read(environ={})), path).problems == []
    if keep == "dropped":
        assert not [file for file in tmp_path.iterdir() if b"the-private-text" in file.read_bytes()]

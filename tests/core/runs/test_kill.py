"""A run that is killed keeps every committed row, and repeats at most the calls that were in flight.

The test is small unless CONTEXT_BENCH_FULL_SIZE is set: then 10,000 rows are killed 20 times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from context_bench import evaluate
from context_bench.results.reading import canonical_row
from context_bench.store.reader import RunReader

ROWS, WORKERS, KILLS = (10_000, 8, 20) if os.environ.get("CONTEXT_BENCH_FULL_SIZE") else (400, 4, 6)

SCRIPT = """
import sys, urllib.request
from context_bench import evaluate

class Remote:
    name = "remote"
    def process(self, example):
        with urllib.request.urlopen(sys.argv[1] + "/" + example["question"], timeout=10) as reply:
            return {"response": reply.read().decode()}
    def fingerprint(self):
        return {"endpoint": "test server"}

class Same:
    name = "same"
    def score(self, original, processed):
        return {"same": float(original["answer"] == processed["response"])}

examples = [{"id": f"e{n}", "question": str(n), "answer": str(n * 2) if n % 3 else "?"} for n in range(int(sys.argv[3]))]
evaluate(Remote(), examples, [Same()], progress=False, max_workers=int(sys.argv[4]), run_file=sys.argv[2])
"""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.calls.append(self.path)
        time.sleep(0.002)
        body = str(int(self.path[1:]) * 2).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client was killed
            pass


@pytest.fixture
def server() -> Iterator[_Server]:
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def start(server: _Server, path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT, server.url, str(path), str(ROWS), str(WORKERS)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def exported(path: Path) -> list[str]:
    return [json.dumps(canonical_row(row), sort_keys=True) for row in RunReader(path).rows()]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this platform")
def test_killing_a_run_repeats_at_most_the_calls_in_flight_and_loses_nothing(
    server: _Server, tmp_path: Path
) -> None:
    assert start(server, tmp_path / "whole.sqlite").wait() == 0
    assert len(server.calls) == ROWS
    server.calls.clear()
    path = tmp_path / "killed.sqlite"
    chance = random.Random(7)
    kills = 0
    while True:
        committed = {row.position for row in RunReader(path).rows()} if path.exists() else set()
        before = len(server.calls)
        process = start(server, path)
        calls = chance.randint(ROWS // KILLS // 4, ROWS // KILLS)
        while kills < KILLS and process.poll() is None and len(server.calls) - before < calls:
            time.sleep(chance.random() * 0.004)
        if kills < KILLS and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        code = process.wait()
        asked = {int(call[1:]) for call in server.calls[before:]}
        assert not (asked & committed), "a committed response was asked again"
        if code == 0:
            break
    assert kills == KILLS
    assert len(server.calls) <= ROWS + KILLS * WORKERS
    assert exported(path) == exported(tmp_path / "whole.sqlite")


def test_of_calls_that_take_no_time_a_kill_loses_one_and_later_a_small_share_of_what_is_kept(
    tmp_path: Path,
) -> None:
    path, committed = tmp_path / "run.sqlite", []

    class Counting:
        """Counts the rows that a kill in this moment would leave."""

        name = "counting"

        def score(self, original: object, processed: object) -> dict[str, float]:
            [(count,)] = connection.execute("SELECT count(*) FROM responses").fetchall()
            committed.append(count)
            return {}

    class Quick:
        name = "quick"

        def process(self, example: dict[str, object]) -> dict[str, object]:
            nonlocal connection
            connection = connection or sqlite3.connect(path)
            return {"response": example["question"]}

    connection: sqlite3.Connection = None  # type: ignore[assignment]
    examples = [{"question": str(number)} for number in range(600)]
    evaluate(Quick(), examples, [Counting()], progress=False, max_workers=1, run_file=path)
    connection.close()
    assert committed[:60] == list(range(60))
    assert all(count >= number * 0.95 for number, count in enumerate(committed))

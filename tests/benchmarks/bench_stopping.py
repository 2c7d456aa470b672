"""How runs stop: signals, dead endpoints, second sessions, plugins that exit, against a real server on the loopback.

Each line is a process of its own that asks the server through `evaluate(OpenAIProxy(...))`. Requests after the signal are
those that the server saw from then on. The lengths of datasets are unknown to the runs. What SIGKILL leaves stands under
Kills. `python tests/benchmarks/bench_stopping.py` prints the table.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from side_by_side import is_quick

from context_bench.runs import open_run

PLUGINS = """
import time

class One:
    name = "one"
    def score(self, original, processed):
        return {"one": 1.0}

class Busy(One):
    name = "busy"
    cpu_bound = True
    def score(self, original, processed):
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        return {"busy": 1.0}

class Exits(One):
    name = "exits"
    def score(self, original, processed):
        raise SystemExit(0)
"""
SCRIPT = """
import signal, sys
from context_bench import evaluate
from context_bench.errors import RunStoppedError
from context_bench.systems import OpenAIProxy
from stopped import One, Busy, Exits

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background may start without it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and one that outlives its terminal without this
url, path, rows, workers, evaluator, dies = sys.argv[1:]

def examples():
    for number in range(int(rows)):
        if dies == "dataset" and number == 7:
            sys.exit(0)
        yield {"id": str(number), "question": "why?"}

class Dies:
    name = "dies"
    def process(self, example):
        raise SystemExit(0)

system = Dies() if dies == "system" else OpenAIProxy(url, model="m", api_key="k")
try:
    result = evaluate(
        system, examples(), [globals()[evaluator]()], progress=False, max_workers=int(workers), run_file=path
    )
    failed = sum(bool(row.errors) for row in result.rows)
    print(f"finished, {failed} of {len(result.rows)} rows failed", flush=True)
except RunStoppedError as error:
    print(error, flush=True)
    sys.exit(error.exit_code)
"""


class Server(ThreadingHTTPServer):
    """A chat endpoint that does what the first part of the path says: ``answers-SECONDS[-SECONDS]``, or a status."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[float] = []
        self.answered: list[float] = []
        self.random = random.Random(4)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, way: str) -> str:
        """Return the base URL of a way to answer."""
        return f"http://127.0.0.1:{self.server_port}/{way}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is none of its business."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(time.monotonic())
        kind, *numbers = self.path.split("/")[1].split("-")
        status = 200 if kind == "answers" else int(kind)
        if status == 200:
            time.sleep(self.server.random.uniform(float(numbers[0]), float(numbers[-1])))
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "because"},
            "finish_reason": "stop",
        }
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
        }
        body = json.dumps(answer if status == 200 else {"error": {"message": "no"}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "60")
        self.end_headers()
        self.wfile.write(body)
        self.server.answered.append(time.monotonic())

    def log_message(self, *arguments: object) -> None:
        pass


class Line(NamedTuple):
    """A line of the table: what was done, what was seen, and the goal."""

    done: str
    seen: str
    goal: str


class Stand:
    """Where runs are started.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.server, self._count = folder, Server(), 0
        (folder / "stopped.py").write_text(PLUGINS)

    def start(
        self,
        url: str,
        rows: int = 200,
        workers: int = 8,
        evaluator: str = "One",
        dies: str = "nothing",
    ) -> tuple[subprocess.Popen[str], Path]:
        """Start a run, and return its process and its run file."""
        self._count += 1
        path = self.folder / f"{self._count}.sqlite"
        arguments = [url, str(path), str(rows), str(workers), evaluator, dies]
        environ = {**os.environ, "PYTHONPATH": str(self.folder)}
        self.server.asked.clear()
        self.server.answered.clear()
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=self.folder,
        )
        return process, path

    def until(self, holds: Callable[[], bool], seconds: float = 120.0) -> None:
        """Wait for something to happen."""
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until
            time.sleep(0.005)

    def signalled(
        self, name: str, way: str, evaluator: str, wait: Callable[[int], bool]
    ) -> tuple[str, int, Path]:
        """Send a signal, and return what was seen, how many children are left, and the run file."""
        process, path = self.start(self.server.url(way), evaluator=evaluator)
        self.until(lambda: wait(process.pid))
        time.sleep(0.5)
        children = _children(process.pid)
        sent = time.monotonic()
        process.send_signal(getattr(signal, name))
        process.communicate(timeout=200)
        seconds = time.monotonic() - sent
        after = sum(moment > sent + 0.05 for moment in self.server.asked)
        time.sleep(0.2)
        left = sum(map(_is_alive, children))
        with open_run(path) as run:
            status = run.status
        return (
            f"{seconds:.1f} s, {after} requests, exit {process.returncode}, status {status}",
            left,
            path,
        )


def _children(parent: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(place.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(place.parent.name))
        except OSError:
            continue
    return found


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def signals(stand: Stand) -> list[Line]:
    """Return the lines of signals."""
    seen, _, _ = stand.signalled(
        "SIGINT", "429", "One", lambda process: len(stand.server.answered) >= 1
    )
    lines = [
        Line("Ctrl-C while every row waits on `Retry-After: 60`", seen, "10 s at most, no request")
    ]
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        seen, _, _ = stand.signalled(
            name, "answers-2", "One", lambda process: len(stand.server.asked) >= 8
        )
        lines.append(
            Line(
                f"{name}, 8 calls of 2 s in flight",
                seen,
                "what is in flight is answered, no request",
            )
        )
    seen, left, _ = stand.signalled(
        "SIGTERM", "answers-0.01", "Busy", lambda process: len(_children(process)) >= 2
    )
    goal = "as Ctrl-C, no orphan"
    lines.append(Line("SIGTERM, scoring in processes of its own", f"{seen}, {left} orphans", goal))
    return lines


def dead(stand: Stand) -> list[Line]:
    """Return the lines of systems that are dead."""
    lines = []
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        ways = [
            ("every call 401", stand.server.url("401")),
            ("every call 500", stand.server.url("500")),
        ]
        for what, url in [*ways, ("every connection refused", nobody)]:
            begun = time.monotonic()
            process, path = stand.start(url, 1000)
            told, _ = process.communicate(timeout=600)
            seconds = time.monotonic() - begun
            with open_run(path) as run:
                rows = len(list(run.rows()))
            seen = f"{rows} rows, {len(stand.server.asked)} requests, {seconds:.0f} s, exit {process.returncode}"
            cause = " ".join(told.split()).rpartition("(--keep-going goes on): ")[2]
            lines.append(
                Line(
                    f"{what}, 1,000 rows",
                    f"{seen}; {_shortened(cause)}",
                    "stops with the cause within 30 calls",
                )
            )
    return lines


def _shortened(cause: str) -> str:
    """Return the beginning of a cause, without addresses."""
    return re.sub(r"https?://\S+", "the endpoint", cause)[:100]


def others(stand: Stand) -> list[Line]:
    """Return the lines of second sessions, of plugins that exit, and of many workers."""
    process, path = stand.start(stand.server.url("answers-1"))
    stand.until(lambda: len(stand.server.asked) >= 8)
    begun = time.monotonic()
    second = subprocess.run(
        [sys.executable, "-m", "context_bench", "resume", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - begun
    names = (
        f"names {process.pid}" if str(process.pid) in second.stderr else "does not name the first"
    )
    process.send_signal(signal.SIGTERM)
    process.communicate()
    goal = "exits 2 in under 1 s, names the first's pid"
    lines = [
        Line(
            "`resume` beside a run",
            f"exit {second.returncode}, {seconds:.2f} s, {names.split()[0]} its pid",
            goal,
        )
    ]
    for dies, evaluator in (("evaluator", "Exits"), ("system", "One"), ("dataset", "One")):
        process, _ = stand.start(stand.server.url("answers-0.01"), 9, 2, evaluator, dies)
        told, _ = process.communicate(timeout=100)
        said = f"exit {process.returncode}: {' '.join(told.split())[:90]}"
        lines.append(
            Line(
                f"`sys.exit(0)` in the {dies}",
                said,
                "failures of rows; the exit code tells the truth",
            )
        )
    if not is_quick():
        process, _ = stand.start(stand.server.url("answers-10-14"), 200, 64)
        process.communicate(timeout=600)
        took = stand.server.answered[-1] - stand.server.asked[0]
        said = f"{took:.1f} s"
        lines.append(
            Line(
                "`max_workers=64`, calls of 10-14 s, 200 rows",
                said,
                "49.5 s at most (1.15 of the ideal)",
            )
        )
    return lines


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as name:
        stand = Stand(Path(name))
        print("| what | seen | goal |")
        print("|---|---|---|")
        for group in (signals, dead, others):
            for line in group(stand):
                print(f"| {line.done} | {line.seen} | {line.goal} |", flush=True)
        stand.server.shutdown()


if __name__ == "__main__":
    main()

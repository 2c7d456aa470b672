"""Runs that are killed: a counting server, a package of plugins that asks it, and sessions that end when they are told to.

A session is a process of its own that has imported everything and says so before it begins. It is killed by the caller at a
moment, or kills itself at a named point: before or after a step of what writes the run file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from attrs import define

from context_bench.bench.reading import canonical_row
from context_bench.runs import open_run
from context_bench.store.reader import RunReader

WORKERS = 4
TURNS = 3
PLUGIN = f"""
import os
import urllib.request


def ask(what):
    with urllib.request.urlopen(os.environ["KILLED_URL"] + "/" + what, timeout=60) as reply:
        return reply.read().decode()


class Remote:
    name = "remote"

    def process(self, example):
        return {{"response": ask(example["question"])}}

    def process_turn(self, turns):
        return {{"response": ask(turns[-1])}}

    def fingerprint(self):
        return {{"model": "counting"}}


class Same:
    name = "same"

    def score(self, original, processed):
        return {{"same": float(original["answer"] == processed["response"])}}


class Length:
    name = "length"

    def score(self, original, processed):
        return {{"length": float(len(processed["response"]))}}


def mixed(limit=None, config=None, split=None):
    for number in range(int(os.environ["KILLED_ROWS"])):
        example = {{"id": f"e{{number}}", "question": f"{{number}}.0", "answer": "odd" if number % 3 else "even"}}
        if number % 4 == 0:
            example |= {{"multi_turn": True, "turns": [f"{{number}}.{{turn}}" for turn in range({TURNS})]}}
        yield example
"""
MANIFEST = """
schema = 1
api = "1.0"

[systems.remote]
summary = "Asks a server that counts"
class = "Remote"
version = "1"

[datasets.mixed]
summary = "Rows and conversations"
class = "mixed"

[evaluators.same]
summary = "Whether the response is the answer"
class = "Same"
primary = "same"
version = "1"
scores.same = {}

[evaluators.length]
summary = "Letters"
class = "Length"
primary = "length"
version = "1"
scores.length = { range = [0, "inf"] }
"""
POINTS = {
    "systems": ("remote:Remote",),
    "datasets": ("mixed:mixed",),
    "evaluators": ("same:Same", "length:Length"),
}
SESSION = """
import os, signal, sys
import context_bench.bench.runs, context_bench.bench.rescoring, context_bench.cli.run
import context_bench.run.concurrent_runner
from context_bench.cli import execute
from context_bench.store import runfile

def kill_at(owner, name, when, wanted):
    step, seen = getattr(owner, name), [0]
    def stepped(*arguments, **named):
        seen[0] += 1
        if when == "before" and seen[0] == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        found = step(*arguments, **named)
        if when == "after" and seen[0] == wanted:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, stepped)

point = os.environ.get("KILLED_AT")
if point:
    when, place, number = point.split()
    owner, _, name = place.rpartition(".")
    kill_at({"RunFile": runfile.RunFile, "Rescoring": runfile.Rescoring, "os": os}[owner], name, when, int(number))
print("ready", flush=True)
sys.exit(execute(sys.argv[1:]))
"""


class Server(ThreadingHTTPServer):
    """Answers every question, and remembers it.

    Args:
        seconds: What an answer takes.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seconds = seconds
        self.asked: list[str] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is none of its business."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path[1:])
        time.sleep(self.server.seconds)
        body = b"odd" if int(self.path[1:].partition(".")[0]) % 2 else b"even"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


def install(folder: Path) -> None:
    """Install the package of plugins into a folder."""
    package, info = folder / "killed", folder / "killed-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(PLUGIN)
    (package / "context_bench_plugin.toml").write_text(MANIFEST)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: killed\nVersion: 1.0\n\n")
    points = [
        f"[context_bench.{group}]\n" + "".join(_points(names)) for group, names in POINTS.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points))
    files = [*package.iterdir(), info / "METADATA", info / "entry_points.txt"]
    (info / "RECORD").write_text("".join(f"{file.relative_to(folder)},,\n" for file in files))


def _points(names: Sequence[str]) -> list[str]:
    return [
        f"{short} = killed:{member}\n"
        for short, _, member in (name.partition(":") for name in names)
    ]


@define
class Work:
    """What is run, killed and finished: rows and conversations of a run, and a rescoring of it.

    Attributes:
        folder: Holds the package and the run files.
        server: Is asked.
        rows: Rows of a run; every fourth is a conversation.
    """

    folder: Path
    server: Server
    rows: int

    def begin(self, path: Path, command: str, point: str | None = None) -> subprocess.Popen[str]:
        """Start a session and return when it is ready to begin.

        Args:
            path: The run file.
            command: ``"run"``, ``"resume"`` or ``"rescore"``.
            point: Where it kills itself: ``"before RunFile.commit 3"``.
        """
        flags = {
            "run": (
                "--system=remote",
                "--dataset=mixed",
                "--evaluators=same",
                f"--max-workers={WORKERS}",
                "-q",
            ),
            "resume": ("-q",),
            "rescore": ("--evaluators=length",),
        }[command]
        named = ("--run-file", str(path)) if command == "run" else (str(path),)
        environ = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "site"),
            "CONTEXT_BENCH_PLUGINS": "killed,context-bench-conversations",
            "KILLED_URL": f"http://127.0.0.1:{self.server.server_port}",
            "KILLED_ROWS": str(self.rows),
            "KILLED_AT": point or "",
        }
        process = subprocess.Popen(
            [sys.executable, "-c", SESSION, command, *named, *flags, "--format=none"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=self.folder,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()
        return process

    def session(
        self, path: Path, command: str, point: str | None = None, seconds: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Do a whole session, and kill it after so many seconds if it goes on for that long."""
        process = self.begin(path, command, point)
        if seconds is not None:
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def committed(path: Path) -> set[str]:
    """Return the questions whose answers are in a run file: of whole rows, and of turns of rows that have not ended."""
    if not path.exists():
        return set()
    found = set()
    with open_run(path) as run:
        for row in run.rows():
            turns = TURNS if row.position % 4 == 0 else 1
            found |= {f"{row.position}.{turn}" for turn in range(turns)}
        reader = RunReader(path)
        try:
            for position in range(0, _positions(found), 4):
                found |= {f"{position}.{turn}" for turn in range(len(reader.turns(_row(position))))}
        finally:
            reader.close()
    return found


def _positions(found: set[str]) -> int:
    """Return a position behind every one that may have begun: no more than the workers are ahead of what has ended."""
    return max((int(question.partition(".")[0]) for question in found), default=0) + 4 * WORKERS


def _row(position: int) -> Any:
    from context_bench.store.keys import RowId

    return RowId(0, position, 0)


def exported(path: Path) -> list[str]:
    """Return the canonical rows of a run file."""
    with open_run(path) as run:
        return [json.dumps(canonical_row(row), sort_keys=True) for row in run.rows()]


@define
class Found:
    """What killing a run file's sessions again and again has shown.

    Attributes:
        kills: By what was killed: ``"creation"``, ``"run"``, ``"rescore"``.
        sessions: Sessions, the killed ones included.
        again: Committed answers that were asked for again.
        lost: Committed answers that were gone after a kill.
        beyond: Requests beyond one for each answer.
        refused: Sessions that ended with an error, and so files that nobody could use.
        differing: Run files whose canonical rows are not those of a run that nobody disturbed.
        half_shown: Rescorings that showed some of their scores, or lost the old ones, before they ended.
    """

    kills: dict[str, int]
    sessions: int = 0
    again: int = 0
    lost: int = 0
    beyond: int = 0
    refused: int = 0
    differing: int = 0
    half_shown: int = 0


def life(work: Work, path: Path, whole: Mapping[str, list[str]], found: Found, kill: Any) -> None:
    """Take one run file from nothing to a finished rescoring, through kills.

    Args:
        work: What is done.
        path: The run file; it is not there.
        whole: Canonical rows of an undisturbed run, and of its rescoring, by command.
        found: Is added to.
        kill: Asked before each session: gets its command, returns where and when it is killed as keywords of
            :meth:`Work.session`.
    """
    asked_before = len(work.server.asked)
    for phase in ("run", "rescore"):
        while True:
            command = phase if phase == "rescore" or not path.exists() else "resume"
            before = committed(path)
            shown = exported(path) if phase == "rescore" else []
            start = len(work.server.asked)
            done = work.session(path, command, **kill(command))
            found.sessions += 1
            found.again += len(before & set(work.server.asked[start:]))
            found.lost += len(before - committed(path))
            if done.returncode == -signal.SIGKILL:
                kind = "creation" if phase == "run" and not committed(path) else phase
                found.kills[kind] = found.kills.get(kind, 0) + 1
                if phase == "rescore":
                    found.half_shown += exported(path) not in (shown, whole["rescore"])
                continue
            if done.returncode:
                found.refused += 1
                print(done.stderr, file=sys.stderr)
            break
        found.differing += not path.exists() or exported(path) != whole[phase]
    found.beyond += len(work.server.asked) - asked_before - work.rows // 4 * (TURNS + 3)


def undisturbed(work: Work, path: Path) -> dict[str, list[str]]:
    """Return the canonical rows of a run, and of its rescoring, that nobody disturbs."""
    rows = {}
    for command in ("run", "rescore"):
        done = work.session(path, command)
        assert done.returncode == 0, done.stderr
        rows[command] = exported(path)
    return rows

"""Runs that are killed: a counting server, a package of plugins that calls it, and sessions that kill themselves.

A session is a separate process. It kills itself at a named point: before or after the nth call of a function that writes
the run file. No point depends on the clock.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import NamedTuple

from attrs import Factory, define

from context_bench.results.reading import canonical_row
from context_bench.runs import open_run
from context_bench.store.keys import RowId
from context_bench.store.reader import RunReader

ROWS = 40
WORKERS = 4
TURNS = 3
SYSTEM, DERIVED = 0, 1
"""Numbers of the system that is called, and of the one whose rows the second pass derives."""
PHASES: Mapping[str, Sequence[str]] = {
    "creation": (
        "before os.replace 1",
        "after os.replace 1",
        "before RunFile.begin 1",
        "after RunFile.begin 1",
    ),
    "first commit": ("before RunFile.commit 1", "after RunFile.commit 1"),
    "turns": tuple(
        f"{when} RunFile.keep_turn {count}" for when in ("before", "after") for count in (1, 2, 3)
    ),
    "mid-run": tuple(
        f"{when} RunFile.commit {count}" for when in ("before", "after") for count in (2, 3, 4)
    ),
    "second pass": (
        *(
            f"{when} SecondPass.commit {count}"
            for when in ("before", "after")
            for count in (1, 2, 4)
        ),
        "before RunFile.settle_primary_scores 1",
        "after RunFile.finish 1",
        "before RunFile.close 1",
    ),
    "rescore": (
        "before os.replace 1",
        "after os.replace 1",
        "before RunFile.commit 1",
        "after RunFile.commit 1",
        "before Rescoring.publish 1",
        "before RunFile.copy_into 1",
        "after RunFile.copy_into 1",
        "before RunFile.close 1",
    ),
}
"""Where a session kills itself, by the phase of a run file's life; each point is reached whatever the load."""
PLUGIN = f"""
import os
import urllib.request

from context_bench.hookspecs import hookimpl
from context_bench.protocols import DerivedSystemSpec


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


class Doubles:
    def __init__(self, version):
        self.version = version

    @hookimpl
    def derived_systems(self, systems):
        return [
            DerivedSystemSpec(f"{{label}} again", label, {{"version": self.version}}, self.double)
            for label in systems
        ]

    def double(self, example, source):
        return {{"response": ask(example["id"][1:] + ".derived")}}


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

[hooks.doubles]
summary = "Adds a system whose rows the second pass derives"
class = "Doubles"
implements = ["derived_systems"]
options.version = { type = "str", flag = "--doubles", help = "Version" }

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
ENTRY_POINTS = {
    "hooks": ("doubles:Doubles",),
    "systems": ("remote:Remote",),
    "datasets": ("mixed:mixed",),
    "evaluators": ("same:Same", "length:Length"),
}
SESSION = """
import os, signal, sys
from context_bench.cli import execute
from context_bench.store import runfile
from context_bench.store.rows import StoredRow


class SecondPass(runfile.RunFile):
    # Its commits are those that contain derived rows.
    pass


def commit_by_pass(store, items):
    derived = any(
        isinstance(item, StoredRow) and item.id.system_number == DERIVED for item in items
    )
    return (SecondPass.commit if derived else commit)(store, items)


def kill_at(owner, name, when, count):
    step = getattr(owner, name)
    calls = 0

    def counted(*arguments, **named):
        nonlocal calls
        calls += 1
        if when == "before" and calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        result = step(*arguments, **named)
        if when == "after" and calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, counted)


owners = {
    "RunFile": runfile.RunFile,
    "Rescoring": runfile.Rescoring,
    "SecondPass": SecondPass,
    "os": os,
}
point = os.environ.get("KILLED_AT")
if point:
    when, place, count = point.split()
    owner, _, name = place.rpartition(".")
    commit = runfile.RunFile.commit
    kill_at(owners[owner], name, when, int(count))
    if owner == "SecondPass":
        runfile.RunFile.commit = commit_by_pass
sys.exit(execute(sys.argv[1:]))
""".replace("== DERIVED", f"== {DERIVED}")


class Server(ThreadingHTTPServer):
    """Answers every request, and remembers it.

    Attributes:
        requests: What was requested.
        actions: What a session can have done by requesting ``!NAME``, by name.
    """

    daemon_threads = True
    request_queue_size = 512

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[str] = []
        self.actions: dict[str, Callable[[], None]] = {}
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the broken connection of a client that was killed."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        what = self.path[1:]
        if what.startswith("!"):
            self.server.actions[what[1:]]()
            body = b""
        else:
            self.server.requests.append(what)
            body = b"odd" if int(what.partition(".")[0]) % 2 else b"even"
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
        f"[context_bench.{group}]\n" + "".join(_points(names))
        for group, names in ENTRY_POINTS.items()
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
class Workplace:
    """Starts sessions: a run of rows and conversations, its resumption, and its rescoring.

    Attributes:
        folder: Contains the package and the run files.
        server: Answers the system's calls.
    """

    folder: Path
    server: Server

    def session(
        self, path: Path, command: str, point: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a whole session.

        Args:
            path: The run file.
            command: ``"run"``, ``"resume"`` or ``"rescore"``.
            point: Where the session kills itself: ``"before RunFile.commit 3"``; nowhere without.
        """
        return subprocess.run(
            [sys.executable, "-c", SESSION, *words_of(command, str(path))],
            capture_output=True,
            text=True,
            env={**os.environ, **self.environ, "KILLED_AT": point},
            cwd=self.folder,
            timeout=300,
            check=False,
        )

    @property
    def environ(self) -> dict[str, str]:
        """What a session needs in its environment."""
        return {
            "PYTHONPATH": str(self.folder / "site"),
            "CONTEXT_BENCH_PLUGINS": "killed,context-bench-conversations",
            "KILLED_URL": f"http://127.0.0.1:{self.server.server_port}",
            "KILLED_ROWS": str(ROWS),
        }

    def exists(self, path: Path) -> bool:
        """Whether there is a run, which `run` would refuse and `resume` continues."""
        return path.exists()

    def committed(self, path: Path) -> set[str]:
        """Return the requests whose answers a run contains, in rows and in turns of unfinished rows."""
        if not path.exists():
            return set()
        requests = set()
        reader = RunReader(path)
        try:
            for row in reader.rows():
                number = DERIVED if row.system.endswith(" again") else SYSTEM
                requests |= row_requests(number, row.position)
            for position in range(0, ROWS, 4):
                turns = reader.turns(RowId(SYSTEM, position, 0))
                requests |= {f"{position}.{turn}" for turn in range(len(turns))}
        finally:
            reader.close()
        return requests

    def canonical(self, path: Path) -> list[str]:
        """Return the canonical rows of a run."""
        with open_run(path) as run:
            return [json.dumps(canonical_row(row), sort_keys=True) for row in run.rows()]

    def is_hit(self, done: subprocess.CompletedProcess[str], kill: Kill) -> bool:
        """Whether a session was killed where it had to be."""
        return done.returncode == -signal.SIGKILL


def words_of(command: str, run: str) -> list[str]:
    """Return the words of a session's command, for a run file or an address."""
    options = {
        "run": (
            "--system=remote",
            "--dataset=mixed",
            "--evaluators=same",
            "--doubles=1",
            f"--max-workers={WORKERS}",
            "-q",
            f"--run-file={run}",
        ),
        "resume": (run, "-q"),
        "rescore": (run, "--evaluators=length"),
    }[command]
    return [command, *options, "--format=none"]


def expected_requests() -> set[str]:
    """Return the requests of a whole run: each turn of each row, and the derivation of each row."""
    requests = set()
    for position in range(ROWS):
        requests |= row_requests(SYSTEM, position)
        requests |= row_requests(DERIVED, position)
    return requests


def row_requests(system_number: int, position: int) -> set[str]:
    """Return the requests that one row needs."""
    if system_number == DERIVED:
        return {f"{position}.derived"}
    turns = TURNS if position % 4 == 0 else 1
    return {f"{position}.{turn}" for turn in range(turns)}


class Kill(NamedTuple):
    """Where a session kills itself, and the phase that the point belongs to."""

    phase: str
    point: str


def draw_kills(seed: int) -> dict[str, list[Kill]]:
    """Return one kill of each phase, in the order of a run file's life, by what the session does: run, rescore."""
    chance = Random(seed)
    kills = [Kill(phase, chance.choice(points)) for phase, points in PHASES.items()]
    return {"run": kills[:-1], "rescore": kills[-1:]}


@define
class Damage:
    """What killing the sessions of run files has shown.

    Attributes:
        kills: SIGKILLs, by phase.
        sessions: Sessions, the killed ones included.
        repeated: Committed answers that were requested again.
        lost: Committed answers that a kill removed.
        extra: Requests beyond one for each answer.
        refused: Sessions that ended with an error.
        different: Run files whose canonical rows are not those of a run without a kill.
        half_shown: Rescorings that showed some of their scores, or lost the old ones, before they ended.
        missed: Points that no session reached, so that it was not killed.
    """

    kills: Counter[str] = Factory(Counter)
    sessions: int = 0
    repeated: int = 0
    lost: int = 0
    extra: int = 0
    refused: int = 0
    different: int = 0
    half_shown: int = 0
    missed: list[Kill] = Factory(list)

    @property
    def faults(self) -> dict[str, int]:
        """Everything that has to be zero."""
        return {
            "committed answers that were requested again": self.repeated,
            "committed answers that were lost": self.lost,
            "sessions that ended with an error": self.refused,
            "run files with other canonical rows than a run without a kill": self.different,
            "rescorings that showed some of their scores before they ended": self.half_shown,
            "points that no session reached": len(self.missed),
        }


def live(
    workplace: Workplace,
    path: Path,
    whole: Mapping[str, list[str]],
    kills: Mapping[str, Iterable[Kill]],
    damage: Damage,
) -> None:
    """Take one run file from nothing to a finished rescoring, through kills.

    Args:
        workplace: Starts the sessions.
        path: The run file; it does not exist.
        whole: Canonical rows of a run without a kill and of its rescoring, by phase.
        kills: Where the sessions kill themselves, by phase: ``"run"`` and ``"rescore"``.
        damage: Receives what the kills did.
    """
    requests = workplace.server.requests
    requests_before = len(requests)
    for phase, phase_kills in kills.items():
        for kill in phase_kills:
            done = _session(workplace, path, phase, whole, damage, kill.point)
            if workplace.is_hit(done, kill):
                damage.kills[kill.phase] += 1
            else:
                damage.missed.append(kill)
        done = _session(workplace, path, phase, whole, damage)
        if done.returncode:
            damage.refused += 1
            print(done.stderr, file=sys.stderr)
        damage.different += not workplace.exists(path) or workplace.canonical(path) != whole[phase]
    damage.extra += len(requests) - requests_before - len(expected_requests())


def _session(
    workplace: Workplace,
    path: Path,
    phase: str,
    whole: Mapping[str, list[str]],
    damage: Damage,
    point: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run one session, and compare the run file before and after."""
    before = workplace.committed(path)
    rows_before = workplace.canonical(path) if phase == "rescore" else []
    requests_before = len(workplace.server.requests)
    command = "resume" if phase == "run" and workplace.exists(path) else phase
    done = workplace.session(path, command, point)
    damage.sessions += 1
    damage.repeated += len(before.intersection(workplace.server.requests[requests_before:]))
    damage.lost += len(before - workplace.committed(path))
    if phase == "rescore":
        damage.half_shown += workplace.canonical(path) not in (rows_before, whole["rescore"])
    return done


def undisturbed(workplace: Workplace, path: Path) -> dict[str, list[str]]:
    """Return the canonical rows of a run and of its rescoring, without a kill."""
    rows = {}
    for command in ("run", "rescore"):
        done = workplace.session(path, command)
        assert done.returncode == 0, done.stderr
        rows[command] = workplace.canonical(path)
    assert sorted(workplace.server.requests) == sorted(expected_requests())
    workplace.server.requests.clear()
    return rows

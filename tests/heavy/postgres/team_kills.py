"""Runs in a database that are broken off: drivers, connections and the server itself.

What ``killing`` does to run files is done here to runs in a database: a session reaches a point that a seed has drawn, and
there it kills itself, or has its connections cut, the server stopped at once, or another session begun. Each session works
on one of two machines, so that its local copy has to catch up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import psycopg
from attrs import define, field
from killing import DERIVED, Kill, Workplace, row_requests, words_of

from context_bench.cli import execute
from context_bench.store.keys import RowId

KILL, CUT, STOP, FOLLOW = "kill", "cut", "stop", "follow"
"""What happens: SIGKILL of the driver, ``pg_terminate_backend``, an immediate stop of the server, a following session."""
FAULTS = (KILL, CUT, STOP, KILL, FOLLOW, STOP, KILL, CUT)
POINTS: Mapping[str, Sequence[str]] = {
    "creation": ("PostgresSession.replace 1", "Facts.commit 2"),
    "first commit": ("Turns.commit 1", "Rows.commit 1"),
    "mid-run": ("Turns.commit 2", "Rows.commit 2", "Rows.commit 3", "Rows.commit 4"),
    "catching up": ("copies._apply 1", "copies._apply 2"),
    "second pass": ("Derived.commit 1", "Derived.commit 2", "Derived.commit 4"),
    "rescore": ("PostgresSession.commit 1",),
}
"""Where it happens, by the phase of a run's life; each point is reached whatever the load."""
MESSAGES = {
    CUT: ("is lost", "cannot be used"),
    STOP: ("is lost", "cannot be used"),
    FOLLOW: ("so this one stops",),
}
OF_RUN = "run_number = (SELECT number FROM context_bench.runs WHERE name = {run})"
SESSIONS = """
import json, os, signal, sys
from contextlib import redirect_stdout
from urllib.request import urlopen
from context_bench.cli import execute
from context_bench.store import copies
from context_bench.session import rescoring, run
from context_bench.store.keys import RowId
from context_bench_postgres.database import PostgresSession


def break_off(fault):
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    urlopen(os.environ["KILLED_URL"] + "/!" + fault, timeout=60).close()


def with_break(changes, fault):
    # After the last line was sent, and before the transaction ends.
    yield from changes
    break_off(fault)


def kind_of(changes):
    lines = {change.table.name: change.lines for change in changes}
    if "responses" in lines:
        is_derived = any(RowId.unpack(line[0]).system_number == DERIVED for line in lines["responses"])
        return "Derived" if is_derived else "Rows"
    return "Turns" if "turns" in lines else "Facts"


def break_at(fault, when, place, count):
    kind, _, name = place.partition(".")
    owner = copies if kind == "copies" else PostgresSession
    step = getattr(owner, name)
    calls = 0

    def counted(*arguments):
        nonlocal calls
        if kind in ("Facts", "Turns", "Rows", "Derived") and kind != kind_of(arguments[-1]):
            return step(*arguments)
        calls += 1
        is_now = calls == int(count)
        if is_now and when == "before":
            break_off(fault)
        if is_now and when == "during":
            *arguments, changes = arguments
            arguments = (*arguments, with_break(changes, fault))
        result = step(*arguments)
        if is_now and when == "after":
            break_off(fault)
        return result

    setattr(owner, name, counted)


with redirect_stdout(sys.stderr):
    execute([*sys.argv[1:], "--dry-run"])  # imports what a session imports
for line in sys.stdin:
    words, environ, output = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.update(environ)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(2, 1)
        if os.environ["KILLED_AT"]:
            break_at(*os.environ["KILLED_AT"].split())
        sys.exit(execute(words))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
""".replace("== DERIVED", f"== {DERIVED}")
"""Forks a session for each line that it reads: what a session imports is imported once."""


def exported(run: str) -> list[str]:
    """Return the canonical export of a run."""
    with redirect_stdout(StringIO()) as captured:
        assert execute(["export", "--canonical", run]) == 0
    return captured.getvalue().splitlines()


class Alone(Workplace):
    """Starts sessions of run files."""

    def canonical(self, path: Path) -> list[str]:
        """Return the canonical export."""
        return exported(str(path))


def draw(number: int) -> dict[str, list[Kill]]:
    """Return one fault of each phase for a run, by what the session does: run, rescore."""
    chance = Random(number)
    kills = []
    for place, (phase, points) in enumerate(POINTS.items()):
        fault = FAULTS[(len(POINTS) * number + place) % len(FAULTS)]
        moments = ["before", "during", "after"]
        if phase == "catching up":
            moments.remove("during")
            if fault == FOLLOW:  # who only reads is followed by nobody
                fault = KILL
        if fault == FOLLOW and "during" in moments:  # it waits for the end of the transaction
            moments.remove("during")
        if phase == "rescore" and fault != KILL:  # nothing is sent after it
            moments.remove("after")
        kills.append(
            Kill(phase, f"{fault} {chance.choice(moments)} {chance.choice(points)}"),
        )
    return {"run": kills[:-1], "rescore": kills[-1:]}


@define
class Team(Workplace):
    """Starts sessions on two machines, of runs in one database.

    Attributes:
        postgres: The server.
        database: Name of the database.
        late: Sessions that committed something after they were cut off or followed.
    """

    postgres: Any
    database: str
    late: int = 0
    _run: str = ""
    _commits: int | None = None
    _number: int = 0
    _sessions: subprocess.Popen[str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.server.actions = {CUT: self._cut, STOP: self._stop, FOLLOW: self._follow}
        self._sessions = subprocess.Popen(
            [sys.executable, "-c", SESSIONS, *words_of("run", "planned")],
            env={**os.environ, **self.environ},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def close(self) -> None:
        """End what starts the sessions."""
        self._sessions.communicate(timeout=30)

    @property
    def environ(self) -> dict[str, str]:
        """What a session needs in its environment."""
        own = {"CONTEXT_BENCH_PLUGINS": "killed,context-bench-conversations,context-bench-postgres"}
        return super().environ | own

    def session(
        self, path: Path, command: str, point: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a whole session on the next machine."""
        self._run = path.name
        self._number += 1
        self._commits = None
        words = words_of(command, self._address(path))
        if command != "run":
            words.append("--trust")
        home = self.folder / f"machine-{self._number % 2}"
        output = self.folder / "output.txt"
        line = (words, {"KILLED_AT": point, "CONTEXT_BENCH_HOME": str(home)}, str(output))
        assert self._sessions.stdin is not None
        assert self._sessions.stdout is not None
        print(json.dumps(line), file=self._sessions.stdin, flush=True)
        code = int(self._sessions.stdout.readline())
        done = subprocess.CompletedProcess(words, code, "", output.read_text())
        if self.postgres.process.poll() is not None:
            self.postgres.start()
        if self._commits is not None:
            self.late += self._commits_now() != self._commits
        return done

    def exists(self, path: Path) -> bool:
        """Whether the database has a run of this name."""
        self._run = path.name
        return self._commits_now() > 0

    def committed(self, path: Path) -> set[str]:
        """Return the requests whose answers the database has."""
        self._run = path.name
        requests = set()
        for (number,) in self._select(f"SELECT id FROM context_bench.responses WHERE {OF_RUN}"):
            row = RowId.unpack(number)
            requests |= row_requests(row.system_number, row.position)
        for number, turn in self._select(
            f"SELECT response, turn FROM context_bench.turns WHERE {OF_RUN}"
        ):
            requests.add(f"{RowId.unpack(number).position}.{turn}")
        return requests

    def canonical(self, path: Path) -> list[str]:
        """Return the canonical export, by a reader whose copy follows all commits."""
        return exported(self._address(path))

    def is_hit(self, done: subprocess.CompletedProcess[str], kill: Kill) -> bool:
        """Whether a session was broken off where it had to be, and has told it in a sentence."""
        fault = kill.point.split()[0]
        if fault == KILL:
            return done.returncode == -SIGKILL
        is_told = any(message in done.stderr for message in MESSAGES[fault])
        return self._commits is not None and done.returncode in (2, 3) and is_told

    def _address(self, path: Path) -> str:
        return f"{self.postgres.url(self.database)}#{path.name}"

    def _select(self, query: str) -> list[tuple[Any, ...]]:
        """Return the lines of the run that a query selects; none where there are no tables."""
        try:
            return self.postgres.execute(query.format(run=f"'{self._run}'"), self.database)
        except psycopg.errors.UndefinedTable:
            return []

    def _commits_now(self) -> int:
        """Return how many commits the run has had."""
        lines = self._select("SELECT commits FROM context_bench.runs WHERE name = {run}")
        return lines[0][0] if lines else 0

    def _cut(self) -> None:
        self._commits = self._commits_now()
        self.postgres.execute(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity "
            "WHERE application_name = 'context-bench'"
        )

    def _stop(self) -> None:
        self._commits = self._commits_now()
        self.postgres.stop()

    def _follow(self) -> None:
        self._commits = self._commits_now()
        self._select("UPDATE context_bench.runs SET session = session + 1 WHERE name = {run}")

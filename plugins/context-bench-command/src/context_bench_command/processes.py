"""Processes in groups of their own, so that a program goes with everything that it has started."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from context_bench_command.errors import CommandMissingError, StandardError

_TAIL = 8 * 1024
_PATIENCE = 5.0
_PIECE = 64 * 1024
_IS_OF_TEXT = re.compile("too long|null byte|null character")


class Process:
    """A running program.

    Args:
        arguments: The program and its arguments.
        cwd: Its folder; None for ours.
        environment: Its whole environment.

    Raises:
        CommandMissingError: It cannot be started.
    """

    def __init__(
        self, arguments: Sequence[str], cwd: str | None, environment: Mapping[str, str]
    ) -> None:
        name = arguments[0]
        own_group: dict[str, Any] = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined,unused-ignore]
            if os.name == "nt"
            else {"start_new_session": True}
        )
        try:
            self._process = subprocess.Popen(
                list(arguments),
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **own_group,
            )
        except FileNotFoundError:
            raise CommandMissingError(
                f"{name} cannot be started: there is no such program or folder"
            ) from None
        except PermissionError:
            raise CommandMissingError(f"{name} cannot be started: it may not be executed") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = (
                ": give the text on standard input, not in an argument"
                if _IS_OF_TEXT.search(reason)
                else ""
            )
            raise CommandMissingError(f"{name} cannot be started: {reason}{hint}") from None
        _running.add(self)
        self._killed = threading.Lock()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    @property
    def stdin(self) -> IO[bytes]:
        """Where it reads."""
        assert self._process.stdin is not None
        return self._process.stdin

    def pieces(self) -> Iterator[bytes]:
        """Yield what it writes to standard output, to one thread only.

        Who reads closes the pipe, and nobody else: its number may be that of another program's pipe right after.
        """
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self._process.stdout as pipe:
            while piece := os.read(pipe.fileno(), _PIECE):
                yield piece

    @property
    def has_ended(self) -> bool:
        """Whether the program itself has ended; what it has started may live on."""
        if self._process.returncode is not None:
            return True
        if hasattr(os, "waitid"):  # its number stays taken until its group is killed
            with contextlib.suppress(ChildProcessError):
                return (
                    os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                    is not None
                )
        return self._process.poll() is not None

    def end(self) -> int:
        """Kill whatever is left of the program and all that it has started, and return its status."""
        with self._killed:
            if self in _running:
                has_ended = self.has_ended
                self._kill_group()
                if not has_ended:
                    self._process.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_PATIENCE)
                _running.discard(self)
                self._reader.join(_PATIENCE)
                with contextlib.suppress(OSError, ValueError):
                    self.stdin.close()
        return (
            self._process.returncode
            if self._process.returncode is not None
            else -int(signal.SIGTERM)
        )

    def stderr(self, hide: Sequence[str] = ()) -> StandardError | None:
        """Return the last of what it wrote to standard error, None when that is nothing."""
        text = b"".join(self._tail)[-_TAIL:].decode("utf-8", "replace").strip()
        for secret in hide:
            text = text.replace(secret, "***")
        return StandardError(text) if text else None

    def _kill_group(self) -> None:
        if os.name == "nt":
            subprocess.run(
                ["taskkill", "/T", "/F", "/PID", str(self._process.pid)],
                capture_output=True,
                check=False,
            )
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_stderr(self) -> None:
        pipe = self._process.stderr
        assert pipe is not None
        with contextlib.suppress(OSError, ValueError), pipe:
            while piece := os.read(pipe.fileno(), _PIECE):
                self._tail.append(piece)
                self._tail_size += len(piece)
                while self._tail_size - len(self._tail[0]) > _TAIL:
                    self._tail_size -= len(self._tail.popleft())


_running: set[Process] = set()


def end_all() -> None:
    """Kill every program that still runs."""
    for process in list(_running):
        process.end()


atexit.register(end_all)

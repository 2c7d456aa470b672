"""The runner's end of a fork server process."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Sequence

from context_bench_code.errors import SandboxError
from context_bench_code.tiers import Tier, environment

_REQUEST = struct.Struct("!dq")  # seconds, mebibytes
_START_SECONDS = 30.0
_END_SECONDS = 5.0
_SHOWN_COMPLAINT = 500


class ServerLostError(Exception):
    """The fork server ended while a program depended on it."""


class ForkServer:
    """A running fork server, which ends when this object is closed or this process ends in any way.

    Raises:
        SandboxError: It could not be started; the message says what stands in the way.
    """

    def __init__(self, tier: Tier) -> None:
        try:
            command = tier.command()
        except FileNotFoundError as error:
            raise SandboxError(str(error)) from None
        self._control, far = socket.socketpair()
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - stays open as long as the server lives
        self._lock = threading.Lock()
        with far:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=far.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._complaints,
                    env=environment(),
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                self._control.close()
                self._complaints.close()
                raise SandboxError(f"{command[0]} cannot be started: {error}") from error
        fault = self._fault_at_start()
        if fault is not None:
            complaint = self.close()
            raise SandboxError(fault or complaint or "it ended without a word")

    def submit(self, timeout: float, memory: int, descriptors: Sequence[int]) -> None:
        """Ask for a program that talks through these descriptors: report, output, status.

        Raises:
            ServerLostError: There is no server any more.
        """
        try:
            with self._lock:
                socket.send_fds(self._control, [_REQUEST.pack(timeout, memory)], descriptors)
        except OSError as error:
            raise ServerLostError from error

    def close(self) -> str:
        """End it and its programs; gives what it complained about."""
        if self._complaints.closed:
            return ""
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._complaints as file:
            file.seek(0)
            return file.read().decode(errors="replace").strip()[-_SHOWN_COMPLAINT:]

    def abandon(self) -> None:
        """Let go of it in a forked process, whose parent goes on using it."""
        self._control.close()
        self._complaints.close()
        self._process.returncode = 0  # not a child of this process; nothing to wait for

    def _fault_at_start(self) -> str | None:
        self._control.settimeout(_START_SECONDS)
        try:
            with self._control.makefile("rb") as lines:
                answer = lines.readline()
            self._control.settimeout(None)
            return json.loads(answer).get("error") if answer else ""
        except (OSError, ValueError, RecursionError) as error:
            return str(error)

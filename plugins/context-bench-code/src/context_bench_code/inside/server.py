"""The fork server: one warm interpreter that becomes every program by forking.

It runs no program's code itself. Over its control socket come, for each program, its limits and three descriptors: the
report (job in, verdict out), the output, and the status, through which this server alone says how the program ended.
It kills what has used up its processor time, what has not ended long after, and what nobody waits for any more; it dies
with its runner.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import contextlib
import gc
import importlib
import json
import math
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from context_bench_code.inside.limits import patience
from context_bench_code.inside.program import live
from context_bench_code.inside.walls import Bare, Cell, Jail, Walls

REQUEST = struct.Struct("!dq")
"""A program's limits: seconds of processor time, mebibytes."""

_DESCRIPTORS = 4096
_PROCESS_CLOCK = 2  # with the complement of a process id above it, Linux's name for the processor time of that process
_SHORTEST = 0.01
_WARM = (
    "abc",
    "array",
    "base64",
    "bisect",
    "calendar",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "inspect",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "os",
    "queue",
    "random",
    "re",
    "secrets",
    "statistics",
    "string",
    "sys",
    "textwrap",
    "threading",
    "time",
    "typing",
    "unicodedata",
    "uuid",
)


def main() -> None:
    """Serve on descriptor 0, as the JSON in the second argument says."""
    configuration = json.loads(sys.argv[2])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = _DESCRIPTORS if most == resource.RLIM_INFINITY else min(_DESCRIPTORS, most)
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (few, most)
    )  # every child closes all that there can be
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    try:
        for name in _WARM:
            importlib.import_module(name)
        walls = _walls(configuration)
        walls.enclose_server()
    except OSError as error:
        control.sendall(json.dumps({"error": str(error)}).encode() + b"\n")
        return
    sys.argv[:], sys.orig_argv[:] = ["solution"], []
    builtins.exit, builtins.quit = (
        _sitebuiltins.Quitter("exit", "^D"),
        _sitebuiltins.Quitter("quit", "^D"),
    )
    os.environ.clear()
    os.environ["LANG"] = "C.UTF-8"
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # what is printed decides nothing
    gc.disable()
    gc.collect()
    gc.freeze()  # shared pages stay shared: no collection touches what the server allocated
    control.sendall(b"{}\n")
    _Server(control, walls).serve()


def _walls(configuration: dict[str, Any]) -> Walls:
    first_user = configuration["first_user"]
    if configuration["walls"] == "jail":
        return Jail(first_user, configuration["visible"])
    if configuration["walls"] == "cell":
        return Cell(first_user)
    return Bare(first_user, os.path.dirname(os.__file__), configuration["scratch"])


class _Running:
    def __init__(self, pid: int, status: socket.socket, timeout: float, directory: str) -> None:
        self.status = status
        self.directory = directory
        self.timeout = timeout
        self.was_killed = False
        self.look_again = (
            time.monotonic() + timeout
        )  # before then it cannot have used up its time, unless by threads
        self._clock = ~pid << 3 | _PROCESS_CLOCK
        self._deadline = time.monotonic() + patience(timeout)

    def is_over(self) -> bool:
        """Whether its time is up, by the processor or by the clock; if not, when to look again."""
        now = time.monotonic()
        left = self.timeout - self._spent()
        self.look_again = min(self._deadline, now + max(left, _SHORTEST))
        return left <= 0 or self._deadline <= now

    def _spent(self) -> float:
        try:
            return time.clock_gettime(self._clock)
        except (
            OSError,
            AttributeError,
        ):  # macOS, where its own limit has to do; or it has just ended
            return 0.0


class _Server:
    def __init__(self, control: socket.socket, walls: Walls) -> None:
        self._control = control
        self._walls = walls
        self._running: dict[int, _Running] = {}
        self._poller = select.poll()
        self._woken, wake = os.pipe()
        for end in (self._woken, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poller.register(control, select.POLLIN)
        self._poller.register(self._woken, select.POLLIN)

    def serve(self) -> None:
        """Until the runner closes the control socket."""
        while True:
            for descriptor, _ in self._poller.poll(self._milliseconds_left()):
                if descriptor == self._control.fileno():
                    if not self._accept():
                        self._end()
                        return
                elif descriptor == self._woken:
                    os.read(self._woken, 4096)
                else:
                    self._kill_unwanted(descriptor)
            self._kill_late()
            self._reap()

    def _accept(self) -> bool:
        try:
            request, descriptors, _, _ = socket.recv_fds(self._control, REQUEST.size, 3)
        except OSError:
            return False
        if len(request) < REQUEST.size:
            return False
        report, output, status = descriptors
        try:
            self._start(report, output, socket.socket(fileno=status), *REQUEST.unpack(request))
        finally:
            os.close(report)
            os.close(output)
        return True

    def _start(
        self, report: int, output: int, status: socket.socket, timeout: float, memory: int
    ) -> None:
        directory = ""
        try:
            directory = self._walls.before_fork()
            pid = os.fork()
        except OSError as error:
            _tell(status, error=str(error))
            status.close()
            if directory:
                self._walls.clear(directory)
            return
        if pid == 0:
            live(report, output, self._walls, directory, timeout, memory)
        self._running[pid] = _Running(pid, status, timeout, directory)
        self._poller.register(status, 0)  # only to hear that the runner has closed its end

    def _milliseconds_left(self) -> int | None:
        first = min((program.look_again for program in self._running.values()), default=math.inf)
        return None if first == math.inf else max(0, math.ceil((first - time.monotonic()) * 1000))

    def _kill_late(self) -> None:
        now = time.monotonic()
        for pid, program in self._running.items():
            if program.look_again <= now and program.is_over():
                program.was_killed = True
                program.look_again = math.inf
                os.kill(pid, signal.SIGKILL)

    def _kill_unwanted(self, descriptor: int) -> None:
        self._poller.unregister(descriptor)
        for pid, program in self._running.items():
            if program.status.fileno() == descriptor:
                os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._running:
            pid, status, used = os.wait4(-1, os.WNOHANG)
            if not pid:
                return
            self._finish(self._running.pop(pid, None), status, used)

    def _finish(self, program: _Running | None, status: int, used: resource.struct_rusage) -> None:
        if program is None:
            return
        with contextlib.suppress(KeyError):
            self._poller.unregister(program.status)
        self._walls.clear(program.directory)
        spent = used.ru_utime + used.ru_stime
        _tell(
            program.status,
            status=os.waitstatus_to_exitcode(status),
            was_killed=program.was_killed,
            processor_seconds=spent,
        )
        program.status.close()

    def _end(self) -> None:
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        while self._running:
            pid, status, used = os.wait4(-1, 0)
            self._finish(self._running.pop(pid, None), status, used)


def _tell(channel: socket.socket, /, **what: Any) -> None:
    with contextlib.suppress(OSError):
        channel.sendall(json.dumps(what).encode() + b"\n")

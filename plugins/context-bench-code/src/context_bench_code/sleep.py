"""How long a program slept, seen from outside: who sleeps is asleep whenever one looks, and who waits for a processor is not."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time

TICK_SECONDS = 0.05
"""How often one looks."""

_CREDENTIALS = struct.Struct("3i")  # process, user, group
_PROCESS_CLOCK = 2  # as in inside.server: with the complement of a process id above it, the processor time of that process
_ASLEEP = "S"


class SleepWatch:
    """What a program has had of its time, by its processor and asleep. Nothing where the system does not tell: it takes Linux.

    Of the time between two looks no more than two ticks count, and nothing unless all its threads sleep at both. So a machine
    that is busy, paused or stopped makes it less and never more.

    Args:
        report: The runner's end of the channel through which the program reports. Its first report tells who it is.
    """

    def __init__(self, report: socket.socket) -> None:
        self._report = report
        self._process = 0
        self._slept = self._spent = 0.0
        self._last = time.monotonic()
        self._was_asleep = False
        with contextlib.suppress(OSError, AttributeError):  # not on every system
            report.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def look(self) -> float:
        """Look at it, once a tick at most; gives the seconds that it has slept and been run, as far as that was seen."""
        now, last, was_asleep = time.monotonic(), self._last, self._was_asleep
        if now - last < TICK_SECONDS:
            return self._slept + self._spent
        self._last, self._was_asleep = now, False
        self._process = self._process or _sender(self._report)
        if self._process:
            with contextlib.suppress(OSError):  # it has just ended
                spent, before = (
                    time.clock_gettime(~self._process << 3 | _PROCESS_CLOCK),
                    self._spent,
                )
                self._spent = spent
                self._was_asleep = _sleeps(self._process)
                if self._was_asleep and was_asleep:
                    self._slept += max(0.0, min(now - last, 2 * TICK_SECONDS) - (spent - before))
        return self._slept + self._spent


def _sender(report: socket.socket) -> int:
    """The process that the first byte in the channel came from; 0 as long as there is none."""
    try:
        _, ancillary, _, _ = report.recvmsg(
            1, socket.CMSG_SPACE(_CREDENTIALS.size), socket.MSG_PEEK | socket.MSG_DONTWAIT
        )
    except OSError:
        return 0
    found = (
        content
        for _, kind, content in ancillary
        if kind == getattr(socket, "SCM_CREDENTIALS", None)
    )
    return next(
        (_CREDENTIALS.unpack(content)[0] for content in found if len(content) == _CREDENTIALS.size),
        0,
    )


def _sleeps(process: int) -> bool:
    """Whether every thread of it sleeps, and waits neither for a processor nor for memory.

    Raises:
        OSError: There is no such process, or the system does not tell.
    """
    tasks = f"/proc/{process}/task"
    for task in os.listdir(tasks):
        with open(f"{tasks}/{task}/stat", encoding="utf-8", errors="replace") as file:
            if file.read().rpartition(")")[2].split()[0] != _ASLEEP:
                return False
    return True

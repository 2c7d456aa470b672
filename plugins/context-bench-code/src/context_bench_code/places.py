"""How many programs run at once, so that a timeout measures the program and not the crowd."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MEBIBYTE = 1024 * 1024


class Places:
    """Room for two programs a processor whose memory limits together stay below half of the machine's memory.

    One program always has room.
    """

    def __init__(self) -> None:
        self._programs = 2 * _processors()
        self._memory = _machine_memory() // 2
        self._running = 0
        self._promised = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, memory: int) -> Iterator[None]:
        """Wait for room for a program of so many mebibytes, and give it back at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_room(memory))
            self._running += 1
            self._promised += memory
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._promised -= memory
                self._changed.notify_all()

    def _has_room(self, memory: int) -> bool:
        fits = self._running < self._programs and self._promised + memory <= self._memory
        return fits or not self._running


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _machine_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MEBIBYTE
    except (ValueError, OSError):  # not on every system
        return 4096

"""The resource limits that a program sets on itself before it runs."""

from __future__ import annotations

import contextlib
import math
import resource

MEBIBYTE = 1024 * 1024
FILE_BYTES = 64 * MEBIBYTE
_LEAST_PATIENCE, _PATIENCE = 5.0, 5.0


def patience(timeout: float) -> float:
    """Return the seconds by the clock after which nobody waits any more for a program with so much processor time.

    Nothing follows from them: a machine that is busy or paused lets a program wait as a sleeping program does.
    """
    return _LEAST_PATIENCE + _PATIENCE * timeout


def set_limits(timeout: float, memory: int, tasks: int | None) -> None:
    """Bound the time, memory (MiB), files and tasks of this process.

    Args:
        timeout: Seconds of processor time; the limit stands behind the one that the fork server keeps.
        memory: Mebibytes of address space.
        tasks: How many threads and processes the user may have, or None for no limit. One means that neither can be
            started. The kernel counts them by user, so the process must have its final user id.
    """
    limits = {
        "RLIMIT_AS": memory * MEBIBYTE,
        "RLIMIT_CPU": math.ceil(timeout) + 1,
        "RLIMIT_FSIZE": FILE_BYTES,
        "RLIMIT_STACK": 8 * MEBIBYTE,
        "RLIMIT_NOFILE": 256,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if tasks is not None:
        limits["RLIMIT_NPROC"] = tasks
    for name, value in limits.items():
        number = getattr(resource, name, None)  # each system has its own selection
        if number is not None:
            _lower(number, value)


def _lower(number: int, value: int) -> None:
    _, hard = resource.getrlimit(number)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError, OSError):  # macOS has RLIMIT_AS and refuses to set it
        resource.setrlimit(number, (value, value))

"""The Linux calls that Python does not offer before 3.12, through the C library."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE, MS_RELATIME = (
    1024,
    2048,
    4096,
    16384,
    1 << 18,
    1 << 21,
)
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38

IS_LINUX = sys.platform == "linux"
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_CAPABILITY_VERSION_3 = 0x20080522


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name and start empty ones."""
    _call("unshare", flags)


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace behind a file descriptor; a process namespace is entered by the next child."""
    _call("setns", descriptor, kind)


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, options: str | None = None
) -> None:
    """Attach a file system, or change one that is attached."""
    _call("mount", _text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(options))


def detach(target: str) -> None:
    """Take a mount away, now from sight and for good once nobody uses it."""
    _call("umount2", _text(target), MNT_DETACH)


def pivot_root(new: str, old: str) -> None:
    """Make the mount `new` the root and hang the old root at `old` below it."""
    number = _PIVOT_ROOT.get(platform.machine())
    if number is None:
        raise OSError(f"the number of pivot_root is not known for {platform.machine()}")
    _call("syscall", ctypes.c_long(number), _text(new), _text(old))


def prctl(option: int, value: Any = 1, more: Any = 0) -> None:
    """Set a property of this process."""
    _call("prctl", option, _word(value), _word(more), ctypes.c_ulong(0), ctypes.c_ulong(0))


def drop_capabilities() -> None:
    """Give up every capability, for good once the process may gain no privileges."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()
    _call("capset", header, none)


def _word(value: Any) -> Any:
    return ctypes.c_ulong(value) if isinstance(value, int) else value


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def _call(name: str, *arguments: Any) -> None:
    if getattr(_library(), name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)

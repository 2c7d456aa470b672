"""The walls around a program: what it is put behind before its first line runs.

There are three builders with the same four moments. `Jail` builds everything itself from Linux namespaces. `Cell` stands
inside a jail that bubblewrap has built and adds only the walls between programs. `Bare` has no walls but the filter of
system calls and the limits.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import stat
import tempfile
from collections.abc import Sequence
from typing import Protocol

from context_bench_code.inside import linux, seccomp
from context_bench_code.inside.limits import FILE_BYTES, set_limits

BOX = "/box"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_OVERFLOW_ID = 65534
_SLOTS = 256
_THREADS = 64


class Walls(Protocol):
    """Four moments: the server starts, before each fork, in the child, after its end."""

    def enclose_server(self) -> None:
        """Put the fork server behind the walls that all programs share."""

    def before_fork(self) -> str:
        """Prepare one program's walls; gives the path of its working directory."""

    def enclose_program(self, directory: str, timeout: float, memory: int) -> None:
        """Put this process behind its own walls, for ever."""

    def clear(self, directory: str) -> None:
        """Remove what a program that has ended may have left."""


class Cell:
    """Walls between programs: process, mount and IPC namespaces of its own, and a user that nobody else is.

    The server has to be process 1 of a namespace that its own user namespace owns: then its death is every program's
    death, and it can start each program as process 1 of a fresh namespace, whose end is the end of everything in it.
    """

    def __init__(self, first_user: int) -> None:
        self._first_user = first_user
        self._programs = 0
        self._processes = -1

    def enclose_server(self) -> None:
        """Remember the server's process namespace, and compile the filter that every program shares."""
        try:
            self._processes = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._processes = os.pidfd_open(os.getpid())
        if seccomp.available():
            seccomp.program(platform.machine(), 1)

    def before_fork(self) -> str:
        """Make the next child process 1 of a new namespace."""
        linux.setns(self._processes, linux.CLONE_NEWPID)  # or the second unshare would be refused
        linux.unshare(linux.CLONE_NEWPID)
        self._programs += 1
        return BOX

    def enclose_program(self, directory: str, timeout: float, memory: int) -> None:
        """Private directory in memory, no privileges, limits, filter."""
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWIPC)
        is_root = os.geteuid() == 0
        user = _spare_user(self._first_user + self._programs % _SLOTS) if is_root else os.geteuid()
        owner = f",uid={user},gid={user}" if is_root else ""
        flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
        linux.mount(
            "box", directory, "tmpfs", flags, f"size={FILE_BYTES},nr_inodes=4096,mode=700{owner}"
        )
        os.chdir(directory)
        if is_root:
            _become(user)
        else:  # a user namespace of its own has its own count of processes
            linux.unshare(linux.CLONE_NEWUSER)
        linux.drop_capabilities()
        set_limits(timeout, memory, tasks=_THREADS if seccomp.available() else 1)
        _give_up_privileges()  # last: the filter takes no limit of processor time any more

    def clear(self, directory: str) -> None:
        """Nothing: the namespaces took everything with them."""


class Jail(Cell):
    """All walls from Linux namespaces: a file tree of the named paths and nothing else, no network, no other process.

    Args:
        first_user: The first of the user ids that programs get where the server runs as root.
        visible: The directories and files that programs can read, at their own paths.
    """

    def __init__(self, first_user: int, visible: Sequence[str]) -> None:
        super().__init__(first_user)
        self._visible = visible

    def enclose_server(self) -> None:
        """Leave the machine's namespaces and go on as process 1 with a new root."""
        user, group = os.geteuid(), os.getegid()
        own = (
            linux.CLONE_NEWNS
            | linux.CLONE_NEWPID
            | linux.CLONE_NEWNET
            | linux.CLONE_NEWIPC
            | linux.CLONE_NEWUTS
        )
        linux.unshare(own if user == 0 else own | linux.CLONE_NEWUSER)
        if user != 0:
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{user} {user} 1")
            _write("/proc/self/gid_map", f"{group} {group} 1")
        _continue_as_process_1()
        super().enclose_server()
        _build_root(self._visible)


class Bare:
    """No walls: a filter of system calls, limits, a working directory, and never the rights of root.

    Args:
        first_user: The first of the user ids that programs get where the server runs as root.
        library: The standard library; a user who cannot read it is of no use.
        scratch: Where to make working directories.
    """

    def __init__(self, first_user: int, library: str, scratch: str) -> None:
        self._first_user = first_user
        self._library = library
        self._scratch = scratch
        self._programs = 0

    def enclose_server(self) -> None:
        """Refuse to serve where programs would have to run as root."""
        if os.geteuid() == 0 and not _everybody_reads(self._library):
            raise PermissionError(
                f"root does not run model-written code, and no other user can read Python's library in {self._library}; "
                "use a Python that all users can read, or run as another user"
            )

    def before_fork(self) -> str:
        """Make a directory."""
        self._programs += 1
        return tempfile.mkdtemp(prefix="context-bench-code-", dir=self._scratch)

    def enclose_program(self, directory: str, timeout: float, memory: int) -> None:
        """Limits and filter, and no privileges where there were some."""
        os.chdir(directory)
        was_root = os.geteuid() == 0
        if was_root:
            user = _spare_user(self._first_user + self._programs % _SLOTS)
            os.chown(directory, user, user)
            _become(user)
        if linux.IS_LINUX:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        own_count = _THREADS if was_root else None  # the count of a user includes all that he runs
        set_limits(timeout, memory, tasks=own_count if seccomp.available() else 1)
        _give_up_privileges()  # last: the filter takes no limit of processor time any more

    def clear(self, directory: str) -> None:
        """Remove the directory."""
        _unlock(directory)  # a program may have taken away its own right to list and delete
        for folder, names, _ in os.walk(directory):
            for name in names:
                _unlock(os.path.join(folder, name))
        shutil.rmtree(directory, ignore_errors=True)


def _give_up_privileges() -> None:
    if linux.IS_LINUX:
        linux.prctl(linux.PR_SET_NO_NEW_PRIVS)
    if seccomp.available():
        seccomp.lock()


def _continue_as_process_1() -> None:
    child = os.fork()
    if child:
        os.closerange(
            0, os.sysconf("SC_OPEN_MAX")
        )  # the runner has to see the child's end of the control socket
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)


def _build_root(visible: Sequence[str]) -> None:
    """A new root in memory with read-only views of `visible`; /tmp of the old one is only the place to stand on."""
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    linux.mount("root", "/tmp", "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755,size=1m")
    os.mkdir("/tmp/.old")
    linux.pivot_root("/tmp", "/tmp/.old")
    os.chdir("/")
    for path in visible:
        _show(path)
    for path in _DEVICES:
        _show(path, writable=True)
    os.mkdir(BOX)
    linux.detach("/.old")
    os.rmdir("/.old")
    linux.mount(
        "none", "/", flags=linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID
    )


def _show(path: str, writable: bool = False) -> None:
    source = f"/.old{path}"
    if not os.path.lexists(source) or os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    if os.path.islink(source):
        os.symlink(os.readlink(source), path)
        return
    if os.path.isdir(source):
        os.mkdir(path, 0o755)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    linux.mount(source, path, flags=linux.MS_BIND | linux.MS_REC)
    if not writable:
        keep = _mount_flags(path)  # a user namespace may add restrictions and not take any away
        flags = (
            linux.MS_REMOUNT | linux.MS_BIND | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
        )
        linux.mount("none", path, flags=flags | keep)


def _mount_flags(path: str) -> int:
    seen = os.statvfs(path).f_flag
    same_bit = seen & (
        linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC | linux.MS_NOATIME | linux.MS_NODIRATIME
    )
    return same_bit | (linux.MS_RELATIME if seen & 4096 else 0)


def _spare_user(wanted: int) -> int:
    """The wanted id, or nobody's where this user namespace has no such id."""
    try:
        os.setegid(wanted)
    except OSError:
        return _OVERFLOW_ID
    os.setegid(0)
    return wanted


def _become(user: int) -> None:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def _unlock(folder: str) -> None:
    if not os.path.islink(folder):
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)


def _everybody_reads(path: str) -> bool:
    folders = [path]
    while folders[-1] != "/":
        folders.append(os.path.dirname(folders[-1]))
    return all(os.stat(folder).st_mode & stat.S_IXOTH for folder in folders)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)

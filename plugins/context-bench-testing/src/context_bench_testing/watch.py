"""What code does besides returning a value: network, programs, files, environment, standard output.

Python reports such acts to audit hooks (PEP 578). A hook cannot be removed, so there is one in a
process, and it records only while a :class:`Watch` is active. Network access is refused while a
component is checked: no check may cost money or depend on a server.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from contextlib import redirect_stdout
from types import FrameType, TracebackType
from typing import Any

NETWORK = "network"
SUBPROCESS = "subprocess"

_NETWORK_EVENTS = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
)
_PROGRAM_EVENTS = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"})
_CHANGE_EVENTS = frozenset(
    {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
)
_WITH_FOLDER = frozenset(
    {"os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink"}
)
"""Events whose last argument is the descriptor of the folder that the path is relative to, or -1."""

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LOOKUP_MODULES = frozenset({"os", "_collections_abc", "collections.abc", __name__})


class RefusedNetworkError(OSError):
    """A component used the network during a check, where the network is refused."""


class Watch:
    """Records what the code of a package does while the watch is active.

    Args:
        package: Top-level package of the code; its reads of the environment are recorded.

    Attributes:
        capabilities: What was used, by capability, with the first use as text.
        files: Files outside the folder for temporary files that were written or removed.
        environ: Environment variables that the package read one by one.
        lists_environ: Whether the package read all environment variables at once.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        self.capabilities: dict[str, str] = {}
        self.files: set[str] = set()
        self.environ: set[str] = set()
        self.lists_environ = False
        self._output = io.StringIO()
        self._redirection: redirect_stdout[io.StringIO] | None = None

    @property
    def output(self) -> str:
        """What was written to standard output."""
        return self._output.getvalue()

    def __enter__(self) -> Watch:
        _install()
        _active.append(self)
        self._redirection = redirect_stdout(self._output)
        self._redirection.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._redirection is not None:
            self._redirection.__exit__(kind, error, traceback)
        _active.remove(self)

    def record(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an audit event.

        Raises:
            RefusedNetworkError: The event is a use of the network.
        """
        if event in _NETWORK_EVENTS:
            target = arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[0]
            self.capabilities.setdefault(NETWORK, f"{event} {target!r}")
            raise RefusedNetworkError(f"plugins check refuses the network ({target!r})")
        if event in _PROGRAM_EVENTS:
            self.capabilities.setdefault(SUBPROCESS, f"{event} {arguments[0]!r}")
        elif _is_change(event, arguments):
            self._record_file(arguments[0])

    def record_environ(self, name: str | None, frame: FrameType | None) -> None:
        """Record the read of an environment variable, or of all of them, if the package itself reads.

        Args:
            name: The variable; None for all of them.
            frame: The frame that reads.
        """
        while frame is not None and frame.f_globals.get("__name__") in _LOOKUP_MODULES:
            frame = frame.f_back
        module = frame.f_globals.get("__name__", "") if frame is not None else ""
        if module.partition(".")[0] != self.package:
            return
        if name is None:
            self.lists_environ = True
        elif not self.lists_environ:
            self.environ.add(name)

    def _record_file(self, path: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        text = os.path.abspath(os.fsdecode(path))
        is_cache = text.endswith(".pyc") or "__pycache__" in text
        temporary = os.path.realpath(tempfile.gettempdir()) + os.sep
        if is_cache or text.startswith("/dev/") or os.fsdecode(path) == ":memory:":
            return
        if not os.path.realpath(text).startswith(temporary):
            self.files.add(text)


_active: list[Watch] = []
_state = {"installed": False}


def _install() -> None:
    if _state["installed"]:
        return
    _state["installed"] = True
    sys.addaudithook(_hook)
    environ_class: Any = type(os.environ)
    read = environ_class.__getitem__
    iterate = environ_class.__iter__

    def watched_read(self: Any, name: str) -> Any:
        for watch in tuple(_active):
            watch.record_environ(name, sys._getframe(1))
        return read(self, name)

    def watched_iterate(self: Any) -> Any:
        for watch in tuple(_active):
            watch.record_environ(None, sys._getframe(1))
        return iterate(self)

    environ_class.__getitem__ = watched_read
    environ_class.__iter__ = watched_iterate


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for watch in tuple(_active):
        watch.record(event, arguments)


def _is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether an event writes, creates, moves or removes a file that its path names."""
    if event == "open":
        return _is_write(arguments)
    if event == "sqlite3.connect":
        return _is_writable_database(arguments[0])
    is_relative_to_folder = any(type(value) is int and value >= 0 for value in arguments[-1:])
    return event in _CHANGE_EVENTS and not (event in _WITH_FOLDER and is_relative_to_folder)


def _is_write(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return isinstance(flags, int) and bool(flags & _WRITE_FLAGS)


def _is_writable_database(name: object) -> bool:
    """Return whether an address of SQLite is that of a file that may be written."""
    return isinstance(name, str | bytes) and not os.fsdecode(name).startswith("file:")

"""Answers that are kept: what a listing or a help said is said again, as long as nothing that decides it has changed.

``main`` asks here before click or importlib.metadata are imported, so this module imports only what Python has loaded anyway.
An answer is kept with the size, time stamps and inode of every file and folder that it came from, and with what it was asked
under: arguments, path, working directory, settings, terminal, language, versions. What changed less than two seconds before
it was looked at may change again within one tick of a file system's clock, so such an answer is not kept.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys

from context_bench import __version__
from context_bench.cli import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

FORMAT = 1
UNSETTLED = 2_000_000_000
"""Nanoseconds for which a changed file may change again without a new time stamp: file systems count in ticks of up to 2 s."""

VARIABLES = (
    *(
        "CONTEXT_BENCH_PLUGINS",
        "CONTEXT_BENCH_DISABLE_PLUGINS",
        "CONTEXT_BENCH_ALLOW_CURRENT_DIRECTORY",
    ),
    *(
        "COLUMNS",
        "LINES",
        "TERM",
        "NO_COLOR",
        "FORCE_COLOR",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LC_MESSAGES",
    ),
)
"""Environment variables that decide what a listing says, beside those that decide what Python's path is."""

LISTS = ("plugins", "datasets", "systems", "evaluators", "metrics")
_FLAG = "--no-cache"
_SWITCH = "CONTEXT_BENCH_NO_CACHE"
_MOST = 64
_LONGEST = 16 * 2**20


def is_listing(arguments: list[str]) -> bool:
    """Whether a call only tells what is installed, without an import of it and without a file of the user's choice."""
    if arguments[-1:] in (["--help"], ["-h"]) and arguments[:-1] in (
        [],
        *([name] for name in COMMANDS),
    ):
        return True
    if arguments[1:2] != ["list"] or arguments[0] not in LISTS:
        return False
    return not any(
        argument.startswith(("--load", "--project", "--wired-to")) for argument in arguments
    )


def answer(arguments: list[str], run: Callable[[list[str], list[str]], int]) -> int:
    """Say again what was kept for a call, or run it and keep what it says; return the exit code.

    Args:
        arguments: The command line.
        run: Runs it, and puts every file and folder that the answer came from into the list that it is given.
    """
    asked = [one for one in arguments if one != _FLAG]
    if asked == ["--list-datasets"]:  # as the predecessor's users ask
        asked = ["datasets", "list"]
    if asked == ["--version"]:
        sys.stdout.write(f"context-bench, version {__version__}\n")
        return 0
    if not is_listing(asked):
        return run(arguments, [])
    gc.disable()  # the process says one thing and ends
    off = _FLAG in arguments or os.environ.get(_SWITCH, "0") not in ("", "0")
    if (
        off
        or os.name != "posix"
        or not hasattr(sys.stdout, "buffer")
        or not hasattr(sys.stderr, "buffer")
    ):
        return run(asked, [])
    try:
        key = _key(asked)
        path = _path(key)
    except (OSError, ValueError):  # no home, or no working directory
        return run(asked, [])
    said = _kept(path, key)
    if said is None:
        return _listen(asked, run, path, key)
    sys.stdout.flush()
    sys.stdout.buffer.write(said)
    sys.stdout.flush()
    return 0


def _key(arguments: list[str]) -> tuple[Any, ...]:
    """Return everything beside files that decides an answer."""
    out, size = sys.__stdout__, None
    if out is not None:
        try:
            size = tuple(os.get_terminal_size(out.fileno()))
        except (OSError, ValueError):
            size = None
    return (
        *(
            FORMAT,
            __version__,
            tuple(arguments),
            sys.version,
            sys.executable,
            sys.prefix,
            tuple(sys.flags),
        ),
        *(
            tuple(sys.warnoptions),
            tuple(sys.path),
            tuple(map(_name, sys.meta_path)),
            tuple(map(_name, sys.path_hooks)),
        ),
        *(os.getcwd(), os.geteuid(), tuple(map(os.environ.get, VARIABLES))),
        *(size, sys.stdout.isatty(), sys.stderr.isatty(), sys.stdout.encoding, sys.stdout.errors),
    )


def _name(thing: Any) -> str:
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def _path(key: tuple[Any, ...]) -> str:
    home = os.environ.get("XDG_CACHE_HOME", "")
    if not home.startswith("/"):
        home = os.path.join(os.path.expanduser("~"), ".cache")
        if not home.startswith("/"):
            raise ValueError("no home")
    name = _sum(marshal.dumps(key, 2)).hex()  # the file holds the whole key
    return os.path.join(home, "context-bench", f"{name}.kept")


def _sum(written: bytes) -> bytes:
    return (int.from_bytes(written, "little") % (2**61 - 1)).to_bytes(8, "big")


def _kept(path: str, key: tuple[Any, ...]) -> bytes | None:
    """Return what is kept, if only its owner could have written it and every file is as it was."""
    try:
        if not _is_ours(os.lstat(os.path.dirname(path)), 0o040000):
            return None
        with open(path, "rb", opener=_unfollowed) as file:
            found = os.fstat(file.fileno())
            if not _is_ours(found, 0o100000) or found.st_size > _LONGEST:
                return None
            written = file.read()
        if written[:8] != _sum(written[8:]):  # to read what is torn may take all memory there is
            return None
        kept_key, stamps, said = marshal.loads(written[8:])
        is_same = kept_key == key and isinstance(said, bytes)
        is_same = is_same and all(_stamp(place) == stamp for place, stamp in stamps.items())
    except (OSError, ValueError, EOFError, TypeError, AttributeError):  # no file, or another format
        return None
    return bytes(said) if is_same else None


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _stamp(place: str) -> tuple[int, int, int, int] | None:
    """Return what changes when a file or folder does; None of one that is not there."""
    try:
        now = os.stat(place)
    except (OSError, ValueError):
        return None
    return now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino


def _is_ours(found: os.stat_result, kind: int) -> bool:
    return (
        found.st_mode & 0o170000 == kind
        and found.st_uid == os.geteuid()
        and not found.st_mode & 0o022
    )


def _listen(
    arguments: list[str],
    run: Callable[[list[str], list[str]], int],
    path: str,
    key: tuple[Any, ...],
) -> int:
    """Run a call and keep what it writes to standard output, if that is all that happens."""
    from io import BytesIO, TextIOWrapper
    from time import time_ns

    class Heard(BytesIO):
        """What is written, on its way to where it was meant to go."""

        def __init__(self, stream: Any) -> None:
            super().__init__()
            self.stream = stream

        def write(self, written: Any) -> int:
            super().write(written)
            return int(self.stream.write(written))

        def flush(self) -> None:
            if not self.stream.closed:  # as it may be when the process ends
                self.stream.flush()

        def isatty(self) -> bool:
            return bool(self.stream.isatty())

        def fileno(self) -> int:
            return int(self.stream.fileno())

    started, sources = time_ns(), list[str]()
    out, errors = sys.stdout, sys.stderr
    heard, heard_of_errors = Heard(out.buffer), Heard(errors.buffer)
    sys.stdout = TextIOWrapper(heard, out.encoding, out.errors, write_through=True)
    sys.stderr = TextIOWrapper(heard_of_errors, errors.encoding, errors.errors, write_through=True)
    try:
        code = run(arguments, sources)
        sys.stdout.flush()
    finally:
        said, told = heard.getvalue(), heard_of_errors.getvalue()
        sys.stdout, sys.stderr = out, errors
    if code == 0 and sources and not told:
        _keep(path, key, started, [*sources, *_code()], said)
    return code


def _code() -> Iterable[str]:
    """Return the files of every module that took part, but for those that come with Python.

    A module that reads a file beside itself when it is imported names it in ``__read_by_import__``.
    """
    own = os.path.dirname(os.__file__)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (os.path.dirname(file) != own or "-packages" in file):
            yield from (file, os.path.dirname(file))
            yield from vars(module).get("__read_by_import__", ())


def _keep(path: str, key: tuple[Any, ...], started: int, sources: list[str], said: bytes) -> None:
    stamps = {place or os.curdir: _stamp(place or os.curdir) for place in sources}
    for (
        place,
        stamp,
    ) in stamps.items():  # what is not there now may have been there when it was looked for
        if max((stamp or _folder_of(place))[1:3]) > started - UNSETTLED:
            return
    stamps = {  # whoever puts a file into a folder changes the folder
        place: stamp
        for place, stamp in stamps.items()
        if stamp or os.path.dirname(place) not in stamps
    }
    folder, new = os.path.dirname(path), f"{path}.{os.getpid()}.new"
    try:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        if not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
        if not _is_ours(os.lstat(folder), 0o040000):
            return
        _clear(folder)
        descriptor = os.open(
            new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with open(descriptor, "wb") as file:
            file.write(_sum(whole := marshal.dumps((key, stamps, said), 2)) + whole)
        os.replace(new, path)
    except (
        OSError
    ):  # nowhere to keep it: the answer has been given, only the next one is not quicker
        return


def _folder_of(place: str) -> tuple[int, int, int, int]:
    """Return the stamp of the nearest folder that there is above a place; where there is none, it always changes."""
    folder = os.path.dirname(place) or os.curdir
    return _stamp(folder) or ((0, sys.maxsize, 0, 0) if folder == place else _folder_of(folder))


def _clear(folder: str) -> None:
    """Remove the oldest answers where there are many."""
    found = sorted(
        os.scandir(folder), key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns
    )
    for entry in found[: max(0, len(found) - _MOST)]:
        os.unlink(entry.path)

"""The ways of isolating a program, strongest first, and how each one's fork server is started."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
    "/nix/store",
    "/gnu/store",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_BOX_BYTES = 64 * 1024 * 1024
_FIRST_USER, _USERS, _SLOTS = 0x40000000, 0x3FFFFF, 256

# Imports the package `inside` and nothing else of this distribution, whose own __init__ must not run there.
_BOOT = """
import sys, types
package = types.ModuleType("context_bench_code")
package.__path__ = [sys.argv[1]]
sys.modules[package.__name__] = package
sys.path[:] = [entry for entry in sys.path if entry]
from context_bench_code.inside.server import main
main()
"""


@dataclass(frozen=True)
class Tier:
    """One way of isolating programs.

    Attributes:
        name: What a score's details say.
        walls: The builder that the fork server uses: "jail", "cell" or "bare".
        isolates: Whether a program can neither read, write nor reach anything of the machine.
        in_bubblewrap: Whether bubblewrap is put around the fork server.
    """

    name: str
    walls: str
    isolates: bool
    in_bubblewrap: bool = False

    @property
    def is_reusable(self) -> bool:
        """Whether one fork server can run several programs without them meeting each other."""
        return not (self.in_bubblewrap and self.walls == "bare")

    def command(self) -> list[str]:
        """The command line of a fork server.

        Raises:
            FileNotFoundError: Bubblewrap is not installed.
        """
        package = Path(__file__).parent
        scratch = tempfile.gettempdir()
        wrapping: list[str] = []
        if self.in_bubblewrap:
            wrapping = _bubblewrap(package, self.walls)
            package, scratch = Path("/context_bench_code"), "/box"
        configuration = {
            "walls": self.walls,
            "first_user": _FIRST_USER + secrets.randbelow(_USERS) * _SLOTS,
            "visible": list(visible_paths()),
            "scratch": scratch,
        }
        # As isolated as -I, which would also ignore the one variable that is set for it: the order of a set must not
        # change a score from one run to the next.
        flags = ["-s", "-S", "-B", "-W", "ignore", "-X", "utf8"]
        return [
            *wrapping,
            interpreter(),
            *flags,
            "-c",
            _BOOT,
            str(package),
            json.dumps(configuration),
        ]


TIERS = (
    Tier("bubblewrap", walls="cell", isolates=True, in_bubblewrap=True),
    Tier("bubblewrap, one for each program", walls="bare", isolates=True, in_bubblewrap=True),
    Tier("namespaces", walls="jail", isolates=True),
    Tier("process", walls="bare", isolates=False),
)


def environment() -> dict[str, str]:
    """What the fork server gets of the runner's environment, which is next to nothing."""
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {**kept, "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}


def interpreter() -> str:
    """The Python that runs this code, itself and not what `python3` on the path happens to be."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def visible_paths() -> Iterator[str]:
    """The system's libraries and the interpreter's; where they exist, and symbolic links as they are."""
    own = [
        f"{prefix}/{folder}"
        for prefix in (sys.base_prefix, sys.base_exec_prefix)
        for folder in ("lib", "lib64")
    ]
    for path in dict.fromkeys((*_SYSTEM, *own)):
        if os.path.lexists(path):
            yield path
            if os.path.islink(path):
                yield os.path.realpath(path)


def _bubblewrap(package: Path, walls: str) -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bubblewrap is not installed (no bwrap on the path)")
    words = [
        program,
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    if os.geteuid() != 0:
        words.append("--unshare-user")
    words += (
        ["--as-pid-1", "--cap-add", "ALL"]
        if walls == "cell" or os.geteuid() == 0
        else ["--as-pid-1"]
    )
    shown = dict.fromkeys((*visible_paths(), interpreter()))
    folders = {str(folder) for path in shown for folder in Path(path).parents} - {"/"}
    for folder in sorted(
        folders - shown.keys()
    ):  # those that --ro-bind makes itself are closed to other users
        words += ["--dir", folder]
    for path in shown:
        words += (
            ["--symlink", os.readlink(path), path]
            if os.path.islink(path)
            else ["--ro-bind", path, path]
        )
    for path in _DEVICES:
        words += ["--dev-bind", path, path]
    words += ["--ro-bind", str(package / "inside"), "/context_bench_code/inside"]
    words += (
        ["--dir", "/box"] if walls == "cell" else ["--size", str(_BOX_BYTES), "--tmpfs", "/box"]
    )
    return [*words, "--remount-ro", "/", "--chdir", "/", "--"]

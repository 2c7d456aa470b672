"""A folder whose modules can be imported, without a place on ``sys.path``.

On ``sys.path`` the folder would also be searched for plugins, and its modules would hide those of the standard library
and of installed packages. A finder behind all others does neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_SUFFIXES = (".py", ".pyc", ".so", ".pyd")


class Folder:
    """Finds the modules of a folder for whoever imports them, after everything that is installed.

    Args:
        path: The folder.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a top-level module lies, or None; what is inside of a package is found as ever."""
        return None if path is not None else PathFinder.find_spec(name, [self.path], target)

    def install(self) -> None:
        """Let imports look here, last."""
        if not any(
            isinstance(finder, Folder) and finder.path == self.path for finder in sys.meta_path
        ):
            sys.meta_path.append(self)

    def modules(self) -> list[str]:
        """Return the names of the modules and packages that lie here."""
        try:
            entries = sorted(os.scandir(self.path), key=lambda entry: entry.name)
        except OSError:
            return []
        names = [
            entry.name.partition(".")[0]
            for entry in entries
            if entry.name.endswith(_SUFFIXES) or _is_package(entry)
        ]
        return [name for name in dict.fromkeys(names) if name.isidentifier()]

    def holds(self, module: ModuleType) -> bool:
        """Whether a module came from here."""
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        return any(
            os.path.realpath(place).startswith(self.path + os.sep) for place in places if place
        )


def _is_package(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py"))

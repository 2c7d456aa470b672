"""The files that datasets are read from, compared at the end of a run with what they were at its
start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen

from context_bench.errors import SourceChangedError
from context_bench.run.datasets import RunDataset

Edition = Mapping[str, Any]
"""What is recorded about a source: its revision, and name, size and hash of its file."""


@frozen(eq=False)
class WatchedSource:
    """A file or folder that a dataset is read from.

    Attributes:
        path: Where it is.
        edition: What it was when the dataset was opened.
        read: Returns what it is now; this reads all of it.
        state: Names, sizes and times of its files when the dataset was opened.
    """

    path: str
    edition: Edition
    read: Callable[[], Edition]
    state: tuple[Any, ...]

    @classmethod
    def of(cls, path: Any, read: Callable[[], Edition]) -> WatchedSource:
        """Return a source as it is now."""
        place = os.path.abspath(os.path.expanduser(path))
        before = _state_of(place)
        return cls(place, read(), read, before)

    def has_changed(self) -> bool:
        """Return whether its contents are others now; contents are read where times or sizes
        changed."""
        return _state_of(self.path) != self.state and dict(self.read()) != dict(self.edition)


def require_unchanged(datasets: Iterable[RunDataset]) -> None:
    """Refuse to call a run complete whose dataset changed while it was read.

    Raises:
        SourceChangedError: A file is another now, or is not there any more.
    """
    for dataset in datasets:
        if dataset.has_changed is not None and dataset.has_changed():
            raise SourceChangedError(dataset.label or dataset.fallback)


def _state_of(path: str) -> tuple[Any, ...]:
    names = [path]
    if os.path.isdir(path):
        names += [os.path.join(path, name) for name in sorted(os.listdir(path))]
    states = []
    for name in names:
        try:
            found = os.stat(name)
        except OSError:
            continue
        states.append((name, found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(states)

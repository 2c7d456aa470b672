"""The files of datasets, compared at the end of a run with their state at its start."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import frozen

from context_bench.errors import SourceChangedError
from context_bench.run.datasets import RunDataset

Edition = Mapping[str, Any]
"""The record of a source: its revision, and name, size and hash of its file."""


@frozen(eq=False)
class WatchedSource:
    """A file or folder that a dataset is read from.

    Attributes:
        path: Its path.
        edition: Its record when the dataset was opened.
        read: Returns its current record; this reads all of it.
        state: Names, sizes and times of its files when the dataset was opened.
    """

    path: str
    edition: Edition
    read: Callable[[], Edition]
    state: tuple[Any, ...]

    @classmethod
    def of(cls, path: Any, read: Callable[[], Edition]) -> WatchedSource:
        """Return a source in its current state."""
        absolute = os.path.abspath(os.path.expanduser(path))
        state = _state_of(absolute)
        return cls(absolute, read(), read, state)

    def has_changed(self) -> bool:
        """Return whether its content has changed; it is read if times or sizes have changed."""
        return _state_of(self.path) != self.state and dict(self.read()) != dict(self.edition)


def require_unchanged(datasets: Iterable[RunDataset]) -> None:
    """Check that no dataset has changed while the run read it.

    Raises:
        SourceChangedError: A file has changed or was removed.
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
            status = os.stat(name)
        except OSError:
            continue
        states.append((name, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(states)

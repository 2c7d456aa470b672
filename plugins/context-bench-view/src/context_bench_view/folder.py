"""A folder of run files: which there are, and each of them read once, as long as it does not change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from attrs import frozen

from context_bench import EvalResult
from context_bench.errors import StoreError
from context_bench.runs import Run, open_run, run_files
from context_bench_html.pictures import Picture, pictures_of
from context_bench_html.reporter import detail_reader, read
from context_bench_html.side_by_side import SideBySide

_KEPT = 4


@frozen
class Listed:
    """A run in the list.

    Attributes:
        name: Name of its file.
        systems, datasets: Labels.
        sentence: How much of it is there; or what is wrong with the file.
        status: ``finished``, ``running`` and so on; ``broken`` for a file that cannot be read.
    """

    name: str
    systems: str
    datasets: str
    sentence: str
    status: str

    def has(self, text: str) -> bool:
        """Whether a text stands in any of it."""
        return (
            text.lower()
            in "\n".join((self.name, self.systems, self.datasets, self.sentence)).lower()
        )


@frozen(eq=False)
class Shown:
    """A run that is looked at.

    Attributes:
        result: Its result.
        found: Its rows side by side.
    """

    result: EvalResult
    found: SideBySide


class RunFolder:
    """The run files of a folder, which are only read.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._shown: OrderedDict[tuple[Any, ...], Shown] = OrderedDict()
        self._listed: dict[str, tuple[Any, Listed]] = {}
        self._pictures: dict[str, tuple[Any, tuple[Picture, ...]]] = {}
        self._lock = Lock()

    def listed(self) -> list[Listed]:
        """Return all runs, the newest first; those that have not changed are not read again."""
        told = []
        for path in run_files([self._path]):
            state = _state_of(path)
            known = self._listed.get(path.name)
            if known is None or known[0] != state or known[1].status not in ("finished", "broken"):
                self._listed[path.name] = known = (state, _listed(path))
            told.append(known[1])
        return told

    def path_of(self, name: str) -> Path | None:
        """Return the run file with a name, None when the folder has none: no other path can be had."""
        return next((path for path in run_files([self._path]) if path.name == name), None)

    def status_of(self, path: Path) -> Mapping[str, Any]:
        """Return how far a run is."""
        with open_run(path) as run:
            return run.completeness.to_dict()

    def shown(self, path: Path) -> Shown:
        """Return a run for looking at it; the last few that were looked at are kept while their files do not change."""
        import context_bench

        key = (path.name, _state_of(path))
        with self._lock:
            if key not in self._shown:
                result = context_bench.open(path)
                with open_run(path) as run:
                    self._shown[key] = Shown(result, read(result, result.rows, run))
                while len(self._shown) > _KEPT:
                    self._shown.popitem(last=False)
            self._shown.move_to_end(key)
            return self._shown[key]

    def pictures(self, path: Path, run: Run) -> tuple[Picture, ...]:
        """Return what packages draw of a run; drawn once, as long as its file does not change."""
        state = _state_of(path)
        known = self._pictures.get(path.name)
        if known is None or known[0] != state:
            self._pictures[path.name] = known = (state, pictures_of(run))
        return known[1]

    def detail(self, path: Path, line: int) -> Mapping[str, Any] | None:
        """Return everything about a line of a run; None when it has no such line."""
        shown = self.shown(path)
        if not 0 <= line < len(shown.found.lines):
            return None
        with open_run(path) as run:
            return detail_reader(shown.found, shown.result.rows, run)(line)


def _state_of(path: Path) -> tuple[Any, ...]:
    """Return what changes when a run file does: it, and its log of what was written last."""
    state: list[Any] = []
    for one in (path, path.with_name(f"{path.name}-wal")):
        try:
            found = one.stat()
        except FileNotFoundError:
            continue
        state += [found.st_mtime_ns, found.st_size]
    return tuple(state)


def _listed(path: Path) -> Listed:
    try:
        with open_run(path) as run:
            return _described(path.name, run)
    except StoreError as error:
        return Listed(path.name, "", "", str(error), "broken")


def _described(name: str, run: Run) -> Listed:
    completeness = run.completeness
    systems = ", ".join(str(system["label"]) for system in run.systems)
    datasets = ", ".join(str(dataset["label"]) for dataset in run.datasets if dataset["label"])
    return Listed(name, systems, datasets, completeness.sentence, completeness.status)

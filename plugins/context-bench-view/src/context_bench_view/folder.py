"""A folder of run files: which there are, and each of them read once, as long as it does not change."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from attrs import frozen

from context_bench import EvalResult, EvalRow
from context_bench.errors import ChangedRunFileError, StoreError
from context_bench.records import shown_seconds
from context_bench.runs import Run, open_run, run_files
from context_bench_html.details import detail_of
from context_bench_html.pictures import Picture, pictures_of
from context_bench_html.reporter import read
from context_bench_html.sample import MOST_LINES, Sample, add_texts
from context_bench_html.side_by_side import SideBySide, side_by_side
from context_bench_view.notes import notes_path, tags_of

Read = TypeVar("Read")
_TIMES = 3
"""How often a run is read at most that changes while it is read."""
_KEPT = 4
_SHOWN_SCORES = 3
_SHOWN_LABELS = 6
_MOST_ROWS = 20_000
"""Rows of a run that has not ended whose scores the list still shows: of a larger one, opening it tells."""


@frozen
class Listed:
    """A run in the list.

    Attributes:
        name: Name of its file.
        systems, datasets: Labels.
        sentence: How much of it is there; or what is wrong with the file.
        status: ``finished``, ``running`` and so on; ``broken`` for a file that cannot be read.
        created: When it started, in ISO 8601; empty where it is not known.
        seconds: How long it took, from its start to the end of its last session; None while it goes on.
        scores: Mean score by the label of the system; empty where there is none, or a long run has not ended.
        ends: Both ends of the 95 % interval of each of these means; None where there is none.
        cost: Money of all rows; None where no row knows its own.
        tags: What persons called it.
    """

    name: str
    systems: str
    datasets: str
    sentence: str
    status: str
    created: str = ""
    seconds: float | None = None
    scores: tuple[tuple[str, float], ...] = ()
    ends: tuple[tuple[float, float] | None, ...] = ()
    cost: float | None = None
    tags: tuple[str, ...] = ()

    def has(self, text: str) -> bool:
        """Whether a text stands in any of it."""
        parts = (self.name, self.systems, self.datasets, self.sentence, *self.tags)
        return text.lower() in "\n".join(parts).lower()

    @property
    def best(self) -> float | None:
        """The highest score."""
        return max((score for _, score in self.scores), default=None)

    @property
    def date(self) -> str:
        """When it started, to the minute."""
        return self.created[:16].replace("T", " ")

    @property
    def duration(self) -> str:
        """How long it took, in words."""
        return "" if self.seconds is None else shown_seconds(self.seconds)

    @property
    def score_text(self) -> str:
        """The scores of up to three systems with their intervals, and how many more there are."""
        shown = [
            f"{label} {score:.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else "")
            for (label, score), ends in zip(self.scores[:_SHOWN_SCORES], self.ends)
        ]
        more = len(self.scores) - _SHOWN_SCORES
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

    @property
    def systems_text(self) -> str:
        """Labels of up to six systems, and how many more there are."""
        labels = self.systems.split(", ")
        more = len(labels) - _SHOWN_LABELS
        return ", ".join(labels[:_SHOWN_LABELS]) + (f" and {more} more" if more > 0 else "")

    @property
    def cost_text(self) -> str:
        """The cost; empty where it is not known."""
        return "" if self.cost is None else f"{self.cost:.4g}"


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
            state = (*_state_of(path), *_state_of(notes_path(path)))
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
                with open_run(path) as run, run.snapshot():
                    result = context_bench.open(run)
                    excerpt = 0 if len(result.rows) > MOST_LINES else None
                    self._shown[key] = Shown(result, read(result, result.rows, run, excerpt))
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

    def is_long(self, path: Path) -> bool:
        """Whether a run has more rows than a page lists."""
        with open_run(path) as run:
            return len(run) > MOST_LINES

    def is_read(self, path: Path) -> bool:
        """Whether :meth:`shown` has a run already, as its file is now."""
        return (path.name, _state_of(path)) in self._shown

    def first_lines(self, path: Path, most: int) -> tuple[EvalResult, Sample]:
        """Return what the file of a run tells of all its rows, and its first lines: no other row is read."""
        import context_bench

        with open_run(path) as run, run.snapshot():
            result = context_bench.open(run, as_stored=True)
            rows = list(_first_rows(run, most))
            config = result.config
            derived = config.get("derived", ())
            found = side_by_side(rows, config["systems"], config.get("baseline"), 0, derived)
            lines = found.only(range(min(most, len(found.lines))))
            add_texts(lines, rows, run)
        return result, Sample(lines, f"The first {len(lines.lines):,} lines are listed here.")

    def has_row(self, path: Path, key: Mapping[str, Any]) -> bool:
        """Whether a run has a row with this ``dataset``, ``id`` and ``repetition``."""
        with open_run(path) as run:
            for example in run.examples(str(key.get("id"))):
                if example.label == str(key.get("dataset")):
                    numbers = [row.repetition for _, row in run.rows_of(example.identity)]
                    return key.get("repetition") in numbers
        return False

    def detail(self, path: Path, line: str) -> Mapping[str, Any] | None:
        """Return everything about a line of a run, by its name; None when it has no such line."""
        rows = self.rows(path, line)
        if not rows:
            return None
        with open_run(path) as run:
            example = run.example((rows[0].dataset_number, rows[0].position))
        return detail_of(example.content, rows)

    def rows(self, path: Path, line: str) -> list[EvalRow]:
        """Return the rows of a line of a run, by its name, one for each system; none when it has no such line."""
        if not _NAME.fullmatch(line):
            return []
        dataset, position, repetition = map(int, line.split("-"))
        with open_run(path) as run:
            rows = [row for _, row in run.rows_of((dataset, position))]
        return [row for row in rows if row.repetition == repetition and not row.is_extra]


_NAME = re.compile(r"[0-9]{1,3}-[0-9]{1,9}-[0-9]{1,4}")


def _first_rows(run: Run, most: int) -> Iterator[EvalRow]:
    """Yield the rows of the first examples, as many as ``most`` lines need."""
    lines: set[tuple[int, int, int]] = set()
    example = (-1, -1)
    for row in run.rows():
        if example != (row.dataset_number, row.position) and len(lines) >= most:
            return
        example = (row.dataset_number, row.position)
        lines.add((*example, row.repetition))
        yield row


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


def steady(read: Callable[[], Read]) -> Read:
    """Return what a function reads of run files; where one changed meanwhile, it reads again.

    Raises:
        ChangedRunFileError: It changed each time.
    """
    for _ in range(_TIMES - 1):
        with suppress(ChangedRunFileError):
            return read()
    return read()


def _listed(path: Path) -> Listed:
    try:
        return steady(lambda: _described(path))
    except StoreError as error:
        return Listed(path.name, "", "", str(error), "broken")


def _described(path: Path) -> Listed:
    import context_bench

    with open_run(path) as run, run.snapshot():
        created, finished = run.created, run.finished
        systems = ", ".join(str(system["label"]) for system in run.systems)
        datasets = ", ".join(str(dataset["label"]) for dataset in run.datasets if dataset["label"])
        result = context_bench.open(run, as_stored=True)
        cost = result.config["total_cost"]
        if not result.metrics and 0 < len(run) <= _MOST_ROWS:  # it goes on, or was stopped
            result = context_bench.open(run)
    completeness = result.completeness
    scores: list[tuple[str, float]] = []
    ends: list[tuple[float, float] | None] = []
    for label, values in result.summary.items():
        if values.get("mean_score") is not None:
            scores.append((str(label), float(values["mean_score"])))
            low, high = values.get("mean_score_low"), values.get("mean_score_high")
            ends.append(None if low is None or high is None else (float(low), float(high)))
    return Listed(
        name=path.name,
        systems=systems,
        datasets=datasets,
        sentence=completeness.sentence,
        status=completeness.status,
        created=created,
        seconds=_seconds_between(created, finished),
        scores=tuple(scores),
        ends=tuple(ends),
        cost=cost,
        tags=tags_of(path),
    )


def _seconds_between(created: str, finished: str | None) -> float | None:
    try:
        return (
            datetime.fromisoformat(str(finished)) - datetime.fromisoformat(created)
        ).total_seconds()
    except (ValueError, TypeError):  # it goes on, or a stranger wrote the file
        return None

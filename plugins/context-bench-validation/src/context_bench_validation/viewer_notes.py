"""Ratings that people left in the viewer, in the file of notes of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_bench.errors import ConfigurationError, DatasetError
from context_bench.records import EvalRow
from context_bench.runs import Run, open_run
from context_bench_validation.judgements import Answer, Judgements, Rating
from context_bench_validation.records import Record, read_records

SUFFIX = ".notes.jsonl"
"""What the name of a file of notes has after the name of its run file."""

GOOD = "good"
"""The dimension: whether a person rated the response as good."""

VALUES = {"good": 1.0, "bad": 0.0}
"""The value of a rating. The rating ``unsure`` has none, and a note may have no rating."""

Key = tuple[str, str, int]
"""Dataset, id of the example, and repetition, by which a note names a row."""


def notes_of(path: Path) -> Path | None:
    """Return the file of notes, given it or its run file; None if the path is that of neither."""
    if path.name.endswith(SUFFIX):
        return path
    if path.suffix.lower() in (".sqlite", ".db"):
        return path.with_name(path.name + SUFFIX)
    return None


def read_notes(path: Path) -> list[Record]:
    """Return the notes of a file that have a rating of good or bad: the last one of each person for a row.

    Raises:
        DatasetError: The file cannot be read, or has no such rating.
    """
    last: dict[tuple[Key, str], Record] = {}
    for note in read_records(path):
        if "id" in note and note.get("rating"):
            last[_key_of(note, path), str(note.get("who", ""))] = note
    rated = [note for note in last.values() if note["rating"] in VALUES]
    if not rated:
        raise DatasetError(f"{path} has no row that is rated good or bad.")
    return rated


def read_rated_run(path: Path, notes: Sequence[Record], system: str | None) -> Judgements:
    """Return the ratings of the rows of a run.

    Args:
        path: The file of notes; its run file is in the same folder.
        notes: The notes with a rating.
        system: Label of the system whose responses were rated. A note names no system, so that a run with several needs one.

    Raises:
        ConfigurationError: The run has several systems and none is named, or not the named one.
        DatasetError: The run has no row of a note, or stores no examples.
        StoreError: The run file is missing, or is not a run file.
    """
    with open_run(path.with_name(path.name.removesuffix(SUFFIX))) as run:
        number = _system_number(run, system)
        rows = {(row.dataset, row.example_id, row.repetition): row for row in run.rows(number)}
        contents = {example.identity: example.content for example in run.examples()}
    by_row: dict[Key, list[float]] = {}
    for note in notes:
        by_row.setdefault(_key_of(note, path), []).append(VALUES[str(note["rating"])])
    return Judgements("ratings of the viewer", tuple(_ratings(by_row, rows, contents, path)))


def _ratings(
    by_row: Mapping[Key, Sequence[float]],
    rows: Mapping[Key, EvalRow],
    contents: Mapping[tuple[int, int], Mapping[str, Any] | None],
    path: Path,
) -> Iterator[Rating]:
    for key, values in by_row.items():
        dataset, example_id, repetition = key
        row = rows.get(key)
        if row is None:
            raise DatasetError(
                f"{path} rates {example_id!r} of {dataset or 'a dataset without a name'}, repetition {repetition}, "
                "which the run does not have."
            )
        if row.response is None:
            continue  # a failed row has nothing that an evaluator could score
        content = contents[row.dataset_number, row.position]
        if content is None:
            raise DatasetError(f"The run of {path} stores no examples, which an evaluator needs.")
        item = f"{dataset} {example_id}".strip()
        label = f"{item} repetition {repetition}" if repetition else item
        answer = Answer(content, row.response)
        yield Rating(item, label, row.system, answer, {GOOD: tuple(values)})


def _system_number(run: Run, system: str | None) -> int:
    numbers = {str(each["label"]): int(each["system_number"]) for each in run.systems}
    known = ", ".join(numbers)
    if system is not None and system not in numbers:
        raise ConfigurationError(f"The run has no system {system!r}. It has: {known}.")
    if system is None and len(numbers) > 1:
        raise ConfigurationError(
            f"A rating names no system, and the run has several: {known}. Choose one with --system."
        )
    return next(iter(numbers.values())) if system is None else numbers[system]


def _key_of(note: Record, path: Path) -> Key:
    repetition: Any = note.get("repetition", 0)
    if isinstance(repetition, bool) or not isinstance(repetition, int):
        raise DatasetError(f"{path}: a repetition must be a whole number, got {repetition!r}.")
    return str(note.get("dataset", "")), str(note["id"]), repetition

"""What persons say of rows and runs: a file of JSON lines beside the run, to which lines are only added.

A line about a row has ``run``, ``dataset``, ``id``, ``repetition``, ``rating``, ``note``, ``who`` and ``when``; a line with ``tags``
in their place sets the tags of the run. The last line about tags counts. The run file is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from threading import Lock
from typing import Any

from context_bench.errors import ConfigurationError, StoreError

RATINGS = ("", "good", "bad", "unsure")
_LONGEST = 10_000
_MOST_TAGS = 20
_lock = Lock()


def notes_path(run: Path) -> Path:
    """Return the file of notes of a run file: ``run.sqlite.notes.jsonl``."""
    return run.with_name(f"{run.name}.notes.jsonl")


def read_notes(run: Path) -> list[dict[str, Any]]:
    """Return all lines, the oldest first.

    Raises:
        StoreError: The file holds something else than JSON objects; the message names the line.
    """
    return list(_lines(notes_path(run)))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"{path.name}, line {number} is not JSON: {error}.") from error
        if not isinstance(value, dict):
            raise StoreError(f"{path.name}, line {number} is not a JSON object.")
        yield value


def notes_of_row(run: Path, key: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the notes of a row, given its ``dataset``, ``id`` and ``repetition``."""
    return [note for note in read_notes(run) if "id" in note and _key_of(note) == _key_of(key)]


def tags_of(run: Path) -> tuple[str, ...]:
    """Return the tags of a run."""
    tags: list[str] = []
    for line in read_notes(run):
        if isinstance(line.get("tags"), list):
            tags = [str(tag) for tag in line["tags"]]
    return tuple(tags)


def add_note(run: Path, note: Mapping[str, Any]) -> dict[str, Any]:
    """Add a line about a row, and return it.

    Raises:
        ConfigurationError: It says nothing, has an unknown rating, or is too long.
    """
    rating = _text(note, "rating")
    if rating not in RATINGS:
        raise ConfigurationError(f"The rating must be good, bad or unsure, got {rating!r}.")
    text = _text(note, "note").strip()
    if not rating and not text:
        raise ConfigurationError("There is nothing to store. Choose a rating, or write a note.")
    dataset, example, repetition = _key_of(note)
    row = {"dataset": dataset, "id": example, "repetition": repetition}
    return _append(run, {**row, "rating": rating, "note": text}, _text(note, "who"))


def set_tags(run: Path, note: Mapping[str, Any]) -> dict[str, Any]:
    """Set the tags of a run, and return the line that says so.

    Raises:
        ConfigurationError: They are not a few short texts.
    """
    tags = note.get("tags")
    if not isinstance(tags, list) or len(tags) > _MOST_TAGS:
        raise ConfigurationError(f"tags must be a list of at most {_MOST_TAGS} texts.")
    cleaned = [_text({"tag": tag}, "tag").strip() for tag in tags]
    return _append(run, {"tags": list(dict.fromkeys(filter(None, cleaned)))}, _text(note, "who"))


def _append(run: Path, values: Mapping[str, Any], who: str) -> dict[str, Any]:
    when = datetime.now(timezone.utc).isoformat(timespec="seconds")
    line = {"run": run.name, **values, "who": who.strip(), "when": when}
    with _lock, notes_path(run).open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps(line) + "\n")
    return line


def _key_of(note: Mapping[str, Any]) -> tuple[str, str, int]:
    repetition = str(note.get("repetition", 0))
    number = int(repetition) if repetition.isascii() and repetition.isdecimal() else -1
    return str(note.get("dataset", "")), str(note.get("id", "")), number


def _text(note: Mapping[str, Any], name: str) -> str:
    value = note.get(name, "")
    if not isinstance(value, str) or len(value) > _LONGEST:
        raise ConfigurationError(f"{name} must be a text of at most {_LONGEST:,} characters.")
    return value

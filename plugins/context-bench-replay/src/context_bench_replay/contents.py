"""The contents of a file of recorded responses: one entry for each id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_bench_local import Record, read_records
from context_bench_replay.dotted import find, kind_of
from context_bench_replay.recording import Extra, Recording


@dataclass(frozen=True)
class Joining:
    """How a file is read and its records are told apart.

    Attributes:
        recording: What to take from each record.
        id_field: Where a record has its id.
        sample: Which record of an id to take, counted from 0; None when an id has one response.
        layout: Options of `context_bench_local.read_records`.
    """

    recording: Recording
    id_field: str
    sample: int | None
    layout: Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """What one record holds: an output, or the reason why there is none."""

    where: str
    output: dict[str, Any] | None
    fault: str = ""

    def agrees(self, other: Entry) -> bool:
        """Whether both records say the same, however long it took and whatever it cost."""
        return _told(self.output) == _told(other.output)


@dataclass(frozen=True)
class Contents:
    """All entries of a file.

    Attributes:
        digest: SHA-256 of the file, in hexadecimal.
        entries: Entry by id.
        counts: Number of records by id.
    """

    digest: str
    entries: dict[str, Entry] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def read_contents(path: Path, joining: Joining) -> Contents:
    """Read a file of recorded responses.

    Raises:
        ValueError: The file is malformed, changes while it is read, has a record without an id or different responses
            under one id, or has no response at all.
    """
    before = path.stat()
    contents = Contents(_digest(path))
    wanted = {extra for extra in joining.recording.extras if extra.asked}
    usable, fault = False, ""
    for record in read_records(path, **joining.layout):
        key = _identity(path, record, joining.id_field)
        entry = _entry(record, joining.recording)
        _place(path, contents, key, entry, joining.sample)
        usable = usable or entry.output is not None
        fault = fault or (entry.fault and f"{entry.where}: {entry.fault}")
        wanted -= {extra for extra in wanted if _has(record.columns, extra)}
    after = path.stat()
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise ValueError(
            f"{path} changed while it was read. Wait until it is written, then run again."
        )
    if not usable:
        raise ValueError(f"{path}: no record has a response. {fault or 'The file has no records.'}")
    if wanted:
        missing = ", ".join(sorted(repr(extra.path) for extra in wanted))
        raise ValueError(
            f"{path}: no record has {missing}. Mend the option that names it, or leave it out."
        )
    return contents


def join_key(value: object) -> str | None:
    """Return an id as the text that it is joined by, or None when it can be no id."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _identity(path: Path, record: Record, id_field: str) -> str:
    try:
        value = find(record.columns, id_field)
    except LookupError as error:
        raise ValueError(
            f"{path}, {record.where}: the record has no id: {error} Pass `id_field` with the column that holds it."
        ) from None
    key = join_key(value)
    if key is None:
        raise ValueError(
            f"{path}, {record.where}: an id must be text or a whole number, and {id_field!r} is {kind_of(value)}."
        )
    return key


def _entry(record: Record, recording: Recording) -> Entry:
    try:
        return Entry(record.where, recording.output(record.columns))
    except (LookupError, ValueError) as error:
        return Entry(record.where, None, str(error))


def _place(path: Path, contents: Contents, key: str, entry: Entry, sample: int | None) -> None:
    place = contents.counts.get(key, 0)
    contents.counts[key] = place + 1
    if place == (sample or 0):
        contents.entries[key] = entry
    elif sample is None and not contents.entries[key].agrees(entry):
        raise ValueError(
            f"{path}: {contents.entries[key].where} and {entry.where} record different responses under the id {key!r}. "
            "For several responses an id pass `sample`: 0 for the first of each, 1 for the second."
        )


def _has(columns: Mapping[str, Any], extra: Extra) -> bool:
    try:
        find(columns, extra.path)
    except LookupError:
        return False
    return True


def _told(output: dict[str, Any] | None) -> dict[str, Any] | None:
    return output and {
        name: value for name, value in output.items() if name not in ("usage", "latency")
    }

"""Copies: a split written into a folder, for a machine without network, with its commit and the hash of its contents."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from context_bench.console import atomic_write
from context_bench.decompression import bounded
from context_bench.errors import DatasetError
from context_bench_huggingface.lines import line_of, record_of
from context_bench_huggingface.refusals import fetch_line
from context_bench_huggingface.strict import read_json
from context_bench_huggingface.wanted import Wanted


def place_of(folder: str | os.PathLike[str], wanted: Wanted) -> Path:
    """Return the file that a copy of a split has in a folder, whether it is there or not."""
    parts = [
        wanted.source.replace("/", "--"),
        wanted.config or "default",
        wanted.path() or wanted.split,
    ]
    name = "--".join(
        "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in part)
        for part in parts
    )
    return Path(folder).expanduser() / f"{name}.jsonl.gz"


def find_copy(folder: str | os.PathLike[str] | None, wanted: Wanted) -> Path | None:
    """Return the copy of a split, or None when the folder has none of the revision that is wanted.

    Raises:
        DatasetError: One of its two files is missing, or its label is damaged.
    """
    if not folder:
        return None
    place = place_of(folder, wanted)
    if not place.exists() and not _label_path(place).exists():
        return None
    label = _label(place, wanted)
    if wanted.revision not in (label["revision"], label["asked"]):
        return None
    return place


def write_copy(
    folder: str | os.PathLike[str], wanted: Wanted, commit: str, records: Iterable[Any]
) -> dict[str, Any]:
    """Write the copy of a split and return its label: revision, number of records and SHA-256 of the contents.

    A copy is there whole or not at all.

    Raises:
        DatasetError: A record holds what no copy can hold, such as a picture.
    """
    place = place_of(folder, wanted)
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    content, count = sha256(), 0
    try:
        with gzip.GzipFile(unfinished, "wb", mtime=0) as packed:
            for record in records:
                try:
                    line = line_of(record)
                except TypeError as error:
                    raise DatasetError(
                        f"Record {count} of {wanted.where} holds a value of type {error}, which no copy can hold."
                    ) from error
                content.update(line)
                packed.write(line)
                count += 1
        label = {
            "source": wanted.source,
            "asked": wanted.revision,
            "revision": commit,
            "config": wanted.config,
            "split": wanted.split,
            "records": count,
            "sha256": content.hexdigest(),
        }
        with atomic_write(_label_path(place), "The label of the copy") as file:
            file.write(json.dumps(label, indent=1) + "\n")
            os.replace(unfinished, place)  # both, or none
    finally:
        unfinished.unlink(missing_ok=True)
    return label


def read_copy(place: Path, wanted: Wanted) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a copy.

    Raises:
        DatasetError: Its contents are not those that were fetched: found before its first record is given out. Or a record
            is none.
    """
    label = _label(place, wanted)
    content, count = sha256(), 0
    try:
        with _opened(place) as file:
            for line in file:
                content.update(line)
                count += 1
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(
            f"{place} cannot be read: {error}. Fetch it again: {fetch_line(wanted)}."
        ) from error
    if (content.hexdigest(), count) != (label["sha256"], label["records"]):
        raise DatasetError(
            f"{place} is not what was fetched: its {count} records have the SHA-256 {content.hexdigest()[:12]}, the "
            f"{label['records']} that were fetched {str(label['sha256'])[:12]}. Fetch it again: {fetch_line(wanted)}."
        )
    with _opened(place) as file:
        for number, line in enumerate(file, 1):
            try:
                record = record_of(line)
            except (ValueError, ArithmeticError, RecursionError) as error:
                raise DatasetError(f"{place}: record {number} is no JSON: {error}.") from error
            if not isinstance(record, dict):
                raise DatasetError(
                    f"{place}: record {number} is {type(record).__name__}, not an object."
                )
            yield record


def _opened(place: Path) -> BinaryIO:
    return bounded(gzip.open(place, "rb"), place.stat().st_size, str(place))


def revision_of_copy(place: Path, wanted: Wanted) -> str:
    """Return commit and content hash of a copy, as a run records them."""
    label = _label(place, wanted)
    return f"{label['revision']} sha256:{label['sha256']}"


def _label_path(place: Path) -> Path:
    return place.with_name(place.name.removesuffix(".jsonl.gz") + ".json")


def _label(place: Path, wanted: Wanted) -> dict[str, Any]:
    try:
        if not place.exists():
            raise FileNotFoundError(f"there is no {place.name} beside it")
        found = read_json(_label_path(place).read_text(encoding="utf-8"))
        if not isinstance(found, dict) or not found.keys() >= _FACTS:
            raise ValueError("it is not what fetching writes")
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(
            f"The copy {_label_path(place)} cannot be used: {error}. Fetch it again: {fetch_line(wanted)}."
        ) from error
    return found


_FACTS = {"revision", "asked", "records", "sha256"}

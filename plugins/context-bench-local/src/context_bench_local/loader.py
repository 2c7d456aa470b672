"""The dataset component: a file of the user's as a stream of examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import chain, islice
from typing import Any

from context_bench_local.records import read_records
from context_bench_local.source import files_of, find_source


def local(
    limit: int | None = None,
    config: str | None = None,
    split: str | None = None,
    *,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the option's name on the command line
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quote: str | None = None,
    columns: Sequence[str] | None = None,
    key: str | None = None,
    index: str | None = None,
    max_expansion: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Return the rows of a JSONL, JSON, CSV, TSV or Parquet file, each with exactly the columns that the file gives it.

    Of a folder, the rows of all files in it that can be read, one file after the other by name; folders below it are left out.

    JSONL, CSV and TSV files are streamed; nothing behind the last row asked for is read. A JSON document is read whole.
    Compressed files (``.gz``, ``.bz2``, ``.xz``) are read as they are. No ``id`` is made up: a row without one is
    identified by its place in the file, whatever ids other rows carry. Strings stay strings: a CSV cell ``07`` is
    ``"07"`` and an empty one ``""``.

    Args:
        limit: Most rows to return; blank lines are no rows. None returns all.
        config: Not used: a file has no configurations.
        split: Not used: a file has no splits.
        path: The file or folder, relative to the working directory; ``~`` is the home directory.
        format: ``jsonl``, ``json``, ``csv`` or ``tsv``; by default the suffix decides.
        encoding: Any text encoding that Python knows. A byte order mark of UTF-8 is dropped.
        delimiter: CSV and TSV: one character, or ``comma``, ``tab``, ``semicolon``, ``pipe``, ``space``.
        quote: CSV and TSV: the quote character, or ``none`` when quotes are plain text.
        columns: CSV and TSV: names of the columns when the file has no header row.
        key: JSON: where the rows stand in an object, such as ``data`` or ``result.items``. Not needed when exactly one
            key holds an array of objects.
        index: JSON: the document is an object of rows by key; the keys go into this column.
        max_expansion: How many times its size a compressed file may become, 0 for any; by default
            ``CONTEXT_BENCH_MAX_EXPANSION``, else 200; 256 MiB are always allowed.

    Raises:
        DatasetError: A compressed file becomes too large; found while it is read.
        FileNotFoundError: There is no such file; close names are offered.
        IsADirectoryError: The path is a folder, and no file in it can be read.
        ValueError: An option cannot be right, or the file is malformed. What is wrong with the options and the path is
            found at the call, what is wrong with the contents when the row is reached; the message names the line.
    """
    if config is not None or split is not None:
        what = f"configuration {config!r}" if config is not None else f"split {split!r}"
        raise ValueError(
            f"A local file has no {what}. Name the file that you want, or, for a JSON object, its `key`."
        )
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}; give a number of rows, 0 or more, or None for all.")
    options: dict[str, Any] = {
        "format": format,
        "encoding": encoding,
        "delimiter": delimiter,
        "quote": quote,
        "columns": columns,
        "key": key,
        "index": index,
        "max_expansion": max_expansion,
    }
    files = files_of(path)
    if not files:
        return (record.columns for record in islice(read_records(path, **options), limit))
    for file in files:
        find_source(
            file, format, encoding
        )  # what is wrong with one of them is told before the first row
    records = chain.from_iterable(read_records(file, **options) for file in files)
    return (record.columns for record in islice(records, limit))


def folder_revision(*, path: str | os.PathLike[str], **_: Any) -> str | None:
    """Return the hash of a folder's contents: names and bytes of the files that are read; None when the path is no folder.

    Core records the hash of a single file itself.
    """
    files = files_of(path)
    if not files:
        return None
    whole = sha256()
    for file in files:
        content = sha256()
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                content.update(chunk)
        whole.update(f"{file.name}\n{content.hexdigest()}\n".encode("utf-8", "surrogatepass"))
    return f"sha256:{whole.hexdigest()}"


_CHUNK = 2**20
local.revision = folder_revision  # type: ignore[attr-defined]

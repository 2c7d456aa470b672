"""The records of a file of judgements: JSON, JSON lines, CSV or TSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from context_bench.errors import DatasetError

Record = Mapping[str, Any]


def read_records(path: Path) -> list[Record]:
    """Return the records of a file.

    Args:
        path: A ``.json`` file with a list or with one record a line, a ``.jsonl`` file, or a ``.csv`` or ``.tsv`` file with a
            heading.

    Raises:
        DatasetError: The file has another ending, cannot be read, or has no record.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        records = _rows_of_table(path, text, "," if ending == ".csv" else "\t")
    elif ending in (".json", ".jsonl"):
        records = _records_of_json(path, text)
    else:
        raise DatasetError(f"{path} ends in {ending!r}. Choose from: .json, .jsonl, .csv, .tsv.")
    if not records:
        raise DatasetError(f"{path} has no record.")
    return records


def _rows_of_table(path: Path, text: str, delimiter: str) -> list[Record]:
    try:
        rows = list(csv.DictReader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise DatasetError(f"{path} cannot be read as a table: {error}.") from error
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise DatasetError(
                f"{path}, row {number}: it has another number of cells than the heading."
            )
    return list(rows)


def _records_of_json(path: Path, text: str) -> list[Record]:
    if text.lstrip().startswith("["):
        records: Iterable[Any] = _decoded(path, text, "the file")
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = [_decoded(path, line, f"line {number}") for number, line in lines if line.strip()]
    checked: list[Record] = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise DatasetError(
                f"{path}, record {number}: it is {type(record).__name__}, not an object."
            )
        checked.append(record)
    return checked


def _decoded(path: Path, text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}, {place}: it is not JSON: {error}.") from error

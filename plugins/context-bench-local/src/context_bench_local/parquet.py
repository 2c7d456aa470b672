"""Parquet: a file of columns, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from context_bench_local.record import Record
from context_bench_local.source import Source

_BATCH = 100


def read_parquet(source: Source) -> Iterator[Record]:
    """Yield a record for every row; no more than a batch of rows is held.

    Raises:
        ValueError: ``pyarrow`` is not installed, or the file is no Parquet.
    """
    try:
        from pyarrow import ArrowException  # type: ignore[import-untyped, import-not-found, unused-ignore]
        from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ValueError(
            f"{source.name} is a Parquet file, which needs pyarrow: pip install 'context-bench-local[parquet]'."
        ) from error
    if source.compression is not None:
        raise ValueError(f"{source.name} is compressed as a whole; Parquet compresses its columns itself. Unpack it.")
    try:
        with ParquetFile(source.path) as file:
            yield from _rows(file)
    except ArrowException as error:
        raise ValueError(f"{source.name} is no Parquet file: {error}") from error


def _rows(file: Any) -> Iterator[Record]:
    number = 0
    for batch in file.iter_batches(batch_size=_BATCH):
        for columns in batch.to_pylist():
            number += 1
            yield Record(f"row {number}", columns)

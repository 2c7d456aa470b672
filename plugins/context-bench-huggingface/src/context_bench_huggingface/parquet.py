"""Parquet as the library streams it, read on the caller's thread alone.

The library's own reader leaves reading and decoding to Arrow's threads. They hold the remote file, which is a Python object:
one that lets go of it while Python ends takes the process down (SIGABRT on Python 3.13), and how far they read ahead, so how
much memory they need, depends on the machine's speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from context_bench.decompression import check_unpacked_size

_ROWS_AT_ONCE = 500


def read_on_this_thread(builder: Any, token: str | None) -> None:
    """Let a Parquet builder of the library make its tables without threads; its files, features and casts stay.

    Args:
        builder: A ``datasets`` builder of the packaged module ``parquet``.
        token: Access token of the hub.
    """
    builder._generate_tables = partial(_tables, builder, token)


def _tables(
    builder: Any, token: str | None, files: Sequence[str], **_: Any
) -> Iterator[tuple[str, Any]]:
    import fsspec  # type: ignore[import-untyped, unused-ignore]
    import pyarrow  # type: ignore[import-untyped, unused-ignore]
    from pyarrow import parquet

    for number, name in enumerate(files):
        with (
            fsspec.open(name, "rb", hf={"token": token}) as file,
            parquet.ParquetFile(file, pre_buffer=False) as table,
        ):
            _check_size(table.metadata, file, name)
            for part, batch in enumerate(table.iter_batches(_ROWS_AT_ONCE, use_threads=False)):
                yield f"{number}_{part}", builder._cast_table(pyarrow.Table.from_batches([batch]))


def _check_size(metadata: Any, file: Any, name: str) -> None:
    """Compare the bytes of all pages, as the footer says it, with the limit for compressed files."""
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(number).total_byte_size for number in groups)
    check_unpacked_size(unpacked, int(file.size or 0), name)

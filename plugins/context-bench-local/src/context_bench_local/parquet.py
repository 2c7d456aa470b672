"""Parquet: a file of columns, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from context_bench.decompression import check_unpacked_size
from context_bench.installation import install_hint
from context_bench_local.record import Record
from context_bench_local.source import Source

_BATCH = 100


def read_parquet(source: Source) -> Iterator[Record]:
    """Yield a record for every row; no more than a batch of rows is held.

    Times and durations are kept to the microsecond, as Python's own are, whether or not pandas is installed.

    Raises:
        DatasetError: Its footer says that its pages become larger than what the limit allows.
        ValueError: ``pyarrow`` is not installed, the file is no Parquet or is damaged, two columns have one name, or a row
            holds a value that Python does not have, such as a date behind the year 9999.
    """
    try:
        from pyarrow import ArrowException, Table  # type: ignore[import-untyped, import-not-found, unused-ignore]
        from pyarrow.parquet import ParquetFile  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ValueError(
            f"{source.name} is a Parquet file, which needs pyarrow: {install_hint('context-bench-local', extra='parquet')}."
        ) from error
    if source.compression is not None:
        raise ValueError(
            f"{source.name} is compressed as a whole; Parquet compresses its columns itself. Unpack it."
        )
    number = 0
    try:
        with ParquetFile(source.path, coerce_int96_timestamp_unit="us") as file:
            _check_size(file.metadata, source)
            _check_names(file.schema_arrow.names, source.name)
            schema = _in_microseconds(file.schema_arrow)
            for batch in file.iter_batches(batch_size=_BATCH):
                table = Table.from_batches([batch])
                table = table if schema == table.schema else table.cast(schema, safe=False)
                for columns in _rows(table, source.name, number):
                    number += 1
                    yield Record(f"row {number}", columns)
    except ArrowException as error:
        raise ValueError(f"{source.name} is no Parquet file: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise  # the disk, not the contents
        raise ValueError(
            f"{source.name} is damaged after row {number}: {error} Copy or download it again."
        ) from error


def _rows(batch: Any, place: str, before: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch, with which ``before`` rows stood in front."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError, LookupError) as error:
        if batch.num_rows == 1:
            raise ValueError(
                f"{place}, row {before + 1}: Python cannot hold a value of it: {error}."
            ) from error
        for index in range(batch.num_rows):
            yield from _rows(batch.slice(index, 1), place, before + index)
    else:
        yield from rows


def _in_microseconds(schema: Any) -> Any:
    """Return the schema with microseconds for nanoseconds, which pyarrow reads by pandas, or not at all without it."""
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    def coarse(kind: Any) -> Any:
        types = pyarrow.types
        if types.is_timestamp(kind) and kind.unit == "ns":
            return pyarrow.timestamp("us", kind.tz)
        if types.is_duration(kind) and kind.unit == "ns":
            return pyarrow.duration("us")
        if types.is_struct(kind):
            return pyarrow.struct([field(kind.field(place)) for place in range(kind.num_fields)])
        if types.is_map(kind):
            return pyarrow.map_(field(kind.key_field), field(kind.item_field))
        if types.is_fixed_size_list(kind):
            return pyarrow.list_(field(kind.value_field), kind.list_size)
        if types.is_large_list(kind):
            return pyarrow.large_list(field(kind.value_field))
        return pyarrow.list_(field(kind.value_field)) if types.is_list(kind) else kind

    def field(given: Any) -> Any:
        return given.with_type(coarse(given.type))

    return pyarrow.schema(map(field, schema), schema.metadata)


def _check_size(metadata: Any, source: Source) -> None:
    """Compare the bytes of all pages, as the footer says it, with the limit for compressed files."""
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(number).total_byte_size for number in groups)
    size = source.path.stat().st_size
    check_unpacked_size(unpacked, size, source.name, source.max_expansion)


def _check_names(names: Sequence[str], file: str) -> None:
    repeated = sorted({repr(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{file} has more than one column {', '.join(repeated)}; rename them.")

"""The rows as Parquet, for DuckDB, pandas, Polars and their like."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TextIO

from context_bench import EvalResult
from context_bench.errors import ConfigurationError

GROUP = 20_000
"""Rows of one row group: so many are held at once."""


class ParquetReporter:
    """Writes the rows as Parquet: a line for each row, a column for each score, as in CSV but typed."""

    name = "parquet"

    def write(self, result: EvalResult, stream: TextIO) -> None:
        """Write the rows, a group at a time.

        Raises:
            ConfigurationError: The stream takes text only.
        """
        import pyarrow as pa  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet as pq  # type: ignore[import-untyped, import-not-found, unused-ignore]

        target = getattr(stream, "buffer", None)
        if target is None:
            raise ConfigurationError(
                "Parquet is no text: write it into a file, with -o rows.parquet."
            )
        schema = pa.schema([(name, _type(pa, kinds)) for name, kinds in _kinds(result).items()])
        rows = result.flat_rows()
        with pq.ParquetWriter(target, schema) as writer:
            while group := list(islice(rows, GROUP)):
                lines = [
                    {field.name: _cell(row.get(field.name), field.type, pa) for field in schema}
                    for row in group
                ]
                writer.write_table(pa.Table.from_pylist(lines, schema=schema))


def _kinds(result: EvalResult) -> dict[str, set[type]]:
    """Return the types of each column's values, by its name."""
    found: dict[str, set[type]] = {}
    for row in result.flat_rows():
        for name, value in row.items():
            found.setdefault(name, set()).add(type(value))
    return found


def _type(pa: Any, kinds: set[type]) -> Any:
    known = kinds - {type(None)}
    if known == {bool}:
        return pa.bool_()
    if known == {int}:
        return pa.int64()
    if known and known <= {int, float}:
        return pa.float64()
    return pa.string()


def _cell(value: Any, kind: Any, pa: Any) -> Any:
    if value is None or kind != pa.string():
        return value
    text = (
        value
        if isinstance(value, str)
        else _json(value)
        if isinstance(value, Mapping | list | tuple)
        else str(value)
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)

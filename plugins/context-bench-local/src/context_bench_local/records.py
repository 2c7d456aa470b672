"""Rows of a file, each with the place it was found at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from context_bench_local.json_document import read_json
from context_bench_local.json_lines import read_jsonl
from context_bench_local.parquet import read_parquet
from context_bench_local.record import Record
from context_bench_local.source import find_source
from context_bench_local.table import read_table

__all__ = ["Record", "read_records"]


def read_records(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the option's name on the command line
    encoding: str = "utf-8",
    delimiter: str | None = None,
    quote: str | None = None,
    columns: Sequence[str] | None = None,
    key: str | None = None,
    index: str | None = None,
    max_expansion: int | None = None,
) -> Iterator[Record]:
    """Return the records of a file, with their places; `local` describes the options and the errors.

    Options and path are checked at the call, contents while iterating.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("id,answer\\nq1,Paris\\n")
    >>> list(read_records(path))
    [Record(where='line 2', columns={'id': 'q1', 'answer': 'Paris'})]
    """
    source = replace(find_source(path, format, encoding), max_expansion=max_expansion)
    layout = _LAYOUTS[source.format]
    given = {"delimiter": delimiter, "quote": quote, "columns": columns, "key": key, "index": index}
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if name not in layout.options:
            users = " and ".join(each for each, other in _LAYOUTS.items() if name in other.options)
            raise ValueError(
                f"`{name}` is an option of {users} files; {source.name} is read as {source.format}."
            )
    return layout.read(source, **layout.defaults | options)


@dataclass(frozen=True)
class _Layout:
    read: Callable[..., Iterator[Record]]
    options: frozenset[str]
    defaults: dict[str, str]


_TABLE = frozenset({"delimiter", "quote", "columns"})
_LAYOUTS = {
    "parquet": _Layout(read_parquet, frozenset(), {}),
    "jsonl": _Layout(read_jsonl, frozenset(), {}),
    "json": _Layout(read_json, frozenset({"key", "index"}), {}),
    "csv": _Layout(read_table, _TABLE, {}),
    "tsv": _Layout(read_table, _TABLE, {"separator": "\t"}),
}

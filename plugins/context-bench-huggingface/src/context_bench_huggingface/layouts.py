"""Tables within a record, which one edition of a benchmark has row by row and another column by column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rows_of(table: Any) -> list[Any]:
    """Return the rows of a table: of a list of objects, as releases write it, or of columns, as the hub does.

    Args:
        table: A list of rows, a mapping of equally long columns (a column may be such a mapping itself, or None), or None.

    Raises:
        TypeError: It is a text, or one of its columns is.
        ValueError: The columns are not equally long.

    >>> rows_of({"title": ["A", "B"], "text": ["a", "b"]})
    [{'title': 'A', 'text': 'a'}, {'title': 'B', 'text': 'b'}]
    >>> rows_of([{"title": "A"}]), rows_of(None)
    ([{'title': 'A'}], [])
    """
    if table is None:
        return []
    if isinstance(table, str | bytes):  # its letters are no rows
        raise TypeError(f"a table is expected, and there is the text {table[:40]!r}")
    if not isinstance(table, Mapping):
        return list(table)
    columns = {name: rows_of(column) for name, column in table.items() if column is not None}
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
